# SPDX-License-Identifier: GPL-2.0-only
"""The machine of a boot that is not the plain one: another QEMU, processor or start."""
from __future__ import annotations

import dataclasses
import functools
import re
import shutil
from pathlib import Path

from . import conf, debian, kernel, tree
from .cli import Failure, Status, note, run

# Where an arm64 image may be loaded: Documentation/arch/arm64/booting.rst
FRONT_SIZE = 2 << 20
IMAGE_SIZE = slice(16, 24)      # in the header of an arm64 image
QEMU_PACKAGES = {"qemu-system-aarch64": "qemu-system-arm"}


def of(build: kernel.Build, boot: conf.Boot, accel: str,
       folder: Path) -> tuple[conf.Arch, Path, str]:
    """Architecture, image and accelerator that boot a kernel as `boot` wants it.

    What has to be made goes to `folder`. Raises Failure with Status.MISSING
    where no QEMU will do.
    """
    arch, image = build.arch, build.image
    if boot.qemu:
        arch = dataclasses.replace(arch, qemu=str(qemu(arch.qemu, **boot.qemu)))
    arch = dataclasses.replace(arch, args=(*arch.args, *boot.machine))
    if boot.front:
        image = with_front(build, conf.ROOT / boot.front, folder / "Image")
    return arch, image, "tcg" if boot.qemu or boot.machine else accel


def with_front(build: kernel.Build, source: Path, target: Path) -> Path:
    """Write an arm64 kernel with an assembled `source` in front of it to `target`."""
    plain = build.image.with_name("Image").read_bytes()
    size = int.from_bytes(plain[IMAGE_SIZE], "little") + FRONT_SIZE
    compiled = target.with_suffix(".o")
    run([f"{build.cross()}gcc", "-c", f"-DIMAGE_SIZE={size}", f"-DSIZE={FRONT_SIZE}", source,
         "-o", compiled], status=Status.BUILD)
    run([f"{build.cross()}objcopy", "-O", "binary", compiled, target], status=Status.BUILD)
    target.write_bytes(target.read_bytes().ljust(FRONT_SIZE, b"\0") + plain)
    return target


@functools.cache
def version(program: str | Path) -> int:
    """Major version of an emulator; 0 where it does not run."""
    if not shutil.which(program):
        return 0
    match = re.search(r"version (\d+)", run([program, "--version"], check=False).stdout)
    return int(match[1]) if match else 0


def qemu(name: str, least: int, suite: str) -> Path:
    """An emulator of major version `least` or newer: the system's, or that of a Debian suite.

    The latter is unpacked below the build folder; nothing is installed.
    """
    if version(name) >= least:
        return Path(name)
    folder = conf.BUILD / "tools" / f"{name}-{suite}"
    program = folder / "usr/bin" / name
    with tree.lock(folder.name):
        if not program.exists():
            note(f"fetching {name} of {suite} from Debian")
            work = folder.with_name(f".{folder.name}.part")
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            debian.unpack([QEMU_PACKAGES.get(name, name), "qemu-system-common",
                           "qemu-system-data"], work, suite, own=False)
            (work / "x").rename(folder)
            shutil.rmtree(work)
    if (found := version(program)) < least:
        raise Failure(Status.MISSING, f"{name} {least} or newer is not installed, and that of "
                      f"{suite} does not run here" + (f" (version {found})" if found else ""))
    return program
