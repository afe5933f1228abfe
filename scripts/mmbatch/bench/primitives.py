# SPDX-License-Identifier: GPL-2.0-only
"""A kernel's primitives in user space, on this processor.

An instruction count says nothing of string instructions and of memory. So the
tree's own source is compiled into a program, base and queue each, and the two
are run in turn; what counts is the ratio of what was measured side by side.
"""
from __future__ import annotations

import hashlib
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import conf, series, tree
from ..cli import Failure, Status, command_line, duration, note, progress, run
from . import states
from .record import LINE, STATES

SOURCES = conf.ROOT / "bench/primitives"
FOLDER = conf.BUILD / "bench/primitives"
REGION_MB = 1024
CHUNKS = [16 << 10, 64 << 10, 2 << 20, 32 << 20, 1 << 30]
PAIRS = 11
# The kernel is not position independent, and calls its alternatives by address.
CFLAGS = ["-O2", "-Wall", "-mno-red-zone", "-fcf-protection=none", "-fno-pie", "-no-pie",
          "-Wl,-z,noexecstack"]


@dataclass(frozen=True)
class Primitive:
    """A program of bench/primitives, the kernel's files in it, and its alternatives."""
    arch: str
    program: str
    header: str
    assembly: str
    variants: tuple[str, ...]


CLEAR_X86 = Primitive("x86_64", "clear.c", "arch/x86/include/asm/page_64.h",
                      "arch/x86/lib/clear_page_64.S", ("unrolled", "stosq", "stosb"))
PRIMITIVES = [CLEAR_X86]


def build(base: conf.Base, one: Primitive, variant: int, state: str, commit: str) -> Path:
    """The program with the files as they are at `commit`."""
    folder = FOLDER / f"{base.name}-{state}-{one.program.removesuffix('.c')}-{variant}"
    texts = {name: tree.git(base.tree, "show", f"{commit}:{name}") + "\n"
             for name in (one.header, one.assembly)}
    flags = [*CFLAGS, f"-DVARIANT={variant}"]
    digest = hashlib.sha256(" ".join(flags).encode())
    digest.update(run(["gcc", "--version"]).stdout.encode())
    for text in texts.values():
        digest.update(text.encode())
    for path in sorted(SOURCES.rglob("*.[ch]")):
        digest.update(path.read_bytes())
    program = folder / "program"
    stamp = folder / "key"
    if program.exists() and stamp.exists() and stamp.read_text() == digest.hexdigest():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / Path(name).name).write_text(text)
    header = folder / Path(one.header).name
    run(["gcc", *flags, f'-DPAGE_64_H="{header}"', f"-I{SOURCES / 'include'}", "-o", program,
         SOURCES / one.program, folder / Path(one.assembly).name], status=Status.BUILD)
    stamp.write_text(digest.hexdigest())
    return program


def measure(base: conf.Base, topics: list[series.Topic], pairs: int,
            region_mb: int) -> list[dict[str, Any]]:
    """Run each primitive `pairs` times, base and queue in turn; the runs of a record."""
    here = [one for one in PRIMITIVES if one.arch == platform.machine()]
    if not here:
        raise Failure(Status.USAGE, f"no primitive of {platform.machine()} is timed; there are "
                      "those of " + ", ".join(sorted({one.arch for one in PRIMITIVES})),
                      "run it on such a machine")
    commits = states.commits(base, topics)
    chunks = [str(chunk) for chunk in CHUNKS if chunk <= region_mb << 20]
    found: list[dict[str, Any]] = []
    begun, total = time.monotonic(), sum(len(one.variants) for one in here) * pairs * 2
    done = 0
    for one in here:
        for number, variant in enumerate(one.variants):
            programs = {state: build(base, one, number, state, commits[state])
                        for state in STATES}
            name = f"{one.program.removesuffix('.c')}.{variant}"
            command = command_line(["program", name, "page|range", str(region_mb), *chunks])
            runs = {state: {"arch": one.arch, "state": state, "part": "primitive", "run": 1,
                            "command": command, "lines": []} for state in STATES}
            found += runs.values()
            for pair in range(pairs):
                # Which comes first changes, so that neither gains by it.
                order = STATES if pair % 2 == 0 else STATES[::-1]
                first = "page" if pair // 2 % 2 == 0 else "range"
                for state in order:
                    argv = [str(programs[state]), name, first, str(region_mb), *chunks]
                    progress.show(f"{done} of {total} runs, {name}, pair {pair + 1} of {pairs}, "
                                  f"{duration(time.monotonic() - begun)}")
                    said = run(argv, status=Status.TEST).stdout.splitlines()
                    runs[state]["lines"] += [line for line in said if LINE.search(line)]
                    done += 1
    note(f"{done} runs in {duration(time.monotonic() - begun)} min")
    return found
