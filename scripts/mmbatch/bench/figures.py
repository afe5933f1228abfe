# SPDX-License-Identifier: GPL-2.0-only
"""Whether each figure in a text stands in a result file.

A figure is a number that somebody measured: a percentage, a factor, a rate, a
time, an amount of disk, a count of cases, instructions or entries, any number
of four digits or more. It is looked for, rounded as the text rounds it, among
the values of its kind in

- the records in Documentation/results,
- published.toml, the figures of others,
- measured.toml, what was measured without scripts/bench, with how,
- kunit/suites.toml, for cases.

What a text sets rather than measures (an option's default, a limit) is not a
figure where it is written as code: ``--timeout 300``.
"""
from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, Iterator

from .. import conf, series
from . import record, report

NUMBER = r"[+-]?\d+(?:,\d{3})*(?:\.\d+)?"
SECONDS = {"ms": 0.001, "s": 1, "seconds": 1, "min": 60, "minutes": 60}
BYTES = {"MB": 1e6, "GB": 1e9}
# Pattern and kind. A range `N to N` or `N and N` has two numbers.
SPAN = rf"(?:(?P<low>{NUMBER}) (?:to|and|or) )?(?P<number>{NUMBER})"
KINDS = [
    (re.compile(rf"(?<![\w.]){SPAN} %"), "percent"),
    (re.compile(rf"(?<![\w.]){SPAN} times\b"), "ratio"),
    (re.compile(rf"(?<![\w.]){SPAN} GB/s"), "rate"),
    (re.compile(rf"(?<![\w.]){SPAN} (?P<unit>ms|s|seconds|min|minutes)\b"), "time"),
    (re.compile(rf"(?<![\w.]){SPAN} (?P<unit>MB|GB) of disk"), "disk"),
    (re.compile(rf"(?<![\w.]){SPAN} (?:cases|instructions|entries)\b"), "count"),
    (re.compile(r"(?<![\w.:/@-])(?P<low>)"
                r"(?P<number>\d{4,}|\d{1,3}(?:,\d{3})+)(?![\w/@-])"), "count"),
]
CODE = [re.compile(r"``.*?``", re.DOTALL), re.compile(r"`[^`\n]*`"),
        re.compile(r"^\.\. begin (\S+)$.*?^\.\. end \1$", re.MULTILINE | re.DOTALL),
        re.compile(r"<[^>\n]*>"), re.compile(r"\b\w+://\S+")]


def values() -> dict[str, list[float]]:
    """Kind -> all values of that kind that are kept."""
    found: dict[str, list[float]] = defaultdict(list)
    for path in record.kept():
        _collect(record.read(path)["results"], "", found)
    for entry in conf.load(record.RESULTS / "measured.toml")["measured"]:
        found[entry["kind"]] += entry["values"]
    for figure in conf.load(report.PUBLISHED)["figure"]:
        kind = {"GB/s": "rate", "s": "time"}.get(figure.get("unit", ""), "count")
        found[kind] += [figure[key] for key in ("before", "after") if key in figure]
        found["percent"] += [figure["change"]] if "change" in figure else []
    found["count"] += _cases()
    return found


def _collect(value: Any, key: str, found: dict[str, list[float]]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _collect(inner, name, found)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, key, found)
    elif isinstance(value, (int, float)):
        kind = "percent" if "percent" in key else "rate" if "gbps" in key \
            else "count" if isinstance(value, int) or key == "per_fault" else "ratio"
        found[kind].append(value)


def _cases() -> list[float]:
    """Cases of a suite on an architecture, with its topic alone and with others."""
    counts: set[float] = set()
    for suite in conf.suites().values():
        for base, cases in suite.cases.items():
            added = suite.added.get(base, {})
            for arch, least in cases.items():
                counts |= {least, suite.least(base, arch, list(added)),
                           *(more.get(arch, 0) for more in added.values())}
    return sorted(counts)


def figures(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Line, kind, number and unit of each figure of a text."""
    for code in CODE:       # blanked, so that the lines keep their numbers
        text = code.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    seen: set[int] = set()
    for pattern, kind in KINDS:
        for match in pattern.finditer(text):
            for group in ("low", "number"):
                if match[group] and match.start(group) not in seen:
                    seen.add(match.start(group))
                    line = text.count("\n", 0, match.start(group)) + 1
                    unit = match.groupdict().get("unit") or ""
                    yield line, kind, match[group], unit


def stands(kind: str, number: str, unit: str, known: dict[str, list[float]]) -> bool:
    """Whether one of the values, rounded as the number is, is the number."""
    digits = number.replace(",", "")
    decimals = len(digits.partition(".")[2])
    wanted = float(digits)
    scale = {"time": SECONDS, "disk": BYTES}.get(kind, {}).get(unit, 1)
    for value in known[kind]:
        value = value / scale
        if not digits.startswith(("+", "-")):
            value, wanted = abs(value), abs(wanted)
        if round(value, decimals) == wanted:
            return True
    return False


def texts() -> Iterator[tuple[str, str]]:
    """Name and content of what people read: README, Documentation, covers, changelogs."""
    paths = [conf.ROOT / "README.md", *sorted((conf.ROOT / "Documentation").rglob("*.rst"))]
    for base in conf.queued_bases():
        for topic in series.read(base):
            paths += [topic.cover, *topic.patches]
    for path in paths:
        if path.exists():
            text = path.read_text(errors="replace")
            if path.suffix == ".patch":
                head, _, rest = text.partition("\n\n")
                text = "\n" * (head.count("\n") + 2) + rest.partition("\n---\n")[0]
            yield str(path.relative_to(conf.ROOT)), text


def problems() -> Iterator[str]:
    """Each figure that no result file holds, and each record that does not follow."""
    known = values()
    for name, text in texts():
        for line, kind, number, unit in figures(text):
            if not stands(kind, number, unit, known):
                yield f"{name}:{line}: {number} {unit}".rstrip() + \
                    f" ({kind}) is in no result file"
    page, where = report.PAGE.read_text(), report.PAGE.relative_to(conf.ROOT)
    for path in record.kept():
        made = record.read(path)
        if record.derive(made) != made["results"]:
            yield f"{path.relative_to(conf.ROOT)}: the results do not follow from the lines"
        if path != record.path_of(made):
            yield f"{path.relative_to(conf.ROOT)}: {record.path_of(made).name} is its name"
        if report.is_shown(made) and report.name_of(path) not in report.shown(page):
            yield f"{where}: does not show {report.name_of(path)}"
    if report.rendered(page) != page:
        yield f"{where}: differs from the records; scripts/bench --keep writes its tables"
