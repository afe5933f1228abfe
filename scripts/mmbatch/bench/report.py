# SPDX-License-Identifier: GPL-2.0-only
"""Where a record came from, its files, and its place in Documentation/results."""
from __future__ import annotations

import datetime
import platform
import re
from pathlib import Path
from typing import Any

from .. import conf, kernel, patchqueue, series, tree
from ..cli import note, run
from . import plot, record, states

PAGE = record.RESULTS / "results.rst"
PUBLISHED = record.RESULTS / "published.toml"


def processor() -> str:
    """What the processor calls itself, with family and model: a guest may hide the rest."""
    try:
        found = dict(re.findall(r"^(model name|cpu family|model)\s*:\s*(.+?)\s*$",
                                Path("/proc/cpuinfo").read_text(), re.MULTILINE))
        return "{model name}, family {cpu family}, model {model}".format_map(found)
    except (OSError, KeyError):         # neither file nor lines on other architectures
        return platform.machine()


def surroundings(base: conf.Base, topics: list[series.Topic]) -> dict[str, Any]:
    """Machine, day, this repository's commit, and the trees that were compared."""
    title = tree.git(base.tree, "log", "-1", "--format=%s", patchqueue.base_commit(base.tree))
    trees = states.trees(base, topics)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "machine": {"processor": processor(), "cpus": kernel.jobs(),
                    "kernel": platform.release()},
        "commit": run(["git", "-C", conf.ROOT, "describe", "--always", "--dirty",
                       "--abbrev=12"], check=False).stdout.strip(),
        "source": title,
        "base_tree": trees["base"],
        "queue_tree": trees["queue"],
    }


def publish(made: dict[str, Any], target: Path) -> None:
    """Write a record, and its table and plot beside it."""
    record.write(made, target)
    target.with_suffix(".rst").write_text(plot.table(made))
    plot.draw(made, target.with_suffix(".svg"))


def keep(made: dict[str, Any]) -> None:
    """Put a record, its plot and its table into Documentation/results."""
    target = record.path_of(made)
    record.write(made, target)
    if is_shown(made):
        plot.draw(made, target.with_suffix(".svg"))
        refresh()
    note(f"kept as {target}")


def is_shown(made: dict[str, Any]) -> bool:
    """Whether people see a record; the quick one of a whole queue is for --check alone."""
    return made["narrowed"] or not made["quick"]


def name_of(path: Path) -> str:
    """What results.rst calls the record that is kept at `path`."""
    return f"{path.parent.name}/{path.stem}"


def block(path: Path) -> str:
    """What results.rst says of a record: plot, origin, table."""
    made, name = record.read(path), name_of(path)
    lines = []
    if path.with_suffix(".svg").exists():
        lines += [f".. image:: {name}.svg", f"   :alt: {made['kind']}, {made['base']}", ""]
    tools = "; ".join(f"{arch}: {', '.join(v for k, v in found.items() if 'sha256' not in k)}"
                      for arch, found in made["tools"].items())
    lines += [f"``{name}.json``: ``{made['command']}``, {made['date']}, repository at "
              f"{made['commit']}, {made['source']}; base has topic kunit, the queue "
              f"{', '.join(made['topics'])}. {made['machine']['processor']}, "
              f"{made['machine']['cpus']} CPUs. {tools}.", "", plot.table(made)]
    return "\n".join(lines)


def published() -> str:
    """The figures of others, each with its source."""
    lines = [".. list-table::", "   :header-rows: 1", "",
             "   * - mechanism", "     - what", "     - machine", "     - before",
             "     - after", "     - change", "     - source"]
    for figure in conf.load(PUBLISHED)["figure"]:
        unit = figure.get("unit", "")
        change = figure.get("change")
        source = figure.get("source", "")
        for at, cell in enumerate((
                figure["mechanism"], figure["what"], figure.get("machine", ""),
                f"{figure['before']} {unit}" if "before" in figure else "",
                f"{figure['after']} {unit}" if "after" in figure else "",
                f"{change:+g} %" if change is not None else "",
                f"`{figure.get('title', source)} <{source}>`__" if source else "none found")):
            lines.append(f"   {'*' if at == 0 else ' '} - {cell}".rstrip())
    return "\n".join(lines) + "\n"


def rendered(text: str) -> str:
    """results.rst with each generated block as the records have it."""
    def fill(match: re.Match) -> str:
        name = match[1]
        if name == "published":
            body = published()
        else:
            body = block(record.RESULTS / f"{name}.json")
        return f".. begin {name}\n\n{body}\n.. end {name}\n"
    return re.sub(r"^\.\. begin (\S+)\n.*?^\.\. end \1\n", fill, text,
                  flags=re.MULTILINE | re.DOTALL)


def shown(text: str) -> set[str]:
    """Names of the records that results.rst has a block for."""
    return set(re.findall(r"^\.\. begin (\S+)$", text, re.MULTILINE))


def refresh() -> None:
    """Write the blocks of results.rst anew; a new record gets one at the end."""
    text = PAGE.read_text()
    for path in record.kept():
        name, made = name_of(path), record.read(path)
        if name not in shown(text) and is_shown(made):
            parts = [f"{made['base']}: {made['kind']}"]
            if made["narrowed"]:
                parts.append(f"{' and '.join(made['topics'][1:])} alone")
            if made["kind"] in record.TIMES:
                parts.append(made["machine"]["processor"])
            title = ", ".join(parts)
            text += f"\n{title}\n{'-' * len(title)}\n\n.. begin {name}\n.. end {name}\n"
    PAGE.write_text(rendered(text))
