# SPDX-License-Identifier: GPL-2.0-only
"""Kernels to measure, and what they print of the workloads when they are booted.

Base + kunit and the queue are built in one folder, so with one configuration,
and their images are kept by content: what was built once is not built again.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import boot, cmd_verify, conf, kernel, results, series
from ..cli import Failure, Status, command_line, duration, note, progress, run
from ..sources import sha256
from . import states
from .record import LINE

FRAGMENTS = conf.ROOT / "configs/bench"
KERNELS = conf.BUILD / "bench/kernels"
KEPT_KERNELS = 12       # of all bases together
MEMORY_MB = 2048        # of a guest; the largest workload maps 1 GB
# The guest's clock counts instructions. Nothing in it depends on the host: no
# real time while it idles (sleep=off), no random seed, a clock that begins at a
# fixed date, one CPU.
COUNTING = ["-icount", "shift=0,sleep=off", "-seed", "1", "-rtc", "base=2020-01-01,clock=vm"]
# Addresses of the kernel and of mappings are random otherwise.
FIXED = ["nokaslr", "norandmaps"]
INTERESTING = re.compile(r"Linux version |bench: |mmbench: |# mm_bench: |Refined TSC|not ok ")


@dataclass(frozen=True)
class Kernel:
    """A kernel that was built: `state` is base (with topic kunit) or queue."""
    arch: conf.Arch
    state: str
    image: Path
    cpio: Path          # the tree's gen_init_cpio, which makes an initramfs
    info: dict[str, Any]


@dataclass
class Sizes:
    """How much each workload works on."""
    fault_mb: int
    fault_reps: int
    madvise_mb: int
    madvise_reps: int


FULL = Sizes(8, 10, 1024, 3)
QUICK = Sizes(8, 6, 64, 3)


@dataclass
class Job:
    """One boot and what came of it."""
    kernel: Kernel
    part: str                       # kernel: the KUnit suite; user: the initramfs
    number: int
    argv: list[str]
    console: Path
    lines: list[str] = field(default_factory=list)

    @property
    def record(self) -> dict[str, Any]:
        return {"arch": self.kernel.arch.name, "state": self.kernel.state, "part": self.part,
                "run": self.number, "command": command_line(self.argv).replace(
                    str(conf.ROOT), "."), "lines": self.lines}


def benchmarks(base: conf.Base, arch: conf.Arch) -> dict[str, conf.Suite]:
    return {name: suite for name, suite in conf.suites().items() if suite.benchmark
            and suite.on(base.name, arch.name)}


def build_of(base: conf.Base, arch: conf.Arch, kind: str) -> kernel.Build:
    build = cmd_verify.build_of(base, arch, base.tree, benchmarks(base, arch), [], "bench")
    fragment = FRAGMENTS / f"{kind}.{arch.name}.config"
    build.fragments += [fragment] * fragment.exists()
    return build


def kernels(base: conf.Base, topics: list[series.Topic], arches: list[conf.Arch],
            folder: Path, kind: str) -> list[Kernel]:
    """Build what is not there yet: base + kunit and `topics`, for each architecture.

    All but the events are measured in a kernel configured like that of the
    suites, so that much of it has been compiled before.
    """
    found = []
    steps, trees = states.steps(base, topics), states.trees(base, topics)
    for arch in arches:
        build = build_of(base, arch, kind)
        for state, step in steps.items():
            wanted = kernel.key(build, trees[state])
            store = KERNELS / f"{base.name}-{arch.name}-{wanted[:20]}"
            if not is_whole(store, wanted):
                cmd_verify.check_out(base.tree, base, step)
                log = folder / f"{arch.name}-{state}.build.log"
                note(f"{base.name} {arch.name} {state}: building")
                kernel.make(build, log)
                keep(build, wanted, store)
            os.utime(store)
            info = json.loads((store / "kernel.json").read_text())
            found.append(Kernel(arch, state, store / info["image"], store / "gen_init_cpio", info))
    prune()
    return found


def is_whole(store: Path, wanted: str) -> bool:
    """Whether `store` holds the kernel of this very key, undamaged."""
    try:
        info = json.loads((store / "kernel.json").read_text())
        return info["key"] == wanted and info["sha256"] == sha256(store / info["image"]) \
            and (store / "gen_init_cpio").exists()
    except (OSError, ValueError, KeyError):
        return False


def keep(build: kernel.Build, wanted: str, store: Path) -> None:
    """Copy what boots out of the build folder, which the next kernel is built in."""
    part = store.with_name(f".{store.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    shutil.copy2(build.image, part)
    shutil.copy2(build.config, part / "config")
    shutil.copy2(build.out / "usr/gen_init_cpio", part)
    release = (build.out / "include/config/kernel.release").read_text().strip()
    (part / "kernel.json").write_text(json.dumps({
        "key": wanted, "image": build.image.name, "sha256": sha256(build.image),
        "release": release, "config_sha256": sha256(build.config),
        "compiler": run([build.compiler(), "--version"]).stdout.splitlines()[0]}) + "\n")
    shutil.rmtree(store, ignore_errors=True)
    part.rename(store)


def prune() -> None:
    """Remove the kernels that were not used for longest."""
    found = sorted(KERNELS.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found[KEPT_KERNELS:]:
        shutil.rmtree(path)


def command(one: Kernel, accel: str, sizes: Sizes, initramfs: Path | None) -> list[str]:
    """The command line that runs one part of the workloads."""
    machine = [*boot.BARE, "-m", str(MEMORY_MB), "-smp", "1"]
    if accel == "tcg":
        machine += COUNTING
    if initramfs:
        append = ["kunit.enable=0", *(f"{name}={value}" for name, value in vars(sizes).items())]
        machine += ["-initrd", str(initramfs)]
    else:
        append = [*boot.kunit_args(one.arch), "kunit.filter_glob=mm_bench",
                  *(f"mm_bench_kunit.{name}={value}" for name, value in vars(sizes).items())]
    return boot.command(one.arch, one.image, accel, [*FIXED, *append], machine)


def at_once(wanted: int) -> int:
    """How many guests this machine can run beside each other."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return max(1, min(wanted, kernel.jobs(), memory // (MEMORY_MB + 512)))


def run_all(jobs: list[Job], timeout: float, parallel: int) -> None:
    """Boot each job, `parallel` at a time, and fill in its lines."""
    begun, done, stop = time.monotonic(), [0], threading.Event()

    def one(job: Job) -> None:
        if stop.is_set():
            return
        label = f"{job.kernel.arch.name} {job.kernel.state} {job.part} {job.number}"

        def line(text: str) -> bool:
            if match := LINE.search(text):
                progress.show(f"{done[0]} of {len(jobs)} boots, {label}: {match[1]}, "
                              f"{duration(time.monotonic() - begun)}")
            return False
        outcome = boot.boot(job.argv, job.console, timeout, line, stop)
        if not stop.is_set():
            judge(label, job, outcome)
            done[0] += 1

    with ThreadPoolExecutor(max_workers=parallel) as pool:
        futures = [pool.submit(one, job) for job in jobs]
        try:
            for future in futures:
                future.result()
        finally:
            stop.set()      # also where one has failed, or Ctrl-C came


def judge(label: str, job: Job, outcome: boot.Outcome) -> None:
    """Take the lines of a boot; raise Failure where it did not do its work."""
    text = outcome.console.replace("\r", "")
    job.lines = [line.strip() for line in text.splitlines() if INTERESTING.search(line)]
    hint = f"see {job.console}; again: {command_line(job.argv)}"
    if outcome.code is None:
        raise Failure(Status.BOOT, f"{label}: timed out after {outcome.seconds:.0f} s", hint)
    if panic := results.PANIC.search(text):
        raise Failure(Status.BOOT, f"{label}: the kernel panicked: {panic[1]}", hint)
    if splat := next((one for one in text.splitlines() if results.SPLAT.match(one)), None):
        raise Failure(Status.SPLAT, f"{label}: the kernel complained: {splat.strip()}", hint)
    if bad := next((one for one in job.lines if re.match(r"not ok |mmbench: ", one)), None):
        raise Failure(Status.TEST, f"{label}: a workload did not do its work: {bad}", hint)
    if not any(LINE.search(one) for one in job.lines):
        raise Failure(Status.BOOT, f"{label}: no line of a workload (exit status "
                      f"{outcome.code}); the console begins:\n{results.head(text)}", hint)
