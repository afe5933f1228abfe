# SPDX-License-Identifier: GPL-2.0-only
"""The user space of a guest: an initramfs, and the programs in it.

All of them are static. A program is made anew only where what goes into it has
changed.
"""
from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from .. import conf, debian, kernel
from ..cli import Failure, Status, run

SOURCES = conf.ROOT / "bench/user"
FOLDER = conf.BUILD / "bench/user"
SUITE = "stable"        # of Debian, for a busybox of another architecture
DEBIAN_ARCH = {"x86_64": "amd64", "arm64": "arm64"}
CFLAGS = ["-O2", "-Wall", "-Wextra", "-static"]


def program(arch: conf.Arch, name: str) -> Path:
    """Debian's static busybox or bash for `arch`, taken out of its package."""
    target = FOLDER / arch.name / name
    if target.exists():
        return target
    package = f"{name}-static"
    if not shutil.which("apt-get"):
        raise Failure(Status.MISSING, f"{name} is taken from Debian, and there is no apt-get",
                      f"put a static {name} for {arch.name} there as {target}")
    work = target.with_name(f".{name}.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    debian.unpack([package], work, SUITE, DEBIAN_ARCH[arch.name] if kernel.cross(arch) else "")
    found = next(path for folder in ("bin", "usr/bin") for path in
                 (work / "x" / folder / name, work / "x" / folder / package) if path.exists())
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


def make(gen_init_cpio: Path, target: Path, init: Path, files: dict[str, Path]) -> Path:
    """An initramfs with /init and `files`, written by a tree's own gen_init_cpio."""
    files = {"/init": init, **files}
    folders = {parent for name in files for parent in Path(name).parents} - {Path("/")}
    lines = [*(f"dir {name} 0755 0 0" for name in
               ("/dev", "/proc", "/sys", "/tmp", *sorted(map(str, folders)))),
             "nod /dev/console 0600 0 0 c 5 1",
             *(f"file {name} {path} 0755 0 0" for name, path in files.items())]
    part = target.with_name(f".{target.name}.part")
    listing = target.with_suffix(".list")
    listing.write_text("\n".join(lines) + "\n")
    # One date for all files: the same content, the same archive.
    archive = run([gen_init_cpio, "-t", "0", listing], text=False, status=Status.BUILD).stdout
    part.write_bytes(archive)
    os.replace(part, target)
    return target
