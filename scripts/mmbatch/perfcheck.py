# SPDX-License-Identifier: GPL-2.0-only
"""The check of patches to perf: it builds after each, and its tests pass in a VM."""
from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Iterator

from . import boot, cmd_verify, conf, kernel, patchqueue, series, tree
from .bench import guest, perf, user
from .cli import command_line, note, progress

TOOL = "tools/perf/"
MESSAGE = re.compile(r"(warning|error): ")
# As for scripts/bench: the guest's clock counts instructions, so that what perf
# prints does not depend on the machine.
MACHINE = [*boot.BARE, "-m", "4096", "-smp", "1", "-cpu", "max", *guest.COUNTING]
ARGUMENTS = [*guest.FIXED, "kunit.enable=0", "hugepagesz=1G", "hugepages=1",
             "clearcpuid=erms"]        # counted by the byte otherwise
END = "mm-batch: end"
TIMEOUT = 900


def warnings(base: conf.Base, arch: conf.Arch, commits: list[str]) -> Iterator[str]:
    """What the compiler says of perf after each of `commits` and not at the first."""
    work = conf.BUILD / "out" / base.name / "perf"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    known: set[str] = set()
    for number, commit in enumerate(commits):
        title = tree.git(base.tree, "log", "-1", "--format=%s", commit)
        progress.show(f"perf: {number} of {len(commits) - 1} patches, {title}")
        perf.unpack(base, commit, work, perf.PARTS if number == 0 else tree.git(
            base.tree, "diff", "--name-only", "--diff-filter=d", commits[number - 1], commit,
            "--", "tools").splitlines())
        said = {re.sub(r":\d+(:\d+)?(?=:)", "", line) for line in perf.make(arch, work).splitlines()
                if MESSAGE.search(line)}
        if number == 0:
            known = said
        yield from (f"{title}: {line}" for line in sorted(said - known))
    shutil.rmtree(work)


def in_vm(build: kernel.Build, base: conf.Base, tip: str, console: Path) -> Iterator[str]:
    """What fails when the perf of `tip` and its tests of bench mem run on `build`."""
    arch, folder = build.arch, console.parent
    files = {"/bin/busybox": user.program(arch, "busybox"), "/bin/bash": user.program(arch, "bash"),
             "/bin/perf": perf.build(base, arch, tip)}
    names = tree.git(base.tree, "ls-tree", "-r", "--name-only", tip, "--", perf.TESTS).splitlines()
    for name in names:
        if "bench_mem" in name:
            copy = folder / "tests" / Path(name).relative_to(perf.TESTS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(tree.git(base.tree, "show", f"{tip}:{name}") + "\n")
            files[f"/perf/tests/shell/{copy.relative_to(folder / 'tests')}"] = copy
    archive = user.make(build.out / "usr/gen_init_cpio", folder / "perf.cpio",
                        user.SOURCES / "perf.init", files)
    argv = boot.command(arch, build.image, "tcg", ARGUMENTS,
                        [*MACHINE, "-initrd", str(archive)])
    outcome = boot.boot(argv, console, TIMEOUT, boot.follow("perf"))
    lines = outcome.console.replace("\r", "").splitlines()
    failed = [line for line in lines if line.startswith("not ok")]
    yield from failed
    if END not in lines:
        yield f"the VM did not get to the end of {user.SOURCES / 'perf.init'}"
    if failed or END not in lines:
        note(f"see {console}; again: {command_line(argv)}")


def check(base: conf.Base, arch: conf.Arch, topics: list[series.Topic], commits: list[str]
          ) -> Iterator[str]:
    """`commits`: those of the queue's patches, in order."""
    touching = [commit for commit in commits if tree.git(
        base.tree, "diff", "--name-only", f"{commit}^", commit, "--", TOOL)]
    if not touching:
        return
    yield from warnings(base, arch, [f"{touching[0]}^", *touching])
    patchqueue.apply(base.tree, base, topics)
    build = cmd_verify.build_of(base, arch, base.tree, cmd_verify.suites_of(
        base, arch.name, cmd_verify.Step("all", topics)), [])
    folder = conf.BUILD / "perf" / base.name
    folder.mkdir(parents=True, exist_ok=True)
    kernel.make(build, folder / "build.log")
    yield from in_vm(build, base, commits[-1], folder / "console.log")
