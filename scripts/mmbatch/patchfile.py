# SPDX-License-Identifier: GPL-2.0-only
"""What a patch file must look like: a mail that git am takes as it was made."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

ZERO_FROM = "From " + "0" * 40 + " Mon Sep 17 00:00:00 2001"
WIDTH = 75              # columns of a changelog
TEMPLATE = re.compile(r"\*\*\*|SUBJECT HERE|BLURB HERE|EDITME")
GIVEN_TAGS = re.compile(r"^(Signed-off|Reviewed|Acked|Tested|Co-developed)-by:", re.IGNORECASE)
FIXES = re.compile(r'^Fixes: [0-9a-f]{12} \(".+"\)$')
FULL_INDEX = re.compile(r"index [0-9a-f]{40}\.\.[0-9a-f]{40}")
HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def problems(patch: Path) -> Iterator[str]:
    """Yield `file:line: what` for all that is not as it must be."""
    raw = patch.read_bytes()
    lines = raw.decode(errors="replace").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        if line.endswith("\r"):
            yield f"{patch}:{number}: carriage return; git am would take other text"
            return
    if lines[0] != ZERO_FROM:
        yield f"{patch}:1: not made by scripts/queue refresh (first line is {lines[0]!r})"
    blank = lines.index("") if "" in lines else len(lines)
    header = re.sub(r"\n\s+", " ", "\n".join(lines[1:blank]))
    for name in ("From", "Date", "Subject"):
        if not re.search(rf"^{name}: \S", header, re.MULTILINE):
            yield f"{patch}: no {name}: header"
    if not re.search(r"^Subject: (=\?|\[PATCH\] [\w/+,.-]+(?: [\w-]+){0,2}: \S)", header, re.MULTILINE):
        yield f"{patch}: the subject is not '[PATCH] subsystem: what it does'"
    end = next((n for n in range(blank, len(lines)) if lines[n] == "---"), len(lines))
    yield from _changelog(patch, lines, blank + 1, end)
    yield from _diff(patch, lines, end)


def _changelog(patch: Path, lines: list[str], start: int, end: int) -> Iterator[str]:
    if not any(line.strip() for line in lines[start:end]):
        yield f"{patch}: no changelog"
    for number, line in enumerate(lines[start:end], start + 1):
        if TEMPLATE.search(line):
            yield f"{patch}:{number}: text of a template"
        if tag := GIVEN_TAGS.match(line):
            yield (f"{patch}:{number}: {tag[0]} only a person gives; "
                   "scripts/send and git am -s add the sender's sign-off")
        if line.startswith("Fixes:") and not FIXES.match(line):
            yield f'{patch}:{number}: not Fixes: 12 digits ("title")'
        if len(line) > WIDTH and not re.match(r"\s{2}|Fixes:|Link:|Closes:|\[\d+\]", line) \
                and "://" not in line:
            yield f"{patch}:{number}: {len(line)} columns, {WIDTH} are the most"


def _diff(patch: Path, lines: list[str], start: int) -> Iterator[str]:
    body = lines[start:]
    if not any(line.startswith("diff --git ") for line in body):
        yield f"{patch}: no diff behind '---'"
        return
    if not re.search(r"\d+ files? changed", "\n".join(body)):
        yield f"{patch}: no diffstat"
    old = new = 0
    for number, line in enumerate(body, start + 1):
        if old or new:
            kind = line[:1]
            if kind not in (" ", "+", "-", "\\"):
                yield f"{patch}:{number}: " + ("a blank was stripped from an empty context line"
                                               if line == "" else f"damaged hunk: {line[:40]!r}")
                return
            old -= kind in " -"
            new -= kind in " +"
            if kind == "+" and line != line.rstrip():
                yield f"{patch}:{number}: adds blanks at the end of a line"
        elif match := HUNK.match(line):
            old, new = (int(group) if group is not None else 1 for group in match.groups())
        elif line == "-- ":
            yield f"{patch}:{number}: a signature; made by scripts/queue refresh there is none"
        elif line.startswith("index ") and not FULL_INDEX.match(line):
            yield f"{patch}:{number}: short object names; git am -3 needs full ones"
    if old or new:
        yield f"{patch}: ends in the middle of a hunk"
