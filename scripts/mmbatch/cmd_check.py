# SPDX-License-Identifier: GPL-2.0-only
"""scripts/check"""
from __future__ import annotations

import argparse
import time
from typing import Callable, Iterable

from . import conf, quickchecks, treechecks
from .bench import figures
from .cli import Failure, Status, progress, say, worst

EPILOG = """\
exit status: 0 clean, 1 a check found something, 2 usage, 8 the queue does not
apply or has drifted from kunit/, 9 a tool or source is missing, 12 no space
left, 130 interrupted
"""

QUICK: list[tuple[str, Callable[[], Iterable[str]], Status]] = [
    ("toml", quickchecks.tables, Status.TEST),
    ("series", quickchecks.files, Status.QUEUE),
    ("mails", quickchecks.mails, Status.TEST),
    ("drift", quickchecks.drift, Status.QUEUE),
    ("texts", quickchecks.texts, Status.TEST),
    ("maintainers", quickchecks.snippet, Status.TEST),
    ("figures", figures.problems, Status.TEST),
]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="check", description="Check the queues as a reviewer would.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true",
                        help="only what needs no kernel tree; a few seconds")
    parser.add_argument("--base", action="append", choices=list(conf.bases()), metavar="BASE",
                        help="for the checks in a tree, can be repeated "
                        "(default: every base that has a queue)")
    parser.add_argument("--fast", action="store_true",
                        help="leave out what configs/bases.toml calls slow for a base")
    names = [name for name, *_ in QUICK] + list(treechecks.CHECKS)
    parser.add_argument("--only", action="append", metavar="CHECK", choices=names,
                        help="can be repeated; there are: " + ", ".join(names))
    options = parser.parse_args(arguments)
    bases = [conf.base_named(name) for name in options.base] if options.base \
        else conf.queued_bases()

    plan = [(name, check, status) for name, check, status in QUICK
            if not options.only or name in options.only]
    left_out = []
    if not options.quick:
        if options.fast:
            left_out = [f"{base.name}/{name}" for base in bases for name in treechecks.CHECKS
                        if name in base.slow and name in (options.only or [name])]
        plan += [one for one in treechecks.plan(bases, options.only) if one[0] not in left_out]
    found: list[Status] = []
    for name, check, status in plan:
        found.append(one(name, check, status))
    failed = sum(status is not Status.OK for status in found)
    for name in left_out:
        say(f"skipped {name}: slow; scripts/check without --fast runs it")
    say(f"{len(found) - failed} passed, {failed} failed, {len(left_out)} skipped")
    return worst(found) if found else Status.USAGE


def one(name: str, check: Callable[[], Iterable[str]], status: Status) -> Status:
    """Run a check and say how it went."""
    begun = time.monotonic()
    progress.show(f"check {name} ...")
    try:
        problems = list(check())
    except Failure as failure:
        if failure.status in (Status.SPACE, Status.MISSING):
            raise
        problems, status = [str(failure)], failure.status
    took = f"({time.monotonic() - begun:.1f} s)"
    if not problems:
        say(f"ok   {name} {took}")
        return Status.OK
    say(f"FAIL {name} {took}")
    for problem in problems:
        say("  " + problem.replace("\n", "\n  "))
    return status
