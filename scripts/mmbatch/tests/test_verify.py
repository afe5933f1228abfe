# SPDX-License-Identifier: GPL-2.0-only
"""scripts/verify from end to end with a stand-in for QEMU: each exit status."""
import json
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree as ET

from .sandbox import Sandbox


class Verify(Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.make_queue()

    def verify(self, *words: str, expect: int, console: str = "pass", **env: str):
        return self.script("verify", "--accel", "tcg", *words, expect=expect,
                           env={"MMB_CONSOLE": console, **env})

    def last_line(self, done) -> str:
        return done.stdout.splitlines()[-1]

    def test_0_pass(self) -> None:
        done = self.verify(expect=0)
        self.assertEqual(self.last_line(done), "3 passed, 0 failed, 0 skipped")
        latest = self.root / "build/runs/latest"
        report = json.loads((latest / "report.json").read_text())
        self.assertEqual(report["status"], 0)
        self.assertEqual(len(report["runs"][0]["suites"]["demo"]), 3)
        self.assertEqual(len(ET.parse(latest / "junit.xml").findall("testsuite")), 2)
        names = {path.name for path in (latest / "v7.3/all/x86_64").iterdir()}
        self.assertLessEqual({"config", "build.log", "console.log", "kunit.json", "kunit.log",
                              "commands.sh"}, names)

    def test_0_a_second_run_builds_nothing(self) -> None:
        self.verify(expect=0)
        self.assertIn("kernel is up to date", self.verify(expect=0).stderr)
        fragment = self.root / "configs/kunit/common.config"
        fragment.write_text(fragment.read_text() + "# more\n")
        self.assertIn(": built", self.verify(expect=0).stderr)
        (self.root / "build/out/v7.3/x86_64/arch/x86/boot/bzImage").write_text("damaged")
        self.assertIn(": built", self.verify(expect=0).stderr)

    def test_1_a_failed_case_is_named(self) -> None:
        done = self.verify(expect=1, console="fail")
        self.assertIn("failed: demo.", done.stderr)
        self.assertEqual(self.last_line(done), "2 passed, 1 failed, 0 skipped")

    def test_2_usage(self) -> None:
        self.verify("--suite", "x; rm", expect=2)
        self.verify("--suite", "nothing", expect=2)
        self.verify("--topic", "nothing", expect=2)
        self.verify("--debug", "nothing", expect=2)
        self.verify("--topic", "kunit", "--unpatched", expect=2)

    def test_3_a_symbol_of_no_tree(self) -> None:
        fragment = self.root / "configs/kunit/common.config"
        fragment.write_text("CONFIG_KUNIT=y\nCONFIG_MISSPELT=y\n")
        said = self.verify(expect=3).stderr
        self.assertIn("common.config:2: CONFIG_MISSPELT=y: this tree has no such symbol", said)

    def test_3_a_dependency_that_is_unmet(self) -> None:
        fragment = self.root / "configs/kunit/x86_64.config"
        fragment.write_text("CONFIG_NEEDS_MMU=y\n")
        said = self.verify(expect=3).stderr
        self.assertIn("x86_64.config:1: CONFIG_NEEDS_MMU=y: dependency unmet", said)
        self.assertIn("depends on MMU (MMU=n)", said)

    def test_4_what_does_not_build(self) -> None:
        self.edit(self.imported, "line 9", "BROKEN")
        self.assertIn("error: broken on purpose", self.verify("--as-is", expect=4).stderr)

    def test_5_a_hang(self) -> None:
        done = self.verify("--timeout", "1", expect=5, console="hang", MMB_EXIT="hang")
        self.assertIn("timed out", done.stderr)

    def test_5_no_ktap_and_a_panic(self) -> None:
        self.assertIn("no KTAP", self.verify(expect=5, console="", MMB_EXIT="1").stderr)
        self.assertIn("panicked", self.verify(expect=5, console="panic").stderr)

    def test_6_a_warning_in_a_run_that_passed(self) -> None:
        self.assertIn("WARNING: ", self.verify(expect=6, console="splat").stderr)

    def test_7_a_skip_that_is_not_allowed(self) -> None:
        self.assertIn("may not be: demo.", self.verify(expect=7, console="skip").stderr)

    def test_7_too_few_cases(self) -> None:
        suites = self.root / "kunit/suites.toml"
        suites.write_text(suites.read_text().replace("x86_64 = 3", "x86_64 = 4"))
        self.assertIn("at least 4", self.verify(expect=7).stderr)

    def more_boots(self, text: str) -> None:
        suites = self.root / "kunit/suites.toml"
        suites.write_text(suites.read_text() + f"boots = [ {text} ]\n")

    def test_0_a_suite_that_is_booted_again(self) -> None:
        self.more_boots('{ name = "other", arches = ["x86_64"], args = ["clearcpuid=x"], '
                        'machine = ["-cpu", "max"], says = "QEMU .*-cpu max" }')
        done = self.verify(expect=0)
        self.assertEqual(self.last_line(done), "6 passed, 0 failed, 0 skipped")
        self.assertIn("all, other", done.stdout)
        said = (self.root / "build/runs/latest/v7.3/all/x86_64/demo-other/commands.sh").read_text()
        self.assertIn("-cpu max", said)
        self.assertIn("clearcpuid=x", said)
        self.assertIn("kunit.filter_glob=demo", said)

    def test_0_what_the_plain_boot_has_tested(self) -> None:
        self.more_boots('{ name = "other", arches = ["x86_64"], says = "Subtest: d.mo" }')
        done = self.verify(expect=0)
        self.assertEqual(self.last_line(done), "3 passed, 0 failed, 0 skipped")

    def test_7_a_boot_that_is_not_what_it_is_for(self) -> None:
        self.more_boots('{ name = "other", arches = ["x86_64"], says = "MOPS" }')
        self.assertIn("demo does not say 'MOPS'", self.verify(expect=7).stderr)
        self.verify("--suite", "demo.one*", expect=0)

    def test_0_an_emulator_that_cannot_be_had_is_a_skip(self) -> None:
        self.more_boots('{ name = "mops", arches = ["x86_64"], says = "MOPS", '
                        'qemu = { least = 999, suite = "none" } }')
        folder = self.folder / "no-apt"
        self.write(folder / "apt-get", "#!/bin/sh\nexit 100\n")
        (folder / "apt-get").chmod(0o755)
        done = self.verify(expect=0, PATH=f"{folder}:{self.env['PATH']}")
        self.assertEqual(self.last_line(done), "3 passed, 0 failed, 1 skipped")
        self.assertIn("not run: ", done.stderr)

    def test_2_a_boot_with_a_word_unknown(self) -> None:
        self.more_boots('{ name = "other", arches = ["x86_64"], says = "x", speed = 1 }')
        self.assertIn("speed", self.verify(expect=2).stderr)

    def test_8_a_queue_that_does_not_apply(self) -> None:
        patch = next(self.root.glob("patches/v7.3/change/*.patch"))
        patch.write_text(patch.read_text().replace(" line 18\n", " line eighteen\n"))
        self.assertIn(patch.name, self.verify(expect=8).stderr)

    def test_9_a_missing_tool(self) -> None:
        arches = self.root / "configs/arches.toml"
        arches.write_text(arches.read_text().replace("qemu-system-x86_64", "qemu-system-none"))
        self.assertIn("qemu-system-none is not installed", self.verify(expect=9).stderr)

    def test_11_a_dirty_tree_unless_as_is(self) -> None:
        self.edit(self.imported, "line 9", "mine")
        self.assertIn("--as-is", self.verify(expect=11).stderr)
        self.verify("--as-is", expect=0)
        self.assertIn("mine\n", (self.imported / "mm/memory.c").read_text())

    def test_130_interrupted_and_gone_on_with(self) -> None:
        child = subprocess.Popen([self.root / "scripts/verify", "--accel", "tcg"],
                                 env={**self.env, "MMB_CONSOLE": "pass",
                                      "MMB_BUILD_SECONDS": "60"},
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        log = self.root / "build/runs/latest/v7.3/all/x86_64/build.log"
        end = time.monotonic() + 20
        while time.monotonic() < end and not (log.exists() and "build " in log.read_text()):
            time.sleep(0.05)
        child.send_signal(signal.SIGTERM)
        said = child.communicate(timeout=20)[1]
        self.assertEqual(child.returncode, 130)
        self.assertIn("interrupted", said)
        self.assertIn(": built", self.verify(expect=0).stderr)

    def test_each_patch_and_unpatched(self) -> None:
        done = self.verify("--each-patch", expect=0)
        self.assertEqual(self.last_line(done), "6 passed, 0 failed, 0 skipped")
        self.assertIn("change/0001", done.stdout)
        self.verify("--unpatched", expect=0)
        self.assertIn("line 20\n", (self.imported / "mm/memory.c").read_text())

    def test_dry_run_prints_and_does_nothing(self) -> None:
        said = self.verify("--dry-run", expect=0).stdout
        self.assertIn("kunit.py config", said)
        self.assertIn("qemu-system-x86_64", said)
        self.assertFalse((self.root / "build/runs").exists())

    def test_a_suite_is_a_filter_of_the_boot(self) -> None:
        said = self.verify("--suite", "demo.one*", "--dry-run", expect=0).stdout
        self.assertIn("kunit.filter_glob=demo.one*", said)


if __name__ == "__main__":
    unittest.main()
