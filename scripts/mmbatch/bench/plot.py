# SPDX-License-Identifier: GPL-2.0-only
"""A record as a table in reStructuredText and as a plot, which gnuplot draws."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Sequence

from ..cli import Status, run
from .record import EVENTS, STATES

WIDTH = 820
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]     # told apart by the colour-blind


def size(count: int) -> str:
    """65536 -> 64 KB"""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024:
            break
        count //= 1024
    return f"{count} {unit}"


def simple_table(rows: list[list[str]]) -> str:
    """Rows, the first the head, as a simple table; all but the first column to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    rule = " ".join("=" * width for width in widths)
    lines = [" ".join(cell.ljust(width) if at == 0 else cell.rjust(width)
                      for at, (cell, width) in enumerate(zip(row, widths))).rstrip()
             for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


def table(record: dict[str, Any]) -> str:
    return TABLES[record["kind"]](record["results"])


def _arches(results: list[dict]) -> list[str]:
    return list(dict.fromkeys(row["arch"] for row in results))


def _by_workload(results: list[dict]) -> dict[str, dict[str, dict]]:
    found: dict[str, dict[str, dict]] = {}
    for row in results:
        found.setdefault(row["workload"], {})[row["arch"]] = row
    return found


def _by_arch(results: list[dict], heads: Sequence[str],
             cells: Callable[[dict], list[str]]) -> str:
    """A row for each workload, and for each architecture the columns `heads`.

    `cells` makes them of a result; where there is none they are empty.
    """
    arches, empty = _arches(results), ["\\"] * len(heads)
    rows = [["workload", *(f"{arch} {head}" for arch in arches for head in heads)]]
    for workload, here in _by_workload(results).items():
        rows.append([workload, *(cell for arch in arches for cell in (
            cells(here[arch]) if arch in here else empty))])
    return simple_table(rows)


def _counted(results: list[dict]) -> str:
    return _by_arch(results, ("base", "queue", "change"), lambda row: [
        str(row["base"]), str(row["queue"]), f"{row['change_percent']:+.2f} %"])


def _events(results: list[dict]) -> str:
    return _by_arch(results, EVENTS, lambda row: [
        _change(row[event]) if event in row else "\\" for event in EVENTS])


def _change(found: dict[str, int]) -> str:
    values = [str(found[state]) for state in STATES]
    return values[0] if values[0] == values[1] else " -> ".join(values)


def _kvm(results: list[dict]) -> str:
    rows = [["workload", "arch", "base us", "queue us", "ratio", "least", "most"]]
    rows += [[row["workload"], row["arch"], f"{row['base_ns'] / 1000:.1f}",
              f"{row['queue_ns'] / 1000:.1f}", f"{row['ratio']:.3f}",
              f"{row['ratio_least']:.3f}", f"{row['ratio_most']:.3f}"] for row in results]
    return simple_table(rows)


def _ways(results: list[dict]) -> list[str]:
    """The ways of clearing that were timed."""
    return [way for way in ("page", "range", "fault") if f"{way}_gbps" in results[0]["base"]]


def _timed(results: list[dict]) -> str:
    ways = _ways(results)
    ratios = {"queue_range_to_base_page": "queue range : base page", "fault": "fault, queue : base"}
    ratios = {key: head for key, head in ratios.items() if key in results[0]}
    rows = [["primitive", "chunk", *(f"{state} {way}" for state in STATES for way in ways),
             *(cell for head in ratios.values() for cell in (head, "least", "most"))]]
    rows += [[row["primitive"], size(row["chunk"]),
              *(f"{row[state][f'{way}_gbps']:.2f}" for state in STATES for way in ways),
              *(f"{row[key + end]:.3f}" for key in ratios for end in ("", "_least", "_most"))]
             for row in results]
    return simple_table(rows)


TABLES = {"counted": _counted, "events": _events, "kvm": _kvm, "timed": _timed}


def draw(record: dict[str, Any], path: Path) -> None:
    """Write the plot of a record as SVG; nothing for kinds that have none."""
    if record["kind"] in PLOTS:
        height, script = PLOTS[record["kind"]](record["results"])
        text = "\n".join([f"set terminal svg size {WIDTH},{height} font 'sans-serif,12' "
                          "background '#ffffff' noenhanced dynamic name 'plot'",
                          *script]) + "\n"
        svg = run(["gnuplot", "-"], stdin=text, status=Status.MISSING).stdout
        path.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "").replace('"', "") + '"'


def _changes(results: list[dict]) -> tuple[int, list[str]]:
    """A point for each workload and architecture: the change in per cent.

    Height of the plot, and what gnuplot is told.
    """
    arches, workloads = _arches(results), list(_by_workload(results))
    ratio = "ratio" in results[0]
    change = {(row["arch"], row["workload"]):
              (row["ratio"] - 1) * 100 if ratio else row["change_percent"] for row in results}
    reach = max(1.0, *(abs(value) * 1.1 for value in change.values()))
    title = "queue against base" if ratio else "instructions, queue against base"
    lines = [f"set title {_quoted(title)}",
             "set xlabel 'change in per cent; left of 0 is less'",
             f"set xrange [{-reach}:{reach}]", "set grid xtics ytics lc rgb '#dddddd'",
             f"set yrange [{len(workloads) - 0.5}:-0.5]", "set key outside top right",
             "set lmargin 34",
             "set arrow from 0,graph 0 to 0,graph 1 nohead lc rgb '#444444'",
             "set ytics (" + ", ".join(f"{_quoted(name)} {at}"
                                       for at, name in enumerate(workloads)) + ")"]
    for at, arch in enumerate(arches):
        points = [f"{change[arch, name]} {where}" for where, name in enumerate(workloads)
                  if (arch, name) in change]
        lines += [f"$data{at} << EOD", *points, "EOD"]
    lines.append("plot " + ", ".join(
        f"$data{at} with points pt {(7, 5, 9, 11)[at % 4]} ps 0.7 lc rgb '{COLOURS[at % 4]}' "
        f"title {_quoted(arch)}" for at, arch in enumerate(arches)))
    return 90 + 18 * len(workloads), lines


def _bandwidth(results: list[dict]) -> tuple[int, list[str]]:
    """GB/s over the size of a chunk, for each primitive and way of clearing."""
    names = list(dict.fromkeys(row["primitive"] for row in results))
    chunks = sorted({row["chunk"] for row in results})
    ways = [(state, how) for state in STATES for how in _ways(results)]
    lines = [f"set multiplot layout {len(names)},1",
             "set logscale x 2", f"set xrange [{chunks[0] / 2}:{chunks[-1] * 2}]",
             "set ylabel 'GB/s'", "set yrange [0:*]",
             "set key outside right", "set grid lc rgb '#dddddd'",
             "set xtics (" + ", ".join(f"{_quoted(size(c))} {c}" for c in chunks) + ")",
             "set xlabel 'cleared in chunks of'"]
    for at, name in enumerate(names):
        rows = sorted((row for row in results if row["primitive"] == name),
                      key=lambda row: row["chunk"])
        for state, how in ways:
            lines += [f"${state}_{how}_{at} << EOD",
                      *(f"{row['chunk']} {row[state][f'{how}_gbps']}" for row in rows), "EOD"]
        lines += [f"set title {_quoted(name)}", "plot " + ", ".join(
            f"${state}_{how}_{at} with linespoints pt {6 if how == 'page' else 7} "
            f"dt {1 if state == 'queue' else 2} lc rgb '{COLOURS[_ways(rows).index(how)]}' "
            f"title '{state}, by {how}'" for state, how in ways)]
    lines.append("unset multiplot")
    return 300 * len(names), lines


PLOTS = {"counted": _changes, "kvm": _changes, "timed": _bandwidth}
