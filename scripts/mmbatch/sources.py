# SPDX-License-Identifier: GPL-2.0-only
"""Where the tarball of a base comes from: the cache, kernel.org, Debian.

The cache holds whole files only: one is made under another name, checked, and
then renamed, together with its SHA-256.
"""
from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from . import conf, debian
from .cli import Failure, Status, note, progress

TIMEOUT = 20            # seconds without a byte
SUMS = "sha256sums.asc"


def cache() -> Path:
    """Folder of the tarballs, shared by all clones of this user."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "mm-batch"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def keep(part: Path, name: str) -> Path:
    """Move a finished file into the cache as `name`."""
    final = cache() / name
    (cache() / f"{name}.sha256").write_text(sha256(part) + "\n")
    os.replace(part, final)
    return final


def whole(path: Path) -> bool:
    """Whether a file of the cache is what was put there."""
    sums = path.with_name(path.name + ".sha256")
    return path.exists() and sums.exists() and sums.read_text().strip() == sha256(path)


def release(name: str) -> tuple[int, ...]:
    """linux-6.12.117.tar.xz -> (6, 12, 117), for sorting."""
    return tuple(map(int, re.findall(r"\d+", name.removesuffix(".tar.xz").split("+")[0])))


def from_cache(base: conf.Base) -> Path:
    name = re.compile(rf"linux-{re.escape(base.version)}(\.\d+)?(\+debian)?\.tar\.xz")
    found = sorted((path for path in cache().iterdir() if name.fullmatch(path.name)),
                   key=lambda path: release(path.name), reverse=True)
    for path in found:
        if whole(path):
            return path
        note(f"{path} is not what was put there: fetched again")
        path.unlink()
    raise Failure(Status.MISSING, f"nothing for {base.name} in {cache()}")


def newest(sums: str, version: str) -> tuple[str, str]:
    """Name and SHA-256 of the newest release of `version` in a sha256sums.asc."""
    names = re.findall(rf"^([0-9a-f]{{64}})  (linux-{re.escape(version)}(?:\.\d+)?\.tar\.xz)$",
                       sums, re.MULTILINE)
    if not names:
        raise Failure(Status.MISSING, f"{SUMS} lists no release of {version}")
    digest, name = max(names, key=lambda item: release(item[1]))
    return name, digest


def from_kernel_org(base: conf.Base) -> Path:
    """Fetch the newest release; what an earlier try left is gone on with."""
    try:
        with urllib.request.urlopen(base.tarballs + SUMS, timeout=TIMEOUT) as answer:
            name, digest = newest(answer.read().decode(errors="replace"), base.version)
        part = cache() / f"{name}.part"
        have = part.stat().st_size if part.exists() else 0
        request = urllib.request.Request(base.tarballs + name)
        if have:
            request.add_header("Range", f"bytes={have}-")
        try:
            answer = urllib.request.urlopen(request, timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            if error.code != 416:       # the part is all there is
                raise
        else:
            resumed = answer.status == 206
            have = have if resumed else 0
            total = have + int(answer.headers.get("Content-Length") or 0)
            with answer, open(part, "ab" if resumed else "wb") as file:
                while block := answer.read(1 << 20):
                    file.write(block)
                    have += len(block)
                    progress.show(f"{name}: {have >> 20} of {total >> 20} MB")
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise Failure(Status.MISSING, f"{base.tarballs}: {reason}") from error
    if sha256(part) != digest:
        part.unlink()
        raise Failure(Status.MISSING, f"{base.tarballs}{name}: does not have the "
                      f"SHA-256 that {SUMS} gives; dropped")
    return keep(part, name)


def from_debian(base: conf.Base) -> Path:
    """Take the tarball out of Debian's source package, without installing it."""
    package, suite = base.debian["package"], base.debian["suite"]
    with tempfile.TemporaryDirectory(dir=cache(), prefix=".debian-") as temporary:
        folder = Path(temporary)
        if not shutil.which("apt-get"):
            raise Failure(Status.MISSING, "apt-get is not on this machine")
        note(f"fetching {package} from Debian")
        [deb] = debian.unpack([package], folder, suite)
        tarball = next(folder.glob("x/usr/src/linux-source-*.tar.xz"))
        version = deb.name.split("_")[1].split("-")[0]
        return keep(tarball, f"linux-{version}+debian.tar.xz")


SOURCES = {"the cache": from_cache, "kernel.org": from_kernel_org, "Debian": from_debian}


def tarball(base: conf.Base) -> Path:
    """The tarball of `base` from the first source that has it."""
    tried = []
    for name, source in SOURCES.items():
        try:
            return source(base)
        except Failure as failure:
            if failure.status is Status.SPACE:
                raise
            tried.append(f"  {name}: {failure.message}")
    raise Failure(Status.MISSING, f"no source of {base.name} answers:\n" + "\n".join(tried),
                  "give a git tree or a tarball of your own: scripts/setup --tree PATH")
