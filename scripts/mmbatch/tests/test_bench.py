# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench from end to end with a stand-in for QEMU, and what it derives."""
import json
import subprocess
import unittest
from pathlib import Path
from unittest import mock

from mmbatch import boot, cmd_bench, conf
from mmbatch.bench import figures, guard, guest, plot, record
from mmbatch.cli import Failure, Status

from .sandbox import REPOSITORY, Sandbox

PUBLISHED = """\
[[figure]]
mechanism = "clear"
what = "demand faults"
machine = "a machine"
unit = "GB/s"
before = 11.82
after = 16.48
change = 39.4
source = "https://example.org/"
title = "a thread"
"""


def line(name: str = "one", **value: int) -> str:
    return f"    # {name}: bench: {name} " + " ".join(f"{k}={v}" for k, v in value.items())


def a_run(state: str, *lines: str, arch: str = "x86_64") -> dict:
    return {"arch": arch, "state": state, "part": "kernel", "run": 1, "lines": list(lines)}


class Bench(Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.write(self.root / "kunit/suites.toml", (self.root / "kunit/suites.toml").read_text()
                   + '[demo_bench]\nsymbol = "DEMO_KUNIT_TEST"\ntopic = "kunit"\n'
                   'cases."v7.3" = { x86_64 = 2 }\nbenchmark = true\n')
        packages = self.root / "configs/packages.toml"
        packages.write_text(packages.read_text() + "[bench]\n")
        for fragment in (self.root / "configs/bench").glob("*.config"):
            fragment.write_text("CONFIG_KUNIT=y\n")
        for name in ("mmbench.c", "init"):
            source = REPOSITORY / "bench/user" / name
            self.write(self.root / "bench/user" / name, source.read_text())
        self.write(self.root / "bench/worse.toml", "")
        self.write(self.root / "Documentation/results/published.toml", PUBLISHED)
        self.write(self.root / "build/bench/user/x86_64/busybox", "#!/bin/sh\n")
        self.make_queue()

    def bench(self, *words: str, expect: int, **env: str):
        return self.script("bench", *words, expect=expect, env={"MMB_CONSOLE": "", **env})

    def last_line(self, done) -> str:
        return done.stdout.splitlines()[-1]

    @property
    def made(self) -> Path:
        return self.root / "build/bench/v7.3"

    def test_counted_in_the_kernel_and_in_user_space(self) -> None:
        done = self.bench(expect=0, MMB_QUEUE="1004000")
        self.assertEqual(self.last_line(done), "4 passed, 0 failed, 0 skipped")
        made = json.loads((self.made / "counted.json").read_text())
        self.assertEqual([(row["workload"], row["base"], row["queue"], row["change_percent"],
                           row["spread_ppm"]) for row in made["results"]],
                         [(f"{where}{name}/order-2", 1000000, 1004000, 0.4, 0.0)
                          for where in ("", "user.") for name in ("one", "two")])
        self.assertEqual(len(made["runs"]), 8)      # 2 kernels, 2 parts, 2 runs
        self.assertTrue(all(run["lines"] and "-icount" in run["command"]
                            for run in made["runs"]))
        self.assertIn("<svg", (self.made / "counted.svg").read_text())
        self.assertIn("+0.40 %", (self.made / "counted.rst").read_text())

    def test_a_second_run_builds_nothing(self) -> None:
        self.assertIn("queue: building", self.bench(expect=0).stderr)
        self.assertNotIn("building", self.bench(expect=0).stderr)
        for image in self.root.glob("build/bench/kernels/*/bzImage"):
            image.write_text("damaged")
        self.assertIn("building", self.bench(expect=0).stderr)

    def test_the_branch_is_checked_out_in_the_end(self) -> None:
        self.bench(expect=0)
        self.assertIn("line twenty\n", (self.imported / "mm/memory.c").read_text())

    def test_worse_than_base_without_a_reason(self) -> None:
        done = self.bench(expect=1, MMB_QUEUE="1006000")
        self.assertIn("worse: x86_64 one/order-2: +0.60 %", done.stderr)
        self.assertEqual(self.last_line(done), "0 passed, 4 failed, 0 skipped")
        self.write(self.root / "bench/worse.toml", '[[worse]]\nbase = "v7.3"\n'
                   'arches = ["x86_64"]\nworkload = "*one/*"\nreason = "why"\n')
        done = self.bench(expect=1, MMB_QUEUE="1006000")
        self.assertEqual(self.last_line(done), "2 passed, 2 failed, 0 skipped")

    def test_runs_that_differ_are_a_fault_of_the_benchmark(self) -> None:
        done = self.bench("--repeat", "6", expect=1, MMB_JITTER="1")
        self.assertIn("fault of the benchmark: x86_64/one/order-2: two runs", done.stderr)

    def test_check_against_what_is_kept(self) -> None:
        self.assertIn("nothing to compare with", self.bench("--check", expect=2).stderr)
        self.bench("--keep", expect=0, MMB_QUEUE="990000")
        self.bench("--check", expect=0, MMB_QUEUE="994000")
        done = self.bench("--check", expect=1, MMB_QUEUE="996000")
        self.assertIn("-0.40 % against base, -1.00 % is kept", done.stderr)
        # Base and queue both grew: the same compiler, so the count shows it.
        done = self.bench("--check", expect=1, MMB_BASE="1010000", MMB_QUEUE="999900")
        self.assertIn("instructions, +1.00 % against the 990000 that are kept", done.stderr)

    def test_what_is_kept_and_not_measured_fails(self) -> None:
        self.bench("--keep", expect=0)
        path = self.root / "Documentation/results/v7.3/counted.json"
        path.write_text(path.read_text().replace("one/order-2", "gone/order-2"))
        self.assertIn("gone/order-2: is kept, but was not measured",
                      self.bench("--check", expect=1).stderr)

    def test_keep_writes_the_page(self) -> None:
        self.bench("--keep", expect=0, MMB_QUEUE="990000")
        page = (self.root / "Documentation/results/results.rst").read_text()
        self.assertIn(".. image:: v7.3/counted.svg", page)
        self.assertIn("-1.00 %", page)
        self.assertIn("11.82 GB/s", page)
        self.assertNotIn(str(self.root), page)
        self.bench("--quick", "--keep", expect=0)
        self.assertTrue((self.root / "Documentation/results/v7.3/counted-quick.json").exists())
        self.assertEqual((self.root / "Documentation/results/results.rst").read_text(), page)

    def test_check_finds_a_figure_that_no_record_holds(self) -> None:
        self.bench("--keep", expect=0, MMB_QUEUE="990000")
        readme = self.root / "README.md"
        self.write(readme, "It takes 1.0 % less, 990000 instructions.\n")
        self.script("check", "--only", "figures", expect=0)
        self.write(readme, "\nIt takes 1.1 % less.\n")
        self.assertIn("README.md:2: 1.1 (percent) is in no result file",
                      self.script("check", "--only", "figures", expect=1).stdout)
        self.write(readme, "")
        path = self.root / "Documentation/results/v7.3/counted.json"
        path.write_text(path.read_text().replace('"queue": 990000', '"queue": 980000'))
        self.assertIn("do not follow from the lines",
                      self.script("check", "--only", "figures", expect=1).stdout)

    def test_events(self) -> None:
        done = self.bench("--events", expect=0)
        self.assertIn("x86_64 flushes", done.stdout)
        made = json.loads((self.made / "events.json").read_text())
        self.assertEqual(made["results"][0]["flushes"], {"base": 1, "queue": 1})

    def test_a_topic_alone(self) -> None:
        self.bench("--topic", "change", expect=0)
        made = json.loads((self.made / "counted-change.json").read_text())
        self.assertEqual(made["topics"], ["kunit", "change"])
        self.bench("--topic", "nothing", expect=2)

    def test_usage(self) -> None:
        for words in (["--check", "--events"], ["--check", "--keep"], ["--repeat", "1"],
                      ["--counted", "--kvm"], ["--arch", "um"]):
            self.bench(*words, expect=2)

    def test_boots_that_fail(self) -> None:
        self.assertIn("did not do its work", self.bench(expect=1, MMB_FAIL="1").stderr)
        self.assertIn("panicked", self.bench(expect=5, MMB_CONSOLE="panic").stderr)
        self.assertIn("complained", self.bench(expect=6, MMB_CONSOLE="splat").stderr)
        self.assertIn("no line of a workload", self.bench(expect=5, MMB_CONSOLE="pass").stderr)
        self.assertIn("timed out", self.bench("--timeout", "1", expect=5, MMB_CONSOLE="hang",
                                              MMB_EXIT="hang").stderr)

    def test_interrupted(self) -> None:
        child = subprocess.Popen([self.root / "scripts/bench"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True,
                                 env={**self.env, "MMB_CONSOLE": "hang", "MMB_EXIT": "hang"})
        for text in child.stderr:
            if "queue: building" in text:
                break
        with self.assertRaises(subprocess.TimeoutExpired):
            child.wait(timeout=3)
        child.terminate()
        said = child.communicate(timeout=20)[1]
        self.assertEqual(child.returncode, 130, said)
        self.assertIn("interrupted", said)

    def test_a_dirty_tree(self) -> None:
        self.edit(self.imported, "line 9", "mine")
        self.bench(expect=11)
        self.assertIn("mine\n", (self.imported / "mm/memory.c").read_text())


class Record(unittest.TestCase):
    def test_lines(self) -> None:
        self.assertEqual(record.parse("[1.0]     # x: bench: x/order-2 ns=5 faults=0\r\n"),
                         ("x/order-2", {"ns": 5, "faults": 0}))
        for other in ("bench:", "bench: x", "bench: x ns=", "the bench: x ns=1 more", ""):
            self.assertIsNone(record.parse(other), other)

    def test_counted_takes_the_least_and_tells_the_spread(self) -> None:
        rows = record.counted([a_run("base", line(ns=1000000)), a_run("base", line(ns=1000003)),
                               a_run("queue", line(ns=900000)), a_run("queue", line(ns=900000))])
        self.assertEqual(rows, [{"arch": "x86_64", "workload": "one", "base": 1000000,
                                 "queue": 900000, "change_percent": -10.0, "spread_ppm": 3.0}])

    def test_what_a_fault_costs_is_told_where_there_are_faults(self) -> None:
        rows = record.counted([a_run("base", line(ns=1000, faults=10)),
                               a_run("queue", line(ns=1105, faults=10))])
        self.assertEqual(rows[0]["per_fault"], 10.5)

    def test_timed_takes_medians_of_ratios(self) -> None:
        def lines(page: int, *ranges: int) -> list[str]:
            return [line("clear.stosb", chunk=16384, bytes=1 << 30, page_ns=page, range_ns=ns)
                    for ns in ranges]
        rows = record.timed([a_run("base", *lines(200, 100, 200, 400)),
                             a_run("queue", *lines(100, 100, 50, 25))])
        self.assertEqual(rows[0]["base"]["range_to_page"], 1.0)
        self.assertEqual(rows[0]["queue"]["range_to_page"], 2.0)
        self.assertEqual([rows[0][f"queue_range_to_base_page{end}"]
                          for end in ("", "_least", "_most")], [4.0, 2.0, 8.0])
        self.assertIn("16 KB", plot.table({"kind": "timed", "results": rows}))
        self.assertNotIn("fault", rows[0])

    def test_a_time_is_kept_by_processor(self) -> None:
        made = {"kind": "timed", "topics": ["kunit", "clear"], "narrowed": True, "quick": False}
        for processor, name in (
                ("Intel(R) Xeon(R) Processor", "timed-clear-intel-xeon"),
                ("Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz, family 6, model 45",
                 "timed-clear-intel-xeon-e5-2670-0"),
                ("AMD EPYC, family 26, model 2", "timed-clear-amd-epyc-family-26-model-2")):
            self.assertEqual(name, record.name_of(made | {"machine": {"processor": processor}}))

    def test_timed_compares_what_a_fault_costs(self) -> None:
        rows = record.timed([a_run(state, *(
            line("clear.stosb", chunk=16384, bytes=1 << 30, page_ns=9, range_ns=9, fault_ns=ns)
            for ns in times)) for state, times in (("base", (300, 200)), ("queue", (100, 100)))])
        self.assertEqual([rows[0][f"fault{end}"] for end in ("", "_least", "_most")],
                         [2.5, 2.0, 3.0])
        self.assertIn("fault, queue : base", plot.table({"kind": "timed", "results": rows}))

    def test_kvm_takes_the_median_of_pairs(self) -> None:
        runs = [a_run(state, line(ns=ns)) for state, ns in (
            ("base", 100), ("queue", 90), ("base", 200), ("queue", 100), ("base", 100),
            ("queue", 100))]
        self.assertEqual(record.kvm(runs), [
            {"arch": "x86_64", "workload": "one", "pairs": 3, "base_ns": 100, "queue_ns": 100,
             "ratio": 0.9, "ratio_least": 0.5, "ratio_most": 1.0}])

    def test_a_workload_that_only_one_kernel_ran_is_a_fault(self) -> None:
        made = {"kind": "counted", "runs": [a_run("base", line(ns=1)), a_run("queue")]}
        made["results"] = record.derive(made)
        self.assertEqual(list(record.faults(made)), ["x86_64/one: only base ran it",
                                                     "nothing was measured"])

    def test_a_reason_is_for_its_base_arch_and_workloads(self) -> None:
        with mock.patch.object(conf, "load", return_value={"worse": [
                {"base": "v7.3", "arches": ["arm64"], "workload": "fault*", "reason": "why"}]}):
            self.assertEqual(guard.listed("v7.3", "arm64", "fault_x/order-2"), "why")
            for other in (("v7.3", "x86_64", "fault"), ("v7.3", "arm64", "madv_free"),
                          ("linux-6.12.y", "arm64", "fault")):
                self.assertEqual(guard.listed(*other), "")


class Kvm(unittest.TestCase):
    def kernel(self, arch: str) -> guest.Kernel:
        return guest.Kernel(conf.arches()[arch], "base", Path("/image"), Path("/cpio"), {})

    def test_only_what_kvm_runs_is_measured(self) -> None:
        answers = {"x86_64": ("kvm", "it ran"), "arm64": ("tcg", "another machine")}
        with mock.patch.object(boot, "choose", lambda arch, *rest: answers[arch.name]):
            found = cmd_bench.with_kvm([self.kernel("x86_64"), self.kernel("arm64")])
            self.assertEqual([one.arch.name for one in found], ["x86_64"])
            with self.assertRaises(Failure) as raised:
                cmd_bench.with_kvm([self.kernel("arm64")])
        self.assertEqual(raised.exception.status, Status.MISSING)
        self.assertIn("another machine", str(raised.exception))

    def test_the_clock_counts_under_tcg_alone(self) -> None:
        one = self.kernel("x86_64")
        self.assertIn("-icount", guest.command(one, "tcg", guest.FULL, None))
        self.assertNotIn("-icount", guest.command(one, "kvm", guest.FULL, None))

    def test_a_guest_of_user_space_does_not_run_the_suites(self) -> None:
        argv = " ".join(guest.command(self.kernel("x86_64"), "tcg", guest.FULL, Path("/cpio")))
        self.assertIn("-initrd /cpio", argv)
        self.assertIn("kunit.enable=0", argv)
        self.assertNotIn("kunit_shutdown", argv)


class Figures(unittest.TestCase):
    KNOWN = {"percent": [-4.13, 0.18], "count": [315, 3925564], "ratio": [1.394],
             "time": [854.0], "disk": [6.2e9], "rate": [16.48]}

    def missing(self, text: str) -> list[str]:
        return [number for _, kind, number, unit in figures.figures(text)
                if not figures.stands(kind, number, unit, self.KNOWN)]

    def test_what_stands(self) -> None:
        for text in ("-4.1 % on it", "4.13 % less", "+0.2 %", "315 cases", "3,925,564 of them",
                     "1.4 times as fast", "14 minutes", "854 s", "6 GB of disk", "16.5 GB/s"):
            self.assertEqual(self.missing(text), [], text)
            self.assertEqual(len(list(figures.figures(text))), 1, text)

    def test_what_does_not(self) -> None:
        for text in ("-4.2 %", "+4.1 %", "316 cases", "3925565", "1.5 times", "15 minutes",
                     "853 s", "7 GB of disk", "16.4 GB/s", "from 3058 on"):
            self.assertEqual(len(self.missing(text)), 1, text)

    def test_both_ends_of_a_range(self) -> None:
        self.assertEqual(self.missing("14 to 25 minutes"), ["25"])

    def test_what_is_set_is_no_figure(self) -> None:
        for text in ("``--timeout 300 s``", "v7.3, 2 MB pages", "order 4", "`a 12345`",
                     "https://lkml.kernel.org/r/20250917152418.4077386-17", "64 KB",
                     ".. begin v7.3/x\n\n 99999 5 %\n\n.. end v7.3/x\n", "deadbeef12345"):
            self.assertEqual(list(figures.figures(text)), [], text)

    def test_the_line_is_told(self) -> None:
        self.assertEqual([found[0] for found in figures.figures("a ``b\nc`` d\n5 %\n")], [3])


if __name__ == "__main__":
    unittest.main()
