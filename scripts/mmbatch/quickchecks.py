# SPDX-License-Identifier: GPL-2.0-only
"""The checks that need no kernel tree. Each yields what is wrong."""
from __future__ import annotations

import ast
import fnmatch
import re
from pathlib import Path
from typing import Iterator

from . import conf, mail, patchfile, series, suitefiles, treechecks
from .cli import run


def tables() -> Iterator[str]:
    """The TOML files agree with each other and with the files they name."""
    for base in conf.bases().values():
        for arch in base.arches:
            if arch not in conf.arches():
                yield f"configs/bases.toml: [{base.name}]: no arch {arch!r}"
        for name in set(base.slow) - {*treechecks.CHECKS, *base.arches, "bench"}:
            yield f"configs/bases.toml: [{base.name}]: slow: nothing is called {name!r}"
    for name, suite in conf.suites().items():
        where = f"kunit/suites.toml: [{name}]"
        if not (conf.ROOT / "kunit" / conf.SUITE_PREFIX / f"{name}_kunit.c").exists():
            yield f"{where}: no kunit/{conf.SUITE_PREFIX}{name}_kunit.c"
        if not suite.benchmark and suite.symbol != f"{name.upper()}_KUNIT_TEST":
            yield f"{where}: symbol {suite.symbol} is not {name.upper()}_KUNIT_TEST"
        known = set()
        for base in dict.fromkeys([*suite.cases, *suite.added]):
            if base not in conf.bases():
                yield f"{where}: no base {base!r}"
                continue
            topics = series.read(conf.bases()[base])
            added = suite.added.get(base, {})
            for topic in {suite.topic, *added} - {topic.name for topic in topics}:
                yield f"{where}: no topic {topic!r} for {base}"
            if f"+config {suite.symbol}\n" not in "".join(
                    patch.read_text(errors="replace") for topic in topics
                    for patch in topic.patches):
                yield f"{where}: no patch for {base} adds config {suite.symbol}"
            known |= {*suite.cases.get(base, {}), *(a for more in added.values() for a in more)}
        for arch in known | {a for skip in suite.skips for a in skip["arches"]}:
            if arch not in conf.arches():
                yield f"{where}: no arch {arch!r}"
        for boot in suite.boots:
            if unknown := set(boot.arches) - known:
                yield f"{where}: boot {boot.name}: no cases on {', '.join(sorted(unknown))}"
            for base in set(boot.bases) - set(suite.cases):
                yield f"{where}: boot {boot.name}: no cases for {base}"
            for base, topic in boot.needs.items():
                if base not in suite.cases or topic not in suite.added.get(base, {}):
                    yield f"{where}: boot {boot.name}: {topic} of {base} adds no cases"
            if boot.front and not (conf.ROOT / boot.front).exists():
                yield f"{where}: boot {boot.name}: no file {boot.front}"
        for skip in suite.skips:
            if not skip.get("reason"):
                yield f"{where}: the skip of {skip['case']} gives no reason"
    for path in sorted((conf.ROOT / "kunit" / conf.SUITE_PREFIX).glob("*_kunit.c")):
        if "kunit_test_suite" in path.read_text(errors="replace") \
                and path.name.removesuffix("_kunit.c") not in conf.suites():
            yield f"{path.relative_to(conf.ROOT)}: no table in kunit/suites.toml"


def files() -> Iterator[str]:
    """A series names each patch that is there, and each that it names is there."""
    for base in conf.queued_bases():
        topics = series.read(base)
        if not topics or topics[0].name != series.FIRST:
            yield f"{base.series}: the first topic is not {series.FIRST}"
        named = {patch for topic in topics for patch in topic.patches}
        there = set(base.queue.glob("*/*.patch"))
        yield from (f"{base.series}: {path.relative_to(base.queue)} is not there"
                    for path in sorted(named - there))
        yield from (f"{base.series}: {path.relative_to(base.queue)} is not named"
                    for path in sorted(there - named))
        for topic in topics:
            if topic.cover.exists():
                yield from mail.cover_faults(topic.cover, topic.cover.read_bytes())
            else:
                yield f"{topic.cover}: not there"


def mails() -> Iterator[str]:
    """Each patch is a whole, undamaged mail with the tags it may have."""
    for base in conf.queued_bases():
        for topic in series.read(base):
            for patch in topic.patches:
                if patch.exists():
                    yield from patchfile.problems(patch)


def drift() -> Iterator[str]:
    """What the patches put below mm/tests/ is what kunit/ shows, byte for byte."""
    wanted = suitefiles.wanted(conf.queued_bases())
    shown = suitefiles.shown(conf.ROOT / "kunit")
    for name in sorted({*wanted, *shown}):
        if name not in shown:
            yield f"kunit/{name}: not there, but a queue has it"
        elif name not in wanted:
            yield f"kunit/{name}: no queue has it"
        elif shown[name] != wanted[name]:
            yield f"kunit/{name}: differs from the queue; edit on the branch, then " \
                  "scripts/queue refresh"


def texts() -> Iterator[str]:
    """The repository's own files: no CR, no blanks at line ends, Python that parses."""
    listing = run(["git", "-C", conf.ROOT, "ls-files", "-z", "--cached", "--others",
                   "--exclude-standard"]).stdout
    for name in filter(None, listing.split("\0")):
        path = conf.ROOT / name
        if not path.is_file():
            continue
        raw = path.read_bytes()
        if b"\0" in raw:
            continue
        foreign = name.endswith((".patch", ".log"))     # their blanks are content
        for number, line in enumerate(raw.split(b"\n"), 1):
            if line.endswith(b"\r") and not foreign:
                yield f"{name}:{number}: carriage return"
                break
            if line != line.rstrip(b" \t") and not foreign:
                yield f"{name}:{number}: blanks at the end of the line"
        if name.endswith(".py"):
            try:
                ast.parse(raw, name)
            except SyntaxError as error:
                yield f"{name}:{error.lineno}: {error.msg}"


def snippet() -> Iterator[str]:
    """MAINTAINERS.snippet names the files that the queues add."""
    path = conf.ROOT / "MAINTAINERS.snippet"
    if not path.exists():
        yield "MAINTAINERS.snippet: not there"
        return
    patterns = re.findall(r"^F:\t(\S+)$", path.read_text(), re.MULTILINE)
    for name in (str(f.relative_to(conf.ROOT / "kunit")) for f in
                 sorted((conf.ROOT / "kunit" / conf.SUITE_PREFIX).glob("*.[ch]"))):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            yield f"MAINTAINERS.snippet: no F: line takes in {name}"
