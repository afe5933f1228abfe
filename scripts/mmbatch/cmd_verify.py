# SPDX-License-Identifier: GPL-2.0-only
"""scripts/verify"""
from __future__ import annotations

import argparse
import datetime
import os
import re
import shlex
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

from . import boot, conf, debian, kernel, machine, patchqueue, provide, results, series, tree
from .cli import Failure, Status, command_line, duration, note, progress, say, worst
from .options import add_bases, add_source

EPILOG = """\
Every run has a folder build/runs/DATE-N with config, build log, raw console,
what kunit.py made of it, and the commands to run it again; build/runs/latest
points to the newest. report.json and junit.xml there cover the whole run.

exit status: 0 pass, 1 a test failed, 2 usage, 3 configuration, 4 build,
5 boot or time-out, 6 a warning or splat in the log, 7 too few tests ran or one
was skipped that may not be, 8 the queue does not apply, 9 a tool or source is
missing, 10 a tree of another version, 11 uncommitted changes in the tree,
12 no space left, 130 interrupted
"""
FRAGMENTS = conf.ROOT / "configs/kunit"
DEBUG = conf.ROOT / "configs/debug"


@dataclass
class Step:
    """A state of the tree to test: its name, its topics, the commit (None: as it is)."""
    name: str
    topics: list[series.Topic]
    commit: str | None = None
    partial: bool = False       # in the middle of a topic: no least number of cases


def steps(base: conf.Base, options) -> list[Step]:
    """What to test, in order."""
    topics = series.read(base)
    if options.as_is:
        return [Step("as-is", topics)]
    chosen = series.pick(topics, [] if options.unpatched else options.topic)
    if not options.each_patch:
        name = "unpatched" if options.unpatched else "+".join(options.topic or ["all"])
        return [Step(name, chosen)]
    found = []
    for at, topic in enumerate(chosen):
        for number in range(1, len(topic.patches) + 1):
            cut = series.Topic(topic.name, topic.folder, topic.patches[:number])
            found.append(Step(f"{topic.name}/{number:04d}", [*chosen[:at], cut],
                              partial=number < len(topic.patches)))
    return found


def suites_of(base: conf.Base, arch: str, step: Step) -> dict[str, conf.Suite]:
    """The suites that the kernel of this base, arch and step is built with."""
    names = [topic.name for topic in step.topics]
    return {name: suite for name, suite in conf.suites().items() if not suite.benchmark
            and suite.on(base.name, arch) and suite.topic in names}


def narrowed(suites: dict[str, conf.Suite], pattern: str | None) -> dict[str, conf.Suite]:
    """Those of `suites` that --suite takes in."""
    names = results.matching(list(suites), pattern) if pattern else suites
    return {name: suites[name] for name in names}


def build_of(base: conf.Base, arch: conf.Arch, tree_: Path, suites: dict[str, conf.Suite],
             debug: list[str], variant: str = "") -> kernel.Build:
    """The build of a base for an architecture, with the fragments it takes.

    The symbols of the suites become a fragment of their own in the build
    folder, which `variant` tells from others.
    """
    name = "-".join([arch.name, *debug, *([variant] if variant else [])])
    out = conf.BUILD / "out" / base.name / name
    generated = conf.BUILD / "out" / base.name / f"{name}.suites.config"
    generated.parent.mkdir(parents=True, exist_ok=True)
    patchqueue.write(generated, "".join(
        f"CONFIG_{suite.symbol}=y\n" for suite in suites.values()).encode())
    fragments = [FRAGMENTS / "common.config", FRAGMENTS / f"{arch.name}.config", generated]
    return kernel.Build(tree_, arch, out, fragments + [fragment(one) for one in debug])


def fragment(name: str) -> Path:
    path = DEBUG / f"{name}.config"
    if not path.exists():
        raise Failure(Status.USAGE, f"no fragment {name!r}; there are: "
                      + ", ".join(sorted(p.stem for p in DEBUG.glob("*.config"))))
    return path


def run_one(base: conf.Base, arch: conf.Arch, step: Step, tree_: Path, folder: Path,
            options) -> list[results.Result]:
    """Configure, build, boot and judge one kernel; a result for each boot."""
    folder.mkdir(parents=True)
    found = [results.Result(base.name, arch.name, step.name, folder=str(folder))]
    suites = suites_of(base, arch.name, step)
    if step.partial:    # in the middle of a topic a suite may not be there yet
        suites = {name: suite for name, suite in suites.items() if tree.git(
            tree_, "grep", "-l", f"^config {suite.symbol}$", "--", "mm/Kconfig", check=False)}
    chosen = narrowed(suites, options.suite)
    build = build_of(base, arch, tree_, suites, options.debug)
    label = f"{base.name} {step.name} {arch.name}"
    try:
        begun = time.monotonic()
        note(f"{label}: built" if kernel.make(build, folder / "build.log")
             else f"{label}: kernel is up to date")
        found[0].seconds["build"] = round(time.monotonic() - begun, 1)
        (folder / "config").write_bytes(build.config.read_bytes())
        found[0].image = kernel.stamp(build)["image"]
        if not chosen:
            found[0].messages.append("built; it has no suite yet")
            return found
        accel, why = boot.choose(arch, build.image, options.accel, conf.BUILD / "accel.json")
        note(f"{label}: booting" + (f" with {accel} ({why})" if accel else ""))
        said = boot_one(found[0], build, (arch, build.image, accel), kernel_args(arch, options),
                        chosen, step, options)
        if not step.partial and found[0].status is not Status.BOOT:
            found += boot_more(found[0], said, build, chosen.values(), step, options)
    except Failure as failure:
        if failure.status in (Status.SPACE, Status.USAGE, Status.MISSING):
            raise
        found[0].add(failure.status, str(failure))
    return found


def boot_one(result: results.Result, build: kernel.Build, machine_: tuple[conf.Arch, Path, str],
             arguments: list[str], suites: dict[str, conf.Suite], step: Step, options,
             stop: threading.Event | None = None) -> str:
    """Boot a kernel, judge what `suites` in it say, and return the console."""
    folder = Path(result.folder)
    arch, image, result.accel = machine_
    argv = boot.command(arch, image, result.accel, arguments)
    write_commands(folder, build, argv)
    console = folder / "console.log"
    outcome = boot.boot(argv, console, options.timeout,
                        boot.follow(f"{result.base} {result.step} {arch.name}"), stop)
    result.seconds["boot"] = round(outcome.seconds, 1)
    result.suites = results.parse(build.tree, console, folder / "kunit.json",
                                  folder / "kunit.log")
    narrow = step.partial or "." in (options.suite or "") or options.as_is
    names = [topic.name for topic in step.topics]
    results.judge(result, outcome, {name: 1 if narrow else suite.least(result.base, arch.name, names)
                                    for name, suite in suites.items()}, conf.suites())
    if outcome.code is None and result.accel == "kvm":
        result.messages.append("KVM may be to blame: try --accel tcg")
    return outcome.console


def boot_more(plain: results.Result, said: str, build: kernel.Build, suites: Iterable[conf.Suite],
              step: Step, options) -> list[results.Result]:
    """Boot a kernel for single suites on the other machines that they ask for.

    `said` is the console of the plain boot: what that has tested is not tested
    again. As many run at once as there are processors.
    """
    stop = threading.Event()

    def one(suite: conf.Suite, extra: conf.Boot) -> results.Result:
        folder = Path(plain.folder, f"{suite.name}-{extra.name}")
        folder.mkdir()
        result = results.Result(plain.base, plain.arch, f"{plain.step}, {extra.name}",
                                image=plain.image, folder=str(folder))
        try:
            machine_ = machine.of(build, extra, plain.accel, folder)
        except Failure as failure:
            if failure.status is not Status.MISSING:
                raise
            result.skip(suite.name, extra.name, failure.message.splitlines()[0])
            return result
        arguments = kernel_args(build.arch, options, suite.name)
        console = boot_one(result, build, machine_, [*arguments, *extra.args],
                           {suite.name: suite}, step, options, stop)
        whole = "." not in (options.suite or "")
        if whole and result.status is Status.OK and not re.search(extra.says, console):
            result.add(Status.COVERAGE, f"{suite.name} does not say {extra.says!r}: this boot "
                       "is not what it is for")
        return result

    with ThreadPoolExecutor(kernel.jobs()) as pool:
        futures = [pool.submit(one, suite, extra) for suite in suites
                   for extra in suite.boots_on(plain.base, plain.arch,
                                               [topic.name for topic in step.topics])
                   if not re.search(extra.says, said)]
        try:
            return [future.result() for future in futures]
        finally:
            stop.set()      # also where one has failed, or Ctrl-C came


def kernel_args(arch: conf.Arch, options, suite: str = "") -> list[str]:
    """What the kernel is told: which suites to run; `suite` narrows to that one."""
    pattern = options.suite or ""
    if suite:
        pattern = suite + (f".{pattern.partition('.')[2]}" if "." in pattern else "")
    return boot.kunit_args(arch) + ([f"kunit.filter_glob={pattern}"] if pattern else [])


def write_commands(folder: Path, build: kernel.Build, argv: list[str]) -> None:
    """A shell script that does by hand what this run did."""
    lines = ["#!/bin/sh -e", f"cd {shlex.quote(str(build.tree))}"]
    lines += [command_line(one, kernel.environment()) for one in build.commands()]
    lines += [f"{command_line(argv)} | tee console.log",
              f"{build.tree / kernel.KUNIT} parse console.log"]
    (folder / "commands.sh").write_text("\n".join(lines) + "\n")


def new_folder() -> Path:
    """A folder for this run, and `latest` pointing to it."""
    runs = conf.BUILD / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    for number in range(1, 1000):
        folder = runs / f"{stamp}-{number}"
        try:
            folder.mkdir()
            break
        except FileExistsError:
            continue
    link = runs / f".latest-{os.getpid()}"
    link.symlink_to(folder.name)
    os.replace(link, runs / "latest")
    return folder


def dry_run(base: conf.Base, arches: list[conf.Arch], options) -> int:
    """Print the commands instead of running them."""
    where = options.tree or base.tree
    say(f"scripts/setup --base {base.name}" + (f" --tree {where}" if options.tree else ""))
    for step in steps(base, options):
        if not options.as_is:
            say(f"# {step.name}: scripts/queue apply on {base.tree}: "
                + ", ".join(f"{t.name} ({len(t.patches)})" for t in step.topics))
        for arch in arches:
            build = build_of(base, arch, base.tree, suites_of(base, arch.name, step),
                             options.debug)
            for one in build.commands():
                say(command_line(one, kernel.environment()))
            accel = "tcg" if options.accel == "auto" else options.accel
            say(command_line(boot.command(arch, build.image, accel, kernel_args(arch, options))))
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="verify", description="Apply a queue to its base, build it, boot it, run the suites.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_bases(parser)
    parser.add_argument("--arch", action="append", choices=list(conf.arches()), metavar="ARCH",
                        help="can be repeated (default: those of the base; there are: "
                        + ", ".join(conf.arches()) + ")")
    parser.add_argument("--topic", action="append", metavar="T",
                        help="apply only kunit and T, can be repeated")
    parser.add_argument("--unpatched", action="store_true", help="apply only kunit")
    parser.add_argument("--each-patch", action="store_true",
                        help="build and test after every patch")
    parser.add_argument("--as-is", action="store_true",
                        help="apply nothing: test the tree as it stands, local changes included")
    parser.add_argument("--suite", metavar="GLOB",
                        help="run only these: suite or suite.case, * and ? allowed")
    parser.add_argument("--debug", action="append", default=[], metavar="FRAGMENT",
                        help="add configs/debug/FRAGMENT.config, can be repeated (there are: "
                        + ", ".join(sorted(p.stem for p in DEBUG.glob("*.config"))) + ")")
    parser.add_argument("--accel", choices=["auto", "kvm", "tcg"], default="auto",
                        help="QEMU's accelerator; auto tries KVM once on this host")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS",
                        help="for each boot (default: %(default)s)")
    add_source(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the commands, run none")
    options = parser.parse_args(arguments)
    if options.suite and not re.fullmatch(r"[\w.*?-]+", options.suite):
        parser.error("--suite takes letters, digits, _ . * ? -")
    if sum(map(bool, (options.topic, options.unpatched, options.as_is))) > 1:
        parser.error("--topic, --unpatched and --as-is exclude each other")
    if options.each_patch and options.as_is:
        parser.error("--each-patch and --as-is exclude each other")
    for name in options.debug:
        fragment(name)

    bases = [conf.base_named(name) for name in options.base or [conf.DEFAULT_BASE]]
    plan = [(base, [conf.arches()[name] for name in options.arch or base.arches])
            for base in bases]
    for base, arches in plan:
        for step in steps(base, options):
            if options.suite and not any(
                    narrowed(suites_of(base, arch.name, step), options.suite)
                    for arch in arches):
                raise Failure(Status.USAGE, f"no suite matches {options.suite!r}; there are: "
                              + ", ".join(conf.suites()))
    if options.dry_run:
        return worst(Status(dry_run(base, arches, options)) for base, arches in plan)
    return verify(plan, options)


def verify(plan, options) -> int:
    """Run the plan, report it, and return the exit status."""
    begun = time.monotonic()
    debian.install(["common", *dict.fromkeys(arch.name for _, arches in plan for arch in arches),
                    *options.debug])
    folder, found = new_folder(), []
    try:
        for base, arches in plan:
            tree_ = provide.base_tree(base, options.tree)
            with tree.lock(str(tree_)):
                for step in steps(base, options):
                    if not options.as_is:
                        check_out(tree_, base, step)
                    for arch in arches:
                        made = run_one(base, arch, step, tree_, folder / base.name
                                       / step.name.replace("/", "-") / arch.name, options)
                        found += made
                        for one in made:
                            report_one(one)
    finally:
        progress.clear()
        results.write_json(found, folder / "report.json")
        results.write_junit(found, folder / "junit.xml")
    say(results.table(found))
    say(f"{duration(time.monotonic() - begun)} min, report in {folder}")
    say(results.totals(found))
    return worst(result.status for result in found)


def check_out(tree_: Path, base: conf.Base, step: Step) -> None:
    """Bring the tree to the step: our branch for the whole queue, else a bare commit."""
    if step.name == "all":
        patchqueue.apply(tree_, base, step.topics)
        return
    tree.require_clean(tree_)
    tip = patchqueue.build_commit(tree_, patchqueue.base_commit(tree_), step.topics)
    if tree.resolve(tree_, "HEAD") != tip:
        tree.git(tree_, "checkout", "--quiet", "--detach", tip)


def report_one(result: results.Result) -> None:
    label = f"{result.base} {result.step} {result.arch}"
    took = ", ".join(f"{name} {duration(s)}" for name, s in result.seconds.items())
    note(f"{label}: {result.count('PASS')} passed, {result.failed} failed, "
         f"{result.count('SKIP')} skipped ({took})")
    for message in result.messages:
        note(f"{label}: {message}" + (f" [exit status {int(result.status)}]"
             if result.status is not Status.OK and message == result.messages[0] else ""))
