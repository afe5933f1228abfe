# SPDX-License-Identifier: GPL-2.0-only
"""The suites as plain files: kunit/ shows what the queues put below mm/tests/.

A file stands in kunit/mm/tests/ as the first base that has it has it. Where
another base has other bytes, they stand in kunit/BASE/mm/tests/.
"""
from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Iterable

from . import conf, series
from .cli import Failure, Status, run


def of_queue(base: conf.Base) -> dict[str, bytes]:
    """What the patches of a queue put below mm/tests/, with no tree at hand."""
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary)
        run(["git", "-C", made, "init", "--quiet"])
        for topic in series.read(base):
            for patch in topic.patches:
                if not any(path.startswith(conf.SUITE_PREFIX)
                           for path in series.touched([patch])):
                    continue
                done = run(["git", "-C", made, "apply", f"--include={conf.SUITE_PREFIX}*", patch],
                           check=False)
                if done.returncode:
                    raise Failure(Status.QUEUE, f"{patch}: does not apply on the ones before it: "
                                  f"{done.stderr.strip()}")
        return {str(path.relative_to(made)): path.read_bytes() for path in files(made)}


def files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / conf.SUITE_PREFIX).rglob("*") if path.is_file())


def wanted(bases: Iterable[conf.Base]) -> dict[str, bytes]:
    """What kunit/ has to hold: path -> content."""
    found: dict[str, bytes] = {}
    for base in bases:
        for name, content in of_queue(base).items():
            if found.setdefault(name, content) != content:
                found[f"{base.name}/{name}"] = content
    return found


def shown(kunit: Path) -> dict[str, bytes]:
    """What kunit/ holds."""
    return {str(path.relative_to(kunit)): path.read_bytes()
            for folder in [kunit, *(kunit / name for name in conf.bases())]
            for path in files(folder)}
