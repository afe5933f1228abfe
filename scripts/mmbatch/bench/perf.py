# SPDX-License-Identifier: GPL-2.0-only
"""The tree's perf: static, and without what `perf bench mem` has no use for.

It is built of a copy of the tree's tools/, so that no file of the tree changes,
and runs in a VM only.
"""
from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Iterable

from .. import conf, kernel, tree
from ..cli import Failure, Status, note, progress, run
from . import user

SOURCE = "tools/perf/bench/mem-functions.c"
TESTS = "tools/perf/tests/shell"
# perf looks beyond tools/ for headers and tables.
PARTS = ["tools", "include/linux", "include/uapi", "arch", "scripts", "Makefile"]
# So without most libraries.
FLAGS = ["NO_LIBELF=1", "NO_LIBTRACEEVENT=1", "NO_JEVENTS=1", "NO_LIBPYTHON=1", "NO_LIBPERL=1",
         "NO_SLANG=1", "NO_GTK2=1", "NO_LIBNUMA=1", "NO_LIBBPF=1", "NO_LIBUNWIND=1",
         "NO_LIBCRYPTO=1", "NO_LIBZSTD=1", "NO_LZMA=1", "NO_ZLIB=1", "NO_LIBCAP=1",
         "NO_SDT=1", "NO_JVMTI=1", "NO_DEMANGLE=1", "NO_LIBDW=1", "NO_LIBPFM4=1",
         "NO_CAPSTONE=1", "NO_LIBLLVM=1", "NO_RUST=1", "BUILD_BPF_SKEL=0", "WERROR=0",
         "NO_AUXTRACE=1", "LDFLAGS=-static"]


def unpack(base: conf.Base, commit: str, folder: Path, names: Iterable[str] = PARTS) -> None:
    """Write `names` as they are at `commit` into `folder`, all of them as new files."""
    archive = run(["git", "-C", base.tree, "archive", commit, *names], text=False).stdout
    run(["tar", "-x", "-m", "-C", folder], stdin=archive, status=Status.BUILD, text=False)


def make(arch: conf.Arch, folder: Path) -> str:
    """Build perf in `folder`/out of what was unpacked there; what make says."""
    (folder / "out").mkdir(exist_ok=True)
    kernel_arch = {"x86_64": "x86"}.get(arch.name, arch.name)
    done = run(["make", "-C", folder / "tools/perf", f"-j{kernel.jobs()}", f"O={folder / 'out'}",
                f"ARCH={kernel_arch}", f"CROSS_COMPILE={kernel.cross(arch)}", *FLAGS, "perf"],
               env=kernel.environment(), check=False)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise Failure(Status.BUILD, f"{arch.name}: perf did not build:\n{tail}",
                      "--no-perf of scripts/bench leaves it out")
    return done.stdout + done.stderr


def build(base: conf.Base, arch: conf.Arch, commit: str) -> Path | None:
    """The perf of the tree at `commit`, or None where it has no `bench mem mmap`."""
    if "bench_mem_mmap" not in tree.git(base.tree, "show", f"{commit}:{SOURCE}", check=False):
        return None
    contents = tree.git(base.tree, "rev-parse", *(f"{commit}:{part}" for part in PARTS))
    target = user.place(arch, f"perf-{base.name}", user.compiler(arch), *FLAGS, contents)
    if target.exists():
        return target
    work = user.FOLDER / f".perf-{arch.name}.part"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    note(f"{base.name} {arch.name}: building perf")
    unpack(base, commit, work)
    progress.show(f"{arch.name}: building perf")
    make(arch, work)
    run([f"{kernel.cross(arch)}strip", work / "out/perf"])
    os.replace(work / "out/perf", target)
    shutil.rmtree(work)
    return target
