# SPDX-License-Identifier: GPL-2.0-only
"""Whether what was counted is worse than base, or than what is kept."""
from __future__ import annotations

import fnmatch
from typing import Any, Iterator

from .. import conf
from ..cli import Failure, Status
from . import record

LISTED = conf.ROOT / "bench/worse.toml"


def listed(base: str, arch: str, workload: str) -> str:
    """The reason why a workload may be worse than base, or ""."""
    for entry in conf.load(LISTED).get("worse", []):
        if base == entry["base"] and arch in entry["arches"] \
                and fnmatch.fnmatchcase(workload, entry["workload"]):
            return entry["reason"]
    return ""


def unlisted(made: dict[str, Any]) -> Iterator[str]:
    """Workloads that are worse than base by more than the limit, without a reason given."""
    for row in made["results"]:
        if row["change_percent"] > record.WORSE_PERCENT \
                and not listed(made["base"], row["arch"], row["workload"]):
            yield (f"{row['arch']} {row['workload']}: {row['change_percent']:+.2f} % against base "
                   f"({row['base']} -> {row['queue']}); {LISTED.name} gives no reason")


def kept(made: dict[str, Any]) -> dict[str, Any]:
    """The record of the repository that `made` is to be compared with."""
    path = record.path_of(made)
    if not path.exists():
        raise Failure(Status.USAGE, f"nothing to compare with: {path} is not there",
                      "scripts/bench --keep, with the same options, makes it")
    return record.read(path)


def compare(made: dict[str, Any], kept: dict[str, Any]) -> Iterator[str]:
    """What got worse than the record that is kept, by more than the limit.

    The change against base is compared: it hardly depends on the compiler. With
    the same compiler, configuration and base, the count is compared as well.
    """
    now = {(row["arch"], row["workload"]): row for row in made["results"]}
    arches = {row["arch"] for row in made["results"]}
    for row in kept["results"]:
        name = row["arch"], row["workload"]
        if row["arch"] not in arches:
            continue
        if name not in now:
            yield f"{' '.join(name)}: is kept, but was not measured"
            continue
        new = now[name]
        if new["change_percent"] > row["change_percent"] + record.WORSE_PERCENT:
            yield (f"{' '.join(name)}: {new['change_percent']:+.2f} % against base, "
                   f"{row['change_percent']:+.2f} % is kept")
        same = kept["tools"][row["arch"]] == made["tools"][row["arch"]] \
            and kept["base_tree"] == made["base_tree"]
        growth = record.percent(new["queue"], row["queue"])
        if same and growth > record.WORSE_PERCENT:
            yield (f"{' '.join(name)}: {new['queue']} instructions, {growth:+.2f} % against "
                   f"the {row['queue']} that are kept")
