# SPDX-License-Identifier: GPL-2.0-only
"""What is missing on this machine, and how Debian has it.

The machine's own sources are left as they are: what is not in them is fetched
with a list of sources, and a folder of package lists, private to the build.
"""
from __future__ import annotations

import glob
import os
import shutil
from pathlib import Path

from . import conf
from .cli import Failure, Status, note, run

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def has(probe: str) -> bool:
    """Whether a command is on PATH, or a file is there."""
    return bool(glob.glob(probe)) if probe.startswith("/") else bool(shutil.which(probe))


def missing(jobs: list[str]) -> list[str]:
    """The packages that `jobs` (tables of configs/packages.toml) still need."""
    wanted: dict[str, None] = {}
    for job in jobs:
        for probe, package in conf.packages().get(job, {}).items():
            if not has(probe):
                wanted[package] = None
    return list(wanted)


def install(jobs: list[str], dry_run: bool = False) -> None:
    """Install what `jobs` need from the machine's own sources, and only that."""
    wanted = missing(jobs)
    if not wanted:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *wanted]
    by_hand = "as root: apt-get update && " + " ".join(command)
    if dry_run:
        note(f"would install ({by_hand})")
        return
    if not shutil.which("apt-get"):
        raise Failure(Status.MISSING, "this machine lacks what Debian has in the packages "
                      + " ".join(wanted), "install them by this system's own means")
    if os.geteuid() != 0:
        raise Failure(Status.MISSING, f"not installed: {' '.join(wanted)}", by_hand)
    note(f"installing {' '.join(wanted)}")
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update"], env=env)
    run(command, env=env)
    if still := missing(jobs):
        raise Failure(Status.MISSING, f"still not there after the install: {' '.join(still)}")


def mirror() -> str:
    """Address of the Debian archive that this machine's own sources use."""
    if not shutil.which("apt-get"):
        raise Failure(Status.MISSING, "apt-get is not on this machine")
    listing = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)",
               "Created-By: Packages"]
    for attempt in range(2):
        for line in run(listing).stdout.splitlines():
            origin, _, rest = line.partition(" ")
            codename, _, address = rest.partition(" ")
            if origin == "Debian" and "security" not in codename + address:
                return address
        if attempt == 0 and os.geteuid() == 0:
            run(["apt-get", "update"])
    raise Failure(Status.MISSING, "the machine's apt sources name no Debian archive",
                  "run `apt-get update` as root once")


class PrivateSources:
    """apt with a source list of its own.

    `folder` keeps the lists; `suites` are added to nothing but themselves;
    with `source` the suites' source packages are listed, else binary ones, of
    `architecture` or the machine's own.
    """

    def __init__(self, folder: Path, suites: list[str], source: bool = False,
                 architecture: str = "") -> None:
        self.folder = folder
        (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
        (folder / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
        signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
        address = mirror()
        (folder / "sources.list").write_text("".join(
            f"{'deb-src' if source else 'deb'} {signed}{address} {suite} main\n"
            for suite in suites))
        self.options = [
            "-o", f"Dir::Etc::SourceList={folder}/sources.list",
            "-o", "Dir::Etc::SourceParts=/dev/null",
            "-o", f"Dir::State::Lists={folder}/lists",
            "-o", f"Dir::Cache={folder}/cache",
            # apt drops to a user that cannot write below the build folder.
            "-o", "APT::Sandbox::User=root",
        ]
        if architecture:
            self.options += ["-o", f"APT::Architecture={architecture}",
                             "-o", f"APT::Architectures={architecture}"]
        run(["apt-get", *self.options, "-o", "APT::Update::Error-Mode=any", "update"])

    def run(self, *words: str | Path, cwd: Path | None = None):
        return run(["apt-get", *self.options, *words], cwd=cwd)


def unpack(packages: list[str], folder: Path, suite: str, architecture: str = "",
           own: bool = True) -> list[Path]:
    """Download packages into `folder` and unpack them as folder/x; return the .deb files.

    They come from the machine's own sources where these have the first of them,
    else from `suite`, as they do for another `architecture` or without `own`.
    Nothing is installed.
    """
    if own and not architecture and candidate(packages[0]):
        run(["apt-get", "-o", "APT::Sandbox::User=root", "download", *packages], cwd=folder)
    else:
        PrivateSources(folder / "apt", [suite], architecture=architecture).run(
            "download", *packages, cwd=folder)
    debs = sorted(folder.glob("*.deb"))
    for deb in debs:
        run(["dpkg-deb", "-x", deb, folder / "x"], status=Status.MISSING)
    return debs


def candidate(package: str) -> str:
    """The version of `package` that the machine's own sources have, or ""."""
    for line in run(["apt-cache", "policy", package]).stdout.splitlines():
        name, _, value = line.strip().partition(": ")
        if name == "Candidate" and value != "(none)":
            return value
    return ""
