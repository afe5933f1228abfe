# SPDX-License-Identifier: GPL-2.0-only
"""The TOML files, and where things are."""
from __future__ import annotations

import fnmatch
import functools
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .cli import Failure, Status

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
SUITE_PREFIX = "mm/tests/"
DEFAULT_BASE = "v7.3"


@dataclass(frozen=True)
class Base:
    """A kernel version that a queue is for; a table of configs/bases.toml."""
    name: str
    version: str
    queue: Path
    series: Path
    arches: tuple[str, ...]
    tarballs: str
    debian: dict[str, str]
    slow: tuple[str, ...] = ()

    @property
    def branch(self) -> str:
        """Name of the branch that scripts/queue applies to."""
        return f"mm-batch/{self.name}"

    @property
    def tree(self) -> Path:
        """The imported tree."""
        return BUILD / "trees" / self.name


@dataclass(frozen=True)
class Arch:
    """How one architecture is built and booted; a table of configs/arches.toml."""
    name: str
    kunit: str
    host: tuple[str, ...]
    image: str
    console: str
    args: tuple[str, ...]
    cross: str = ""
    qemu: str = ""


@dataclass(frozen=True)
class Boot:
    """A boot of one suite beside the plain one; `boots` of kunit/suites.toml."""
    name: str
    arches: tuple[str, ...]
    says: str                   # a regular expression
    bases: tuple[str, ...] = ()     # none: every base
    needs: dict[str, str] = field(default_factory=dict)     # base -> topic
    args: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    qemu: dict[str, Any] = field(default_factory=dict)
    front: str = ""


@dataclass(frozen=True)
class Suite:
    """A KUnit suite; a table of kunit/suites.toml."""
    name: str
    symbol: str
    topic: str
    cases: dict[str, dict[str, int]]            # base -> arch -> number
    added: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)   # base -> topic ->
    skips: tuple[dict[str, Any], ...] = ()
    boots: tuple[Boot, ...] = ()
    benchmark: bool = False     # for scripts/bench; scripts/verify leaves it out

    def on(self, base: str, arch: str) -> bool:
        """Whether the queue of `base` has the suite, and `arch` cases of it."""
        return arch in self.cases.get(base, {})

    def least(self, base: str, arch: str, topics: list[str]) -> int:
        """Least number of cases that must run with these topics applied."""
        return self.cases[base].get(arch, 0) + sum(
            cases.get(arch, 0) for topic, cases in self.added.get(base, {}).items()
            if topic in topics)

    def boots_on(self, base: str, arch: str, topics: list[str]) -> list[Boot]:
        """The boots of the suite on `arch`, with these topics applied to `base`."""
        return [boot for boot in self.boots
                if arch in boot.arches and (not boot.bases or base in boot.bases)
                and boot.needs.get(base, self.topic) in topics]

    def may_skip(self, arch: str, case: str) -> bool:
        return any(fnmatch.fnmatchcase(case, skip["case"]) and arch in skip["arches"]
                   for skip in self.skips)


def load(path: Path) -> dict[str, Any]:
    """A TOML file of this repository."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise Failure(Status.USAGE, f"{path}: {error}") from error


def _tables(path: Path, kind):
    """Each table of `path` as a `kind`, lists as tuples, in the file's order."""
    found = {}
    for name, table in load(path).items():
        table = {key: tuple(value) if isinstance(value, list) else value
                 for key, value in table.items()}
        try:
            found[name] = kind(name=name, **table)
        except TypeError as error:
            raise Failure(Status.USAGE, f"{path}: [{name}]: {error}") from error
    return found


@functools.cache
def bases(root: Path = ROOT) -> dict[str, Base]:
    return _tables(root / "configs/bases.toml", lambda queue, series, **rest: Base(
        queue=root / queue, series=root / series, **rest))


@functools.cache
def arches(root: Path = ROOT) -> dict[str, Arch]:
    return _tables(root / "configs/arches.toml", Arch)


@functools.cache
def suites(root: Path = ROOT) -> dict[str, Suite]:
    return _tables(root / "kunit/suites.toml", lambda boots=(), **rest: Suite(
        boots=tuple(Boot(**boot) for boot in boots), **rest))


@functools.cache
def packages(root: Path = ROOT) -> dict[str, dict[str, str]]:
    return load(root / "configs/packages.toml")


def base_named(name: str) -> Base:
    if name not in bases():
        raise Failure(Status.USAGE, f"no base {name!r}; there are: {', '.join(bases())}")
    return bases()[name]


def queued_bases() -> list[Base]:
    """The bases that have a queue."""
    return [base for base in bases().values() if base.series.exists()]
