# SPDX-License-Identifier: GPL-2.0-only
"""The check `perf` with a perf in miniature and a stand-in for QEMU."""
import subprocess

from .sandbox import REPOSITORY, Sandbox

SOURCE = "tools/perf/bench/mem-functions.c"
MAKEFILE = """\
perf:
\t@grep -H BROKEN bench/mem-functions.c && exit 1 || :
\t@grep -q WARN bench/mem-functions.c && echo bench/mem-functions.c:1: warning: a word || :
\techo 'int main(void) { return 0; }' | gcc -x c -o $(O)/perf -
"""


class Perf(Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.write(self.root / "bench/user/perf.init",
                   (REPOSITORY / "bench/user/perf.init").read_text())
        for name in ("busybox", "bash"):
            self.write(self.root / "build/bench/user/x86_64" / name, "a program\n")

    def make_tree(self) -> None:
        self.write(self.tree / "tools/perf/Makefile", MAKEFILE)
        self.write(self.tree / SOURCE, "/* memcpy */\n")
        for folder in ("include/linux", "include/uapi", "arch", "scripts"):
            self.write(self.tree / folder / "file", "\n")
        super().make_tree()

    def queue(self, *sources: str) -> None:
        """A queue with a topic whose patches make perf's source one after the other."""
        self.make_queue()
        tree = self.imported
        self.git("commit", "--allow-empty", "-m", "mm-batch topic: perf", tree=tree)
        for number, text in enumerate(sources):
            self.write(tree / SOURCE, text)
            self.write(tree / f"tools/perf/tests/shell/bench_mem_{number}.sh", "# a test\n")
            self.commit(f"perf bench: step {number}", tree)
        self.script("queue", "refresh", expect=0)
        self.write(self.root / "patches/v7.3/perf/cover.txt", "perf: a cover\n\nWhy.\n")

    def check(self, expect: int, *console: str) -> subprocess.CompletedProcess:
        self.write(self.folder / "data/vm.console.log", "\n".join(console) + "\n")
        return self.script("check", "--only", "perf", expect=expect, env={
            "MMB_DATA": str(self.folder / "data"), "MMB_CONSOLE": "vm"})

    def test_all_is_well(self) -> None:
        self.queue("/* one */\n", "/* bench_mem_mmap */\n")
        self.check(0, "$ perf bench", "mm-batch: end")
        listing = (self.root / "build/perf/v7.3/perf.list").read_text()
        for name in ("/bin/perf", "/bin/bash", "/perf/tests/shell/bench_mem_1.sh"):
            self.assertIn(f"file {name} ", listing)

    def test_a_warning_is_that_of_its_patch(self) -> None:
        self.queue("/* WARN */\n", "/* WARN bench_mem_mmap */\n")
        self.assertIn("perf bench: step 0: bench/mem-functions.c: warning: a word",
                      self.check(1, "mm-batch: end").stdout)

    def test_a_patch_in_the_middle_does_not_build(self) -> None:
        self.queue("BROKEN\n", "/* bench_mem_mmap */\n")
        self.assertIn("perf did not build", self.check(4, "mm-batch: end").stdout)

    def test_a_failure_in_the_vm(self) -> None:
        self.queue("/* bench_mem_mmap */\n")
        said = self.check(1, "not ok: perf bench mem all: exit status 1 instead of 0",
                          "mm-batch: end").stdout
        self.assertIn("perf bench mem all: exit status 1", said)

    def test_a_vm_that_does_not_get_to_its_end(self) -> None:
        self.queue("/* bench_mem_mmap */\n")
        self.assertIn("did not get to the end", self.check(1, "$ perf bench").stdout)

    def test_a_queue_without_perf_has_nothing_to_build(self) -> None:
        self.make_queue()
        self.check(0)
        self.assertFalse((self.root / "build/perf").exists())

    def test_what_is_slow_can_be_left_out(self) -> None:
        self.make_queue()
        bases = self.root / "configs/bases.toml"
        bases.write_text(bases.read_text() + 'slow = ["perf"]\n')
        done = self.script("check", "--fast", "--only", "perf", "--only", "toml")
        self.assertIn("skipped v7.3/perf: slow", done.stdout)
        self.assertTrue(done.stdout.rstrip().endswith(", 1 skipped"), done.stdout)
