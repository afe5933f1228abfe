# SPDX-License-Identifier: GPL-2.0-only
"""Booting, choosing the accelerator, and reading a console."""
import os
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from .. import boot, conf, kernel, results
from ..cli import Status
from .sandbox import DATA, STUBS


def console(name: str) -> str:
    return (DATA / f"{name}.console.log").read_text(errors="replace")


class Boot(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log, self.store = self.folder / "console.log", self.folder / "accel.json"
        self.enterContext(mock.patch.dict(os.environ, {
            "PATH": f"{STUBS}:{os.environ['PATH']}", "MMB_DATA": str(DATA),
            "MMB_CONSOLE": "pass"}))

    def choose(self, kvm: str, wanted: str = "auto") -> tuple[str, str]:
        with mock.patch.dict(os.environ, {"MMB_KVM": kvm}), \
                mock.patch("os.access", return_value=True), \
                mock.patch("platform.machine", return_value="x86_64"), \
                mock.patch.object(boot, "PROBE_SECONDS", 1):
            return boot.choose(conf.arches()["x86_64"], Path("image"), wanted, self.store)

    def test_a_hang_ends_at_the_time_out_with_all_its_processes(self) -> None:
        begun = time.monotonic()
        outcome = boot.boot(["sh", "-c", "sleep 987 & echo $!; wait"], self.log, 1)
        self.assertIsNone(outcome.code)
        self.assertLess(time.monotonic() - begun, 5)
        time.sleep(0.1)
        state = Path(f"/proc/{int(outcome.console)}/stat")
        self.assertTrue(not state.exists() or state.read_text().split()[2] == "Z")

    def test_the_console_is_kept_as_it_is(self) -> None:
        outcome = boot.boot(["printf", r"a\r\n\377b"], self.log, 5)
        self.assertEqual(self.log.read_bytes(), b"a\r\n\xffb")
        self.assertEqual(outcome.code, 0)

    def test_p3_kvm_that_hangs_is_given_up_in_seconds_and_remembered(self) -> None:
        self.assertLessEqual(boot.PROBE_SECONDS, 15)
        accel, why = self.choose("hang")
        self.assertEqual(accel, "tcg")
        self.assertIn("hung", why)
        begun = time.monotonic()
        accel, why = self.choose("hang")
        self.assertEqual(accel, "tcg")
        self.assertIn("kept in", why)
        self.assertLess(time.monotonic() - begun, 0.9)

    def test_p3_kvm_that_dies_is_told_with_qemus_words(self) -> None:
        accel, why = self.choose("die")
        self.assertEqual(accel, "tcg")
        self.assertIn("kvm run failed", why)

    def test_kvm_that_works_is_taken(self) -> None:
        self.assertEqual(self.choose("work")[0], "kvm")
        self.assertEqual(self.choose("work", "tcg"), ("tcg", "--accel tcg"))

    def test_another_qemu_is_probed_anew(self) -> None:
        self.choose("hang")
        self.store.write_text(self.store.read_text().replace("0.0", "0.1"))
        self.assertEqual(self.choose("work")[0], "kvm")


class Console(unittest.TestCase):
    def judge(self, text: str, code: int | None = 0, cases=("PASS",) * 3,
              least: int = 3) -> results.Result:
        result = results.Result("v7.3", "x86_64", "all")
        result.suites = {"demo": [results.Case(f"c{n}", status)
                                  for n, status in enumerate(cases)]}
        results.judge(result, boot.Outcome(code, 7.0, text), {"demo": least},
                      {"demo": conf.Suite("demo", "D", "kunit", {"v7.3": {"x86_64": 3}},
                                          skips=({"case": "c9", "arches": ("x86_64",),
                                                  "reason": "r"},))})
        return result

    def test_a_pass(self) -> None:
        self.assertEqual(self.judge(console("pass")).status, Status.OK)

    def test_p1_the_raw_start_is_shown_where_there_is_no_ktap(self) -> None:
        result = self.judge(console("um-noexec"), 1, ())
        self.assertEqual(result.status, Status.BOOT)
        self.assertIn("no KTAP", result.messages[0])
        self.assertIn("noexec", result.messages[0])

    def test_p3_a_hang_says_timed_out(self) -> None:
        result = self.judge(console("hang"), None)
        self.assertEqual(result.status, Status.BOOT)
        self.assertIn("timed out after 7 s in or after ", result.messages[0])

    def test_a_panic_names_the_test(self) -> None:
        result = self.judge(console("panic"))
        self.assertEqual(result.status, Status.BOOT)
        self.assertIn("panicked in or after ", result.messages[0])

    def test_a_failed_case_outranks_a_splat(self) -> None:
        result = self.judge(console("splat"), cases=("PASS", "FAIL", "PASS"))
        self.assertEqual(result.status, Status.TEST)
        self.assertIn("failed: demo.c1", result.messages)

    def test_a_splat_in_a_run_that_passed(self) -> None:
        result = self.judge(console("splat"))
        self.assertEqual(result.status, Status.SPLAT)
        self.assertIn("WARNING: ", result.messages[0])

    def test_kinds_of_splat(self) -> None:
        for line in ("WARNING: CPU: 0 PID: 1 at mm/x.c:1 f+0x1/0x2",
                     "[    1.234567] BUG: KASAN: slab-out-of-bounds in f",
                     "[    1.234567][   T12] WARNING: possible circular locking dependency",
                     "BUG: sleeping function called from invalid context",
                     "INFO: task kunit_try_catch:1 blocked for more than 10 seconds",
                     "rcu: INFO: rcu_sched self-detected stall on CPU",
                     "UBSAN: shift-out-of-bounds in mm/x.c:1:2",
                     "Unable to handle kernel paging request at virtual address 0"):
            with self.subTest(line):
                self.assertTrue(results.SPLAT.match(line))
        for line in ("    # case: EXPECTATION FAILED", "mm: no BUG: here", "ok 1 WARNING"):
            with self.subTest(line):
                self.assertFalse(results.SPLAT.match(line))

    def test_too_few_cases(self) -> None:
        self.assertEqual(self.judge(console("pass"), least=4).status, Status.COVERAGE)
        self.assertEqual(self.judge(console("pass"), cases=(), least=0).status, Status.COVERAGE)

    def test_a_skip_needs_leave(self) -> None:
        result = self.judge(console("pass"), cases=("PASS", "PASS", "PASS", "SKIP"))
        self.assertEqual(result.status, Status.COVERAGE)
        result = self.judge(console("pass"), cases=("PASS",) * 3 + ("PASS",) * 6 + ("SKIP",))
        self.assertEqual(result.status, Status.OK)


class Reports(unittest.TestCase):
    def test_totals_and_files(self) -> None:
        good = results.Result("v7.3", "um", "all", suites={"a": [results.Case("x", "PASS")]})
        bad = results.Result("v7.3", "arm64", "all")
        bad.add(Status.BUILD, "did not build\x01")
        self.assertEqual(results.totals([good, bad]), "1 passed, 1 failed, 0 skipped")
        self.assertIn("BUILD", results.table([good, bad]))
        with tempfile.TemporaryDirectory() as folder:
            results.write_junit([good, bad], Path(folder) / "j.xml")
            results.write_json([good, bad], Path(folder) / "r.json")
            self.assertIn('failures="1"', (Path(folder) / "j.xml").read_text())
            self.assertIn('"status": 4', (Path(folder) / "r.json").read_text())


class Config(unittest.TestCase):
    def test_values_of_a_config(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / ".config"
            path.write_text("# comment\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"x y\"\n")
            self.assertEqual(kernel.entries(path), {"A": "y", "B": "n", "C": '"x y"'})


if __name__ == "__main__":
    unittest.main()


class Suites(unittest.TestCase):
    def test_a_boot_is_for_the_bases_and_topics_that_it_names(self) -> None:
        suite = conf.Suite("demo", "D", "kunit", {"v7.3": {"um": 1}, "other": {"um": 1}}, boots=(
            conf.Boot("all", ("um",), "x"), conf.Boot("one", ("um",), "x", bases=("other",)),
            conf.Boot("with", ("um",), "x", needs={"other": "change"})))

        def names(base: str, *topics: str) -> list[str]:
            return [boot.name for boot in suite.boots_on(base, "um", list(topics))]
        self.assertEqual(names("v7.3", "kunit"), ["all", "with"])
        self.assertEqual(names("other", "kunit"), ["all", "one"])
        self.assertEqual(names("other", "kunit", "change"), ["all", "one", "with"])
        self.assertEqual(suite.boots_on("v7.3", "arm64", ["kunit"]), [])
