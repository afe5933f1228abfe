# SPDX-License-Identifier: GPL-2.0-only
"""The record of a benchmark: raw lines, what follows from them, and its JSON.

A record holds `runs`, each with the lines that a kernel or a program printed,
and `results`, which follow from the lines alone: derive() makes them, and
scripts/check makes them again.

A line of a workload is `bench: NAME key=value ...`, see mm_bench_kunit.c.
"""
from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any, Iterator

from .. import conf

RESULTS = conf.ROOT / "Documentation/results"
LINE = re.compile(r"\bbench: (\S+)((?: \w+=-?\d+)+)\s*$")
STATES = ("base", "queue")
EVENTS = ("faults", "splits", "flushes")
TIMES = ("kvm", "timed")        # kinds that tell of the processor they ran on
SPREAD_PPM = 1.0        # between two runs that count the same instructions
WORSE_PERCENT = 0.5     # more than this is worse


def parse(line: str) -> tuple[str, dict[str, int]] | None:
    """Name and values of a line, or None if it is no workload's."""
    if not (match := LINE.search(line)):
        return None
    pairs = (word.split("=") for word in match[2].split())
    return match[1], {key: int(value) for key, value in pairs}


def values(runs: list[dict], key: str) -> dict[tuple[str, str], dict[str, list[int]]]:
    """(arch, workload) -> state -> the values of `key`, one a run."""
    found: dict = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for line in run["lines"]:
            if (parsed := parse(line)) and key in parsed[1]:
                found[run["arch"], parsed[0]][run["state"]].append(parsed[1][key])
    return found


def percent(new: float, old: float) -> float:
    return round((new / old - 1) * 100, 3)


def counted(runs: list[dict]) -> list[dict[str, Any]]:
    """Instructions of each workload, the change, and the spread of the runs.

    Where there are page faults, also the change of a single one.
    """
    faults = values(runs, "faults")
    rows = []
    for (arch, workload), states in values(runs, "ns").items():
        if set(states) != set(STATES):
            continue
        base, queue = (min(states[state]) for state in STATES)
        rows.append({"arch": arch, "workload": workload, "base": base, "queue": queue,
                     "change_percent": percent(queue, base), "spread_ppm": max(
                         round((max(v) / min(v) - 1) * 1e6, 3) for v in states.values())})
        if count := faults.get((arch, workload), {}).get("queue", [0])[0]:
            rows[-1]["per_fault"] = round((queue - base) / count, 1)
    return rows


def events(runs: list[dict]) -> list[dict[str, Any]]:
    """Faults, splits and flushes of each workload, base and queue."""
    by_event = {event: values(runs, event) for event in EVENTS}
    rows = []
    for (arch, workload), states in by_event["faults"].items():
        row: dict[str, Any] = {"arch": arch, "workload": workload}
        for event in EVENTS:
            found = by_event[event].get((arch, workload))
            if found and set(found) == set(STATES):
                row[event] = {state: found[state][0] for state in STATES}
        rows.append(row)
    return rows


def kvm(runs: list[dict]) -> list[dict[str, Any]]:
    """Time in the guest: the median of the ratios of runs made in turn."""
    rows = []
    for (arch, workload), states in values(runs, "ns").items():
        ratios = [queue / base for base, queue in zip(states["base"], states["queue"])]
        if ratios:
            rows.append({"arch": arch, "workload": workload, "pairs": len(ratios),
                         "base_ns": median(states["base"]), "queue_ns": median(states["queue"]),
                         **spread("ratio", ratios)})
    return rows


def timed(runs: list[dict]) -> list[dict[str, Any]]:
    """GB/s by page, by range and as for a fault, base and queue, and the ratios.

    A pair is one pass by page and one by range over the same memory; GB is
    10^9 bytes. "fault" is what each state's folio_zero_user() does; records from
    before that was measured lack it.
    """
    found: dict = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for line in run["lines"]:
            if parsed := parse(line):
                name, value = parsed
                found[run["arch"], name, value["chunk"]][run["state"]].append(value)
    rows = []
    for (arch, name, chunk), states in found.items():
        row: dict[str, Any] = {"arch": arch, "primitive": name, "chunk": chunk}
        for state in STATES:
            pairs = states[state]
            row[state] = {
                "pairs": len(pairs),
                "page_gbps": round(median(p["bytes"] / p["page_ns"] for p in pairs), 2),
                "range_gbps": round(median(p["bytes"] / p["range_ns"] for p in pairs), 2),
                **spread("range_to_page", [p["page_ns"] / p["range_ns"] for p in pairs])}
        both = list(zip(*(states[state] for state in STATES)))
        row |= spread("queue_range_to_base_page",
                      [base["page_ns"] / queue["range_ns"] for base, queue in both])
        if all("fault_ns" in p for pair in both for p in pair):
            for state in STATES:
                row[state]["fault_gbps"] = round(
                    median(p["bytes"] / p["fault_ns"] for p in states[state]), 2)
            row |= spread("fault", [base["fault_ns"] / queue["fault_ns"] for base, queue in both])
        rows.append(row)
    return rows


def spread(name: str, ratios: list[float]) -> dict[str, float]:
    return {name: round(median(ratios), 3), f"{name}_least": round(min(ratios), 3),
            f"{name}_most": round(max(ratios), 3)}


DERIVE = {"counted": counted, "events": events, "kvm": kvm, "timed": timed}


def derive(record: dict[str, Any]) -> list[dict[str, Any]]:
    return DERIVE[record["kind"]](record["runs"])


def name_of(record: dict[str, Any]) -> str:
    """Name of the file, without its folder and ending; a time is one processor's."""
    topics = [topic for topic in record["topics"] if topic != "kunit"]
    return "-".join([record["kind"], *(topics if record["narrowed"] else []),
                     *([slug(record["machine"]["processor"])] if record["kind"] in TIMES else []),
                     *(["quick"] if record["quick"] else [])])


def slug(processor: str) -> str:
    """A processor in the name of a file: intel-xeon, amd-epyc-family-26-model-2."""
    plain = re.sub(r"\((r|tm)\)|\bprocessor\b|\bcpu\b|@.*", " ", processor.lower())
    return "-".join(re.findall(r"[a-z0-9]+", plain))


def path_of(record: dict[str, Any]) -> Path:
    """Where the repository keeps a record."""
    return RESULTS / record["base"] / f"{name_of(record)}.json"


def write(record: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def kept() -> list[Path]:
    """The records of the repository."""
    return sorted(RESULTS.glob("*/*.json"))


def faults(record: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the benchmark itself, whatever it says of the kernels."""
    for key, states in values(record["runs"], "ns").items():
        name = "/".join(key)
        if set(states) != set(STATES):
            yield f"{name}: only {' and '.join(states)} ran it"
        elif len({len(runs) for runs in states.values()}) != 1:
            yield f"{name}: not as many runs of base as of queue"
    if record["kind"] == "counted":
        for row in record["results"]:
            if row["spread_ppm"] > SPREAD_PPM:
                yield (f"{row['arch']}/{row['workload']}: two runs of one kernel differ by "
                       f"{row['spread_ppm']} parts in a million, more than {SPREAD_PPM:g}")
    if not record["results"]:
        yield "nothing was measured"
