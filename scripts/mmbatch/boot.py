# SPDX-License-Identifier: GPL-2.0-only
"""Booting a kernel in QEMU or as a UML process, and choosing the accelerator."""
from __future__ import annotations

import json
import os
import platform
import re
import selectors
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from . import conf
from .cli import Failure, Status, duration, note, progress, run

BARE = ["-nodefaults", "-no-reboot", "-nographic"]
MACHINE = [*BARE, "-m", "1024", "-smp", "2"]
PROBE_SECONDS = 8       # how long KVM has for what takes it one second
KTAP = re.compile(r"KTAP version \d")


@dataclass
class Outcome:
    """How a boot ended: after `seconds`, with exit status `code`; None: timed out."""
    code: int | None
    seconds: float
    console: str


def kunit_args(arch: conf.Arch) -> list[str]:
    """What has a kernel run its suites and end."""
    return ["kunit.enable=1", f"kunit_shutdown={'reboot' if arch.qemu else 'halt'}"]


def command(arch: conf.Arch, image: Path, accel: str, kernel_args: list[str],
            machine: list[str] = MACHINE) -> list[str]:
    """The command line that boots `image`; `machine` is what the emulator has."""
    append = [f"console={arch.console}", "panic=-1", *kernel_args]
    if not arch.qemu:
        return [str(image), *arch.args, *append]
    return [arch.qemu, *machine, "-accel", accel, *arch.args, "-kernel", str(image),
            "-append", " ".join(append), "-serial", "stdio"]


def boot(argv: list[str], console: Path, timeout: float,
         on_line: Callable[[str], bool] = lambda line: False,
         stop: threading.Event | None = None) -> Outcome:
    """Run a kernel until it ends, `timeout` seconds pass, or `on_line` says enough.

    Its console goes to the file `console` as it is. The kernel is ended with
    all its processes in every case, and when another thread sets `stop`.
    """
    begun = time.monotonic()
    try:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, start_new_session=True)
    except FileNotFoundError as error:
        raise Failure(Status.MISSING, f"{argv[0]} is not installed",
                      "scripts/setup installs what is missing") from error
    except PermissionError as error:
        raise Failure(Status.BOOT, f"{argv[0]} cannot be run: {error.strerror}") from error
    line, text, enough = b"", [], False
    try:
        with open(console, "wb") as file, selectors.DefaultSelector() as ready:
            ready.register(child.stdout, selectors.EVENT_READ)
            while not enough and not (stop and stop.is_set()) \
                    and (left := begun + timeout - time.monotonic()) > 0:
                if not ready.select(min(left, 1)):
                    continue
                block = os.read(child.stdout.fileno(), 1 << 16)
                if not block:
                    break
                file.write(block)
                file.flush()
                text.append(block)
                *whole, line = (line + block).split(b"\n")
                enough = any([on_line(one.decode(errors="replace")) for one in whole])
        left = begun + timeout - time.monotonic()
        code = None
        if enough:
            code = 0
        elif left > 0:
            try:
                code = child.wait(timeout=min(left, 10))
            except subprocess.TimeoutExpired:
                code = None
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.stdout.close()
        child.wait()
    return Outcome(code, time.monotonic() - begun, b"".join(text).decode(errors="replace"))


def follow(what: str) -> Callable[[str], bool]:
    """Show on the progress line which suite and case ended last."""
    begun, state = time.monotonic(), {"suite": "", "ended": 0}

    def line(text: str) -> bool:
        if match := re.search(r"# Subtest: (\S+)", text):
            state["suite"] = match[1]
        elif re.search(r"\b(not )?ok \d+", text):
            state["ended"] += 1
        progress.show(f"{what}: {state['suite'] or 'booting'}, {state['ended']} results, "
                      f"{duration(time.monotonic() - begun)}")
        return False
    return line


def choose(arch: conf.Arch, image: Path, wanted: str, store: Path) -> tuple[str, str]:
    """The accelerator to use, and why.

    `auto` tries KVM once on this host, with this kernel, and keeps the answer
    in the file `store`.
    """
    if not arch.qemu:
        return "", "a process of its own, no emulator"
    if wanted != "auto":
        return wanted, f"--accel {wanted}"
    if platform.machine() not in arch.host:
        return "tcg", f"the machine is {platform.machine()}"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg", "/dev/kvm is not there or not ours to open"
    host = _host(arch)
    known = _read(store)
    if host not in known:
        note(f"{arch.name}: trying KVM, {PROBE_SECONDS} s at most")
        known[host] = _probe(arch, image, store.with_suffix(".console"))
        store.write_text(json.dumps(known, indent=2) + "\n")
        return known[host]["accel"], known[host]["why"]
    return known[host]["accel"], f"{known[host]['why']} (kept in {store})"


def _host(arch: conf.Arch) -> str:
    """What the answer depends on: machine, running kernel, QEMU."""
    machine = Path("/etc/machine-id")
    version = run([arch.qemu, "--version"]).stdout.splitlines()[0]
    return " ".join([arch.name, platform.release(), version,
                     machine.read_text().strip() if machine.exists() else platform.node()])


def _read(store: Path) -> dict[str, dict[str, str]]:
    try:
        return json.loads(store.read_text())
    except (OSError, ValueError):
        return {}


def _probe(arch: conf.Arch, image: Path, console: Path) -> dict[str, str]:
    """Whether the kernel gets to its first test under KVM."""
    outcome = boot(command(arch, image, "kvm", kunit_args(arch)), console, PROBE_SECONDS,
                   lambda line: bool(KTAP.search(line)))
    if KTAP.search(outcome.console):
        return {"accel": "kvm", "why": f"KVM ran the kernel in {outcome.seconds:.1f} s"}
    if outcome.code is None:
        return {"accel": "tcg", "why": "/dev/kvm opens, but the kernel hung under KVM for "
                f"{PROBE_SECONDS} s"}
    said = (outcome.console.strip().splitlines() or ["nothing"])[-1][:120]
    return {"accel": "tcg", "why": f"QEMU ended under KVM (exit status {outcome.code}): {said}"}
