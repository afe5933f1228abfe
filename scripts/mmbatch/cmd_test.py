# SPDX-License-Identifier: GPL-2.0-only
"""scripts/test"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time

from . import conf
from .cli import Status, command_line, duration, note, say, worst

EPILOG = """\
exit status: 0 all passed, else that of the part that failed, the gravest
first; scripts/verify --help lists them. The last line of the output is
`N passed, N failed, N skipped`, the sum of all parts.
"""
TOTALS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
SCRIPTS = conf.ROOT / "scripts"


def part(name: str, command: list[str]) -> tuple[Status, list[int]]:
    """Run one part with its output shown; its status and its counts.

    A part that fails without a count, or in which nothing ran, counts as one
    failure.
    """
    say(f"== {name}: {command_line(command)}")
    begun, totals = time.monotonic(), [0, 0, 0]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             text=True, errors="replace")
    try:
        for line in child.stdout:
            say(line.rstrip("\n"))
            if match := TOTALS.match(line):
                totals = [int(group) for group in match.groups()]
        code = child.wait()
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait()
    status = Status(code) if code in Status._value2member_map_ else Status.TEST
    if status is Status.OK and name != "setup" and totals[0] == 0:
        status = Status.COVERAGE
    if status is not Status.OK and totals[1] == 0:
        totals[1] = 1
    note(f"== {name}: {'passed' if status is Status.OK else f'exit status {code}'}, "
         f"{duration(time.monotonic() - begun)} min")
    return status, totals


def unit() -> int:
    """Run the unit tests of mmbatch and print the last line as every part does."""
    import unittest
    suite = unittest.defaultTestLoader.discover(str(SCRIPTS), "test_*.py", str(SCRIPTS))
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=1).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    for test, reason in result.skipped:
        say(f"skipped {test}: {reason}")
    say(f"{max(result.testsRun - failed - skipped, 0)} passed, {failed} failed, {skipped} skipped")
    return Status.TEST if failed else Status.OK


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="test", description="Test everything: the scripts, the queues as a reviewer would, "
        "every queue in every kernel, and that none got slower.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true",
                        help="only what needs no kernel tree: the unit tests and check --quick")
    parser.add_argument("--base", action="append", choices=[b.name for b in conf.queued_bases()],
                        metavar="BASE", help="test this base and all of it, can be repeated "
                        "(default: every base that has a queue, without what configs/bases.toml "
                        "calls slow)")
    parser.add_argument("--unit", action="store_true", help="only the unit tests")
    options = parser.parse_args(arguments)
    if options.unit:
        return unit()

    def script(name: str, *words: str) -> list[str]:
        return [sys.executable, str(SCRIPTS / name), *words]

    os.environ["PYTHONUNBUFFERED"] = "1"
    parts = {"unit tests": script("test", "--unit"), "check": script("check", "--quick")}
    if not options.quick:
        bases = [conf.base_named(name) for name in options.base] if options.base \
            else conf.queued_bases()
        every = [word for base in bases for word in ("--base", base.name)]
        parts = {"setup": script("setup", *every), "unit tests": script("test", "--unit"),
                 "check": script("check", *every, *([] if options.base else ["--fast"]))}
        for base in bases:
            slow = () if options.base else base.slow
            parts[f"verify {base.name}"] = script("verify", "--base", base.name, *(
                word for arch in base.arches if arch not in slow for word in ("--arch", arch)))
            if "bench" not in slow:
                parts[f"bench {base.name}"] = script("bench", "--check", "--quick",
                                                     "--base", base.name)
            if slow:
                note(f"left out of {base.name}: {', '.join(slow)}; "
                     f"scripts/test --base {base.name} runs it")
    begun, found, sums = time.monotonic(), [], [0, 0, 0]
    for name, command in parts.items():
        status, totals = part(name, command)
        found.append(status)
        sums = [a + b for a, b in zip(sums, totals)]
        if name == "setup" and status is not Status.OK:
            break       # nothing else can run
    note(f"{duration(time.monotonic() - begun)} min")
    say("{} passed, {} failed, {} skipped".format(*sums))
    return worst(found)
