# SPDX-License-Identifier: GPL-2.0-only
"""The user space of a guest: busybox, mmbench, and the tree's perf where it can.

Everything in it is static. A program is made anew only where what goes into it
has changed.
"""
from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from .. import conf, debian, kernel, tree
from ..cli import Failure, Status, note, progress, run
from .guest import Kernel

SOURCES = conf.ROOT / "bench/user"
FOLDER = conf.BUILD / "bench/user"
SUITE = "stable"        # of Debian, for a busybox of another architecture
DEBIAN_ARCH = {"x86_64": "amd64", "arm64": "arm64"}
CFLAGS = ["-O2", "-Wall", "-Wextra", "-static"]
# Without what `perf bench mem` has no use for, so without most libraries.
PERF = ["NO_LIBELF=1", "NO_LIBTRACEEVENT=1", "NO_JEVENTS=1", "NO_LIBPYTHON=1", "NO_LIBPERL=1",
        "NO_SLANG=1", "NO_GTK2=1", "NO_LIBNUMA=1", "NO_LIBBPF=1", "NO_LIBUNWIND=1",
        "NO_LIBCRYPTO=1", "NO_LIBZSTD=1", "NO_LZMA=1", "NO_ZLIB=1", "NO_LIBCAP=1",
        "NO_SDT=1", "NO_JVMTI=1", "NO_DEMANGLE=1", "NO_LIBDW=1", "NO_LIBPFM4=1",
        "NO_CAPSTONE=1", "NO_LIBLLVM=1", "NO_RUST=1", "BUILD_BPF_SKEL=0", "WERROR=0",
        "NO_AUXTRACE=1", "LDFLAGS=-static"]


def busybox(arch: conf.Arch) -> Path:
    """Debian's static busybox for `arch`, taken out of its package."""
    target = FOLDER / arch.name / "busybox"
    if target.exists():
        return target
    if not shutil.which("apt-get"):
        raise Failure(Status.MISSING, "busybox is taken from Debian, and there is no apt-get",
                      f"put a static busybox for {arch.name} there as {target}")
    work = target.with_name(".busybox.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    debian.unpack(["busybox-static"], work, SUITE,
                  DEBIAN_ARCH[arch.name] if kernel.cross(arch) else "")
    found = next(path for path in (work / "x/bin/busybox", work / "x/usr/bin/busybox")
                 if path.exists())
    os.replace(found, target)
    shutil.rmtree(work)
    return target


def place(arch: conf.Arch, name: str, *inputs: str) -> Path:
    """Where the file `name` that is made of `inputs` is kept; if not there, no other is."""
    digest = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:20]
    target = FOLDER / arch.name / f"{name}-{digest}"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        for old in target.parent.glob(f"{name}-*"):
            old.unlink()
    return target


def compiler(arch: conf.Arch) -> str:
    return run([f"{kernel.cross(arch)}gcc", "--version"]).stdout


def mmbench(arch: conf.Arch) -> Path:
    source = SOURCES / "mmbench.c"
    target = place(arch, "mmbench", compiler(arch), *CFLAGS, source.read_text())
    if not target.exists():
        part = target.with_name(".mmbench.part")
        run([f"{kernel.cross(arch)}gcc", *CFLAGS, "-o", part, source], status=Status.BUILD)
        os.replace(part, target)
    return target


def perf(base: conf.Base, arch: conf.Arch, commit: str) -> Path | None:
    """The perf of the tree at `commit`, or None where it has no `bench mem mmap`.

    Built of a copy of tools/, so that no file of the tree changes.
    """
    source = tree.git(base.tree, "show", f"{commit}:tools/perf/bench/mem-functions.c",
                      check=False)
    if "bench_mem_mmap" not in source:
        return None
    # perf looks beyond tools/ for headers and tables.
    parts = ["tools", "include/linux", "include/uapi", "arch", "scripts", "Makefile"]
    contents = tree.git(base.tree, "rev-parse", *(f"{commit}:{part}" for part in parts))
    target = place(arch, "perf", compiler(arch), *PERF, contents)
    if target.exists():
        return target
    work = FOLDER / f".perf-{arch.name}.part"
    shutil.rmtree(work, ignore_errors=True)
    (work / "out").mkdir(parents=True)
    note(f"{base.name} {arch.name}: building perf")
    archive = run(["git", "-C", base.tree, "archive", commit, *parts], text=False).stdout
    run(["tar", "-x", "-C", work], stdin=archive, status=Status.BUILD, text=False)
    progress.show(f"{arch.name}: building perf")
    kernel_arch = {"x86_64": "x86"}.get(arch.name, arch.name)
    done = run(["make", "-C", work / "tools/perf", f"-j{kernel.jobs()}", f"O={work / 'out'}",
                f"ARCH={kernel_arch}", f"CROSS_COMPILE={kernel.cross(arch)}", *PERF, "perf"],
               env=kernel.environment(), check=False)
    made = work / "out/perf"
    if not made.exists():
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise Failure(Status.BUILD, f"{arch.name}: perf did not build:\n{tail}",
                      "--no-perf leaves it out")
    run([f"{kernel.cross(arch)}strip", made])
    os.replace(made, target)
    shutil.rmtree(work)
    return target


def make(one: Kernel, with_perf: Path | None) -> Path:
    """The initramfs for a kernel, written by its tree's own gen_init_cpio."""
    files = {"/init": SOURCES / "init", "/bin/busybox": busybox(one.arch),
             "/bin/mmbench": mmbench(one.arch)}
    if with_perf:
        files["/bin/perf"] = with_perf
    lines = [*(f"dir {name} 0755 0 0" for name in ("/dev", "/proc", "/sys", "/bin", "/tmp")),
             "nod /dev/console 0600 0 0 c 5 1",
             *(f"file {name} {path} 0755 0 0" for name, path in files.items())]
    target = FOLDER / one.arch.name / ("perf.cpio" if with_perf else "plain.cpio")
    part = target.with_name(f".{target.name}.part")
    listing = target.with_name("cpio.list")
    listing.write_text("\n".join(lines) + "\n")
    # One date for all files: the same content, the same archive.
    archive = run([one.cpio, "-t", "0", listing], text=False, status=Status.BUILD).stdout
    part.write_bytes(archive)
    os.replace(part, target)
    return target
