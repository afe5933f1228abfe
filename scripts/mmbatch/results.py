# SPDX-License-Identifier: GPL-2.0-only
"""What a boot says: cases, splats, a verdict; and the reports made of many."""
from __future__ import annotations

import fnmatch
import json
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import conf
from .boot import KTAP, Outcome
from .cli import Status, run, worst
from .kernel import KUNIT

PREFIX = r"^(?:<\d>)?(?:\[[^\]]*\])*\s*"        # log level, time, CPU or task
SPLAT = re.compile(PREFIX + "(?:" + "|".join((
    r"WARNING: ", r"BUG: ", r"kernel BUG at ", r"Oops", r"Internal error: ",
    r"general protection fault", r"Unable to handle kernel", r"UBSAN: ", r"KASAN: ",
    r"KCSAN: ", r"KFENCE: ", r"INFO: (?:task|rcu|possible|trying|suspicious|inconsistent)",
    r"rcu: INFO: ", r"refcount_t: ", r"list_(?:add|del) corruption", r"Bad page ",
    r"page_owner .* corrupt", r"watchdog: BUG", r"kmemleak: \d+ new", r"DEBUG_LOCKS_WARN_ON",
)) + ")")
PANIC = re.compile(PREFIX + r"Kernel panic - not syncing: (.*)", re.MULTILINE)
SKIPPED = re.compile(r"^\s*(?:\[[^\]]*\]\s*)?ok \d+ (?:- )?(.*?) # SKIP ?(.*)$")


@dataclass
class Case:
    """A case, or one parameter of it: suite.case or suite.case.parameter."""
    name: str
    status: str                 # PASS, FAIL, SKIP or ERROR, as kunit.py has it
    reason: str = ""            # of a skip


@dataclass
class Result:
    """One kernel's run: status, what to say of it, and the cases of each suite."""
    base: str
    arch: str
    step: str                   # what was applied: a topic, a patch, all
    status: Status = Status.OK
    messages: list[str] = field(default_factory=list)
    suites: dict[str, list[Case]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    accel: str = ""
    image: str = ""             # SHA-256 of what was booted
    folder: str = ""

    def add(self, status: Status, message: str) -> None:
        self.status = worst([self.status, status])
        self.messages.append(message)

    def skip(self, suite: str, case: str, reason: str) -> None:
        """Report one case as not run, which is no failure."""
        self.suites = {suite: [Case(case, "SKIP", reason)]}
        self.messages.append(f"not run: {reason}")

    def count(self, *statuses: str) -> int:
        return sum(case.status in statuses for cases in self.suites.values() for case in cases)

    @property
    def failed(self) -> int:
        """Failed cases; at least one where the run as a whole did not pass."""
        return max(self.count("FAIL", "ERROR"), int(self.status is not Status.OK))


def parse(tree: Path, console: Path, report: Path, log: Path) -> dict[str, list[Case]]:
    """Have the tree's kunit.py read a console log; suite -> cases."""
    done = run([sys.executable, tree / KUNIT, "parse", f"--json={report}", console], check=False)
    log.write_text(done.stdout + done.stderr)
    return cases(report, console) if report.exists() else {}


def cases(report: Path, console: Path) -> dict[str, list[Case]]:
    """suite -> cases, of kunit.py's JSON; why a case was skipped, of the console."""
    reasons = {match[1].strip(): match[2] for line in
               console.read_text(errors="replace").splitlines()
               if (match := SKIPPED.match(line))}
    return {group["name"]: list(_cases(group, "", reasons))
            for group in json.loads(report.read_text())["sub_groups"]}


def _cases(group: dict, above: str, reasons: dict[str, str]):
    for case in group["test_cases"]:
        yield Case(above + case["name"], case["status"], reasons.get(case["name"], ""))
    for inner in group["sub_groups"]:
        yield from _cases(inner, f"{above}{inner['name']}.", reasons)


def head(console: str, lines: int = 20) -> str:
    """The raw start of a console, for when nothing in it could be read."""
    shown = [line.rstrip() for line in console.splitlines()[:lines]] or ["(nothing)"]
    return "\n".join("  | " + line for line in shown)


def last_test(console: str) -> str:
    """The case that had begun last, as far as the console tells."""
    subtests = re.findall(r"# Subtest: (\S+)", console)
    ended = re.findall(r"\bok \d+ (?:- )?(\S+)", console)
    where = f"in or after {'.'.join(subtests[-2:])}" if subtests else "before any suite"
    return f"{where}; the last result is {ended[-1]}" if ended else where


def judge(result: Result, outcome: Outcome, wanted: dict[str, int],
          suites: dict[str, conf.Suite]) -> None:
    """Add to `result` what is wrong with a boot.

    `wanted` gives, for each suite that must have run, its least number of cases.
    """
    console = outcome.console
    if outcome.code is None:
        result.add(Status.BOOT, f"timed out after {outcome.seconds:.0f} s {last_test(console)}")
    if panic := PANIC.search(console):
        result.add(Status.BOOT, f"the kernel panicked {last_test(console)}: {panic[1]}")
    if not KTAP.search(console):
        result.add(Status.BOOT, f"no KTAP on the console (exit status {outcome.code}); "
                   f"it begins:\n{head(console)}")
    elif outcome.code and result.status is Status.OK:
        result.add(Status.BOOT, f"the kernel died (exit status {outcome.code}) "
                   + last_test(console))
    for suite, cases in result.suites.items():
        for case in cases:
            # kunit.py makes up a case without a name for one that is missing.
            if case.status in ("FAIL", "ERROR") and case.name.rpartition(".")[2]:
                result.add(Status.TEST, f"failed: {suite}.{case.name}")
    if result.count("FAIL", "ERROR") and result.status is Status.OK:
        result.add(Status.TEST, "results of cases are missing")
    splats = [line.strip() for line in console.splitlines() if SPLAT.match(line)]
    if splats:
        more = f" (and {len(splats) - 1} more)" if len(splats) > 1 else ""
        result.add(Status.SPLAT, f"the kernel complained: {splats[0]}{more}")
    for suite, least in wanted.items():
        ran = sum(case.status != "SKIP" for case in result.suites.get(suite, []))
        if ran < max(least, 1):
            result.add(Status.COVERAGE, f"{suite}: {ran} cases ran, at least "
                       f"{max(least, 1)} must")
    for suite, cases in result.suites.items():
        for case in cases:
            known = suites.get(suite)
            if case.status == "SKIP" and not (known and known.may_skip(result.arch, case.name)):
                result.add(Status.COVERAGE, f"skipped, and may not be: {suite}.{case.name}"
                           + (f" ({case.reason})" if case.reason else ""))


def matching(suites: list[str], pattern: str) -> list[str]:
    """The suites that a kunit.filter_glob like `suite*.case*` takes in."""
    return [name for name in suites if fnmatch.fnmatchcase(name, pattern.split(".")[0])]


def table(results: list[Result]) -> str:
    """suite x arch, a block for each base and step."""
    arches = list(dict.fromkeys(result.arch for result in results))
    rows = [["base", "applied", "suite", *arches]]
    for base, step in dict.fromkeys((r.base, r.step) for r in results):
        here = {r.arch: r for r in results if (r.base, r.step) == (base, step)}
        suites = list(dict.fromkeys(s for r in here.values() for s in r.suites)) or ["-"]
        for suite in suites:
            rows.append([base, step, suite,
                         *(_cell(here.get(arch), suite) for arch in arches)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def _cell(result: Result | None, suite: str) -> str:
    if result is None:
        return ""
    cases = result.suites.get(suite)
    if not cases:
        return ("ok" if suite == "-" else "") if result.status is Status.OK else result.status.name
    count = {word: sum(case.status in codes for case in cases) for word, codes in (
        ("passed", ("PASS",)), ("failed", ("FAIL", "ERROR")), ("skipped", ("SKIP",)))}
    text = ", ".join(f"{n} {word}" for word, n in count.items() if n)
    return text if result.status in (Status.OK, Status.TEST) else f"{text} ({result.status.name})"


def totals(results: list[Result]) -> str:
    return (f"{sum(r.count('PASS') for r in results)} passed, "
            f"{sum(r.failed for r in results)} failed, "
            f"{sum(r.count('SKIP') for r in results)} skipped")


def write_json(results: list[Result], path: Path) -> None:
    path.write_text(json.dumps({
        "status": int(worst(r.status for r in results)),
        "runs": [{**asdict(r), "status": int(r.status)} for r in results]}, indent=1) + "\n")


def write_junit(results: list[Result], path: Path) -> None:
    """A testsuite for each suite of each kernel, and one for each kernel as a whole."""
    root = ET.Element("testsuites")
    for result in results:
        kernel = f"{result.base}.{result.step}.{result.arch}"
        for suite, cases in result.suites.items():
            element = ET.SubElement(root, "testsuite", name=f"{kernel}.{suite}")
            for case in cases:
                _junit_case(element, case.name, f"{kernel}.{suite}", case.status, case.reason)
        element = ET.SubElement(root, "testsuite", name=kernel)
        _junit_case(element, "kernel", kernel, "PASS" if result.status is Status.OK else "FAIL",
                    "\n".join(result.messages))
    for element in root:
        element.set("tests", str(len(element)))
        for tag, name in (("failure", "failures"), ("skipped", "skipped")):
            element.set(name, str(len(element.findall(f"*/{tag}"))))
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _junit_case(suite: ET.Element, name: str, classname: str, status: str, text: str) -> None:
    element = ET.SubElement(suite, "testcase", name=name, classname=classname)
    if status == "SKIP":
        ET.SubElement(element, "skipped", message=text)
    elif status != "PASS":
        ET.SubElement(element, "failure", message=text.split("\n")[0] or status).text = \
            re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd]", "?", text)
