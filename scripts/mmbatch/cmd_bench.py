# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench"""
from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

from . import boot, conf, debian, provide, series, tree
from .bench import guard, guest, perf, plot, primitives, record, report, states, user
from .cli import Failure, Status, duration, note, progress, run, say, worst
from .options import add_bases, add_source

EPILOG = """\
--counted  instructions of each workload, by QEMU's -icount: two runs of each
           kernel, which agree to a part in a million on any machine
--timed    primitives of the tree in user space on this processor, by page and
           by range, base and queue in turn; the figure is the ratio
--events   page faults, folio splits and TLB flushes of each workload
--kvm      time in the guest under KVM, base and queue in turn

What was measured is in build/bench/BASE/: a record (JSON, with the raw lines),
a table (.rst) and a plot (.svg). --keep puts them into Documentation/results
too. --check measures what is counted and compares it with what is kept there.

exit status: 0 measured, and nothing worse; 1 worse than what is kept, or a
fault of the benchmark: two runs differ, a workload did not do its work; 2
usage; 3 configuration, 4 build, 5 boot or time-out, 6 the kernel complained, 8
the queue does not apply, 9 a tool is missing or KVM does not work here, 11
uncommitted changes in the tree, 12 no space left, 130 interrupted
"""
KINDS = list(record.DERIVE)
COUNTED_RUNS = 2        # of each kernel, to compare


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="bench", description="Measure a queue against base + kunit.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_bases(parser)
    parser.add_argument("--topic", action="append", metavar="T",
                        help="measure kunit and T instead of the whole queue, can be repeated")
    parser.add_argument("--arch", action="append", metavar="ARCH",
                        choices=[name for name, arch in conf.arches().items() if arch.qemu],
                        help="can be repeated (default: those of the base that QEMU runs)")
    kind = parser.add_mutually_exclusive_group()
    for name in KINDS:
        kind.add_argument(f"--{name}", dest="kind", action="store_const", const=name,
                          help="see below" + "; the default" * (name == "counted"))
    parser.set_defaults(kind="counted")
    parser.add_argument("--quick", action="store_true",
                        help="smaller regions, no perf; kept apart from the full set")
    parser.add_argument("--repeat", type=int, metavar="N",
                        help="runs of each kernel (default: counted 2, events 1, kvm and timed "
                        f"{primitives.PAIRS})")
    parser.add_argument("--check", action="store_true",
                        help="fail where a count is worse than what is kept; needs --counted")
    parser.add_argument("--keep", action="store_true",
                        help="write the record, the plot and the table into "
                        "Documentation/results")
    parser.add_argument("--no-perf", action="store_true", help="leave perf bench mem mmap out")
    parser.add_argument("--timeout", type=float, default=900, metavar="SECONDS",
                        help="for each boot (default: %(default)s)")
    add_source(parser)
    options = parser.parse_args(arguments)
    if options.check and options.kind != "counted":
        parser.error("--check compares counts: it goes with --counted")
    if options.check and (options.topic or options.keep):
        parser.error("--check is about the whole queue, and keeps nothing")
    if options.repeat is not None and options.repeat < (COUNTED_RUNS if options.kind == "counted"
                                                        else 1):
        parser.error("--repeat: too few; counting takes two runs to compare")

    statuses, counts = [], [0, 0, 0]
    for name in options.base or [conf.DEFAULT_BASE]:
        status, numbers = one_base(conf.base_named(name), options)
        statuses.append(status)
        counts = [a + b for a, b in zip(counts, numbers)]
    say("{} passed, {} failed, {} skipped".format(*counts))
    return worst(statuses)


def one_base(base: conf.Base, options) -> tuple[Status, list[int]]:
    """Measure one base, report it, and judge it."""
    begun = time.monotonic()
    arches = [arch for arch in (conf.arches()[name] for name in options.arch or base.arches)
              if guest.benchmarks(base, arch)]
    needed = ["common", "bench", *(arch.name for arch in arches)]
    debian.install(needed if options.kind != "timed" else ["common", "bench"])
    provide.base_tree(base, options.tree)
    topics = series.pick(series.read(base), options.topic)
    folder = conf.BUILD / "bench" / base.name
    folder.mkdir(parents=True, exist_ok=True)
    made = {"kind": options.kind, "base": base.name, "narrowed": bool(options.topic),
            "topics": [topic.name for topic in topics], "quick": options.quick,
            "command": command(base, options), **report.surroundings(base, topics)}
    kept = guard.kept(made) if options.check else None     # missing: before all the work
    with tree.lock(str(base.tree)):
        if options.kind == "timed":
            made["runs"], made["tools"] = timed(base, topics, options)
        else:
            made["runs"], made["tools"] = booted(base, topics, arches, folder, options)
    made["results"] = record.derive(made)
    target = folder / f"{record.name_of(made)}.json"
    report.publish(made, target)
    say(plot.table(made))
    faults = list(record.faults(made))
    for fault in faults:
        note(f"fault of the benchmark: {fault}")
    worse = list(guard.unlisted(made)) if options.kind == "counted" else []
    worse += guard.compare(made, kept) if kept else []
    for line in worse:
        note(f"worse: {line}")
    if options.keep and not faults:
        report.keep(made)
    note(f"{base.name}: {duration(time.monotonic() - begun)} min, {target}")
    bad = len(faults) + len(worse)
    return (Status.TEST if bad else Status.OK), [max(len(made["results"]) - bad, 0), bad, 0]


def command(base: conf.Base, options) -> str:
    """The command that measures this again, on any machine."""
    words = [f"scripts/bench --base {base.name}" if options.base else "scripts/bench",
             f"--{options.kind}", *(f"--topic {name}" for name in options.topic or []),
             *(f"--arch {name}" for name in options.arch or []),
             *(["--quick"] if options.quick else []),
             *(["--no-perf"] if options.no_perf else []),
             *([f"--repeat {options.repeat}"] if options.repeat else [])]
    return " ".join(words)


def timed(base: conf.Base, topics: list[series.Topic], options):
    runs = primitives.measure(base, topics, options.repeat or primitives.PAIRS,
                              256 if options.quick else primitives.REGION_MB)
    compiler = run(["gcc", "--version"]).stdout.splitlines()[0]
    return runs, {platform.machine(): {"compiler": compiler}}


def booted(base: conf.Base, topics: list[series.Topic], arches: list[conf.Arch], folder: Path,
           options):
    """Boot the kernels of each architecture and collect their lines."""
    sizes = guest.QUICK if options.quick else guest.FULL
    accel = "kvm" if options.kind == "kvm" else "tcg"
    built = guest.kernels(base, topics, arches, folder, options.kind)
    if accel == "kvm":
        built = with_kvm(built)
    commit = states.commits(base, topics)["queue"]
    repeat = options.repeat or {"counted": COUNTED_RUNS, "events": 1, "kvm": primitives.PAIRS}[
        options.kind]
    jobs = []
    archives = {}
    for one in built:
        if one.arch.name not in archives:
            with_perf = None if options.quick or options.no_perf or options.kind == "events" \
                else perf.build(base, one.arch, commit)
            archives[one.arch.name] = user.make(
                one.cpio, user.FOLDER / one.arch.name / f"{base.name}.cpio",
                user.SOURCES / "init", {
                    "/bin/busybox": user.program(one.arch, "busybox"),
                    "/bin/mmbench": user.mmbench(one.arch),
                    **({"/bin/perf": with_perf} if with_perf else {})})
    for number in range(1, repeat + 1):
        for part in ("kernel", "user"):
            for one in built:       # base, queue, base, queue: in turn
                name = f"{one.arch.name}-{one.state}-{part}-{number}"
                argv = guest.command(one, accel, sizes,
                                     archives[one.arch.name] if part == "user" else None)
                jobs.append(guest.Job(one, part, number, argv, folder / f"{name}.console.log"))
    # Under KVM time is measured: nothing may run beside a guest.
    guest.run_all(jobs, options.timeout, 1 if accel == "kvm" else guest.at_once(len(jobs)))
    progress.clear()
    tools = {}
    for one in built:
        version = run([one.arch.qemu, "--version"]).stdout.splitlines()[0]
        tools.setdefault(one.arch.name, {"qemu": version, "compiler": one.info["compiler"],
                                         "config_sha256": one.info["config_sha256"],
                                         "release": one.info["release"]})
    return [job.record for job in jobs], tools


def with_kvm(built: list[guest.Kernel]) -> list[guest.Kernel]:
    """The kernels that KVM runs here; none is an error."""
    found, reasons = [], []
    for one in built:
        accel, why = boot.choose(one.arch, one.image, "auto", conf.BUILD / "accel.json")
        if accel == "kvm":
            found.append(one)
        else:
            reasons.append(f"{one.arch.name}: {why}")
    if not found:
        raise Failure(Status.MISSING, "KVM does not work here:\n  "
                      + "\n  ".join(dict.fromkeys(reasons)), "--counted works on any machine")
    for reason in dict.fromkeys(reasons):
        note(f"left out, {reason}")
    return found
