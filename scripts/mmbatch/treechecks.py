# SPDX-License-Identifier: GPL-2.0-only
"""The checks that need a kernel tree.

What a check found clean is not checked again while the base, the patches, the
configuration and the check itself are the same.
"""
from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import os
import re
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Iterator

from . import (cmd_verify, conf, debian, kernel, patchqueue, perfcheck, provide, results, series,
               suitefiles, tree)
from .cli import Failure, Status, note, progress, run

LINT_ARCH = "x86_64"
FOREIGN = re.compile(r"arch/(?!x86/)")      # files that a kernel of LINT_ARCH is not made of
RECORDED = Path(__file__).parent / "tests/data"
# New files belong under this project's own entry, MAINTAINERS.snippet.
CHECKPATCH_IGNORE = "FILE_PATH_CHANGES"
# checkpatch runs spdxcheck.py, which wants modules that only Debian's python3 sees.
SYSTEM_PYTHON = {"PATH": f"/usr/bin:{os.environ.get('PATH', '')}"}
POWERPC_PREFIX = "powerpc64le-linux-gnu-"
POWERPC = ["ARCH=powerpc", f"CROSS_COMPILE={POWERPC_PREFIX}"]
MESSAGE = re.compile(r"(warning|error|info): ")


@dataclass
class Queue:
    """A queue on its base: the tree, the topics, and the commits of its patches."""
    base: conf.Base
    tree: Path
    start: str
    topics: list[series.Topic]
    tip: str

    @functools.cached_property
    def commits(self) -> list[str]:
        found = patchqueue.topics_of_branch(self.tree, self.start, self.tip)
        return [commit for commits in found.values() for commit in commits]

    @property
    def patches(self) -> list[Path]:
        return [patch for topic in self.topics for patch in topic.patches]

    def files(self, older: str, newer: str) -> list[str]:
        """Files of the kernel that differ between two commits and are there in the newer."""
        return tree.git(self.tree, "diff", "--name-only", "--diff-filter=d",
                        older, newer, "--", ".", ":!tools").splitlines()

    def has(self, commit: str, path: str) -> bool:
        return bool(tree.git(self.tree, "ls-tree", "--name-only", commit, "--", path))

    def check_out(self, commit: str) -> None:
        if tree.resolve(self.tree, "HEAD") != commit:
            tree.require_clean(self.tree)
            tree.git(self.tree, "checkout", "--quiet", "--detach", commit)

    @property
    def arch(self) -> conf.Arch:
        return conf.arches()[LINT_ARCH]

    def of_files(self, names: Iterable[str]) -> list[conf.Arch]:
        """The architectures of the base with files of their own among `names`."""
        return [conf.arches()[arch] for arch in self.base.arches
                if any(name.startswith(f"arch/{arch}/") for name in names)]

    @property
    def suites(self) -> dict[str, conf.Suite]:
        """The suites of the queue, benchmarks included."""
        return {name: suite for name, suite in conf.suites().items()
                if self.base.name in suite.cases}

    def build(self, variant: str) -> kernel.Build:
        """The kernel of the whole queue, in a build folder of its own."""
        build = cmd_verify.build_of(self.base, self.arch, self.tree, self.suites, [], variant)
        build.out.mkdir(parents=True, exist_ok=True)
        return build


def load(base: conf.Base) -> Queue:
    kernel_tree = provide.base_tree(base)
    start, topics = patchqueue.base_commit(kernel_tree), series.read(base)
    return Queue(base, kernel_tree, start, topics,
                 patchqueue.build_commit(kernel_tree, start, topics))


def same_tree(queue: Queue) -> Iterator[str]:
    """git am in series order and quilt push -a end in the tree id of the branch."""
    wanted = tree.git(queue.tree, "rev-parse", f"{queue.tip}^{{tree}}")
    paths = series.touched(queue.patches)
    with tree.Scratch(queue.tree, queue.start, paths) as scratch:
        patchqueue.am(scratch, queue.patches)
        if (found := scratch.git("rev-parse", "HEAD^{tree}")) != wanted:
            yield f"git am gives tree {found}, the branch has {wanted}"
    with tree.Scratch(queue.tree, queue.start, paths) as scratch:
        env = {"QUILT_PATCHES": str(queue.base.queue), "QUILT_SERIES": str(queue.base.series),
               "QUILT_PC": str(scratch.path.parent / "pc"), "QUILTRC": "/dev/null"}
        done = run(["quilt", "--quiltrc=-", "push", "-a", "--fuzz=0"], cwd=scratch.path,
                   env=env, check=False)
        if done.returncode:
            yield f"quilt push -a:\n{done.stdout}{done.stderr}"
            return
        scratch.git("add", "--all", "--force", "--sparse", ".")
        if (found := scratch.git("write-tree")) != wanted:
            yield f"quilt push -a gives tree {found}, the branch has {wanted}"


def topics_alone(queue: Queue) -> Iterator[str]:
    """Each topic applies on base + kunit alone, with git am and with git am -3."""
    for topic in queue.topics:
        alone = series.pick(queue.topics, [topic.name])
        try:
            tip = patchqueue.build_commit(queue.tree, queue.start, alone)
            below = patchqueue.build_commit(queue.tree, queue.start, [
                other for other in alone if other.name != topic.name])
            with tree.Scratch(queue.tree, below, series.touched(topic.patches)) as scratch:
                patchqueue.am(scratch, topic.patches, three_way=True)
                found = scratch.git("rev-parse", "HEAD^{tree}")
            if found != tree.git(queue.tree, "rev-parse", f"{tip}^{{tree}}"):
                yield f"{topic.name}: git am -3 ends in another tree"
        except Failure as failure:
            yield f"{topic.name} alone on {series.FIRST}: {failure}"


def checkpatch(queue: Queue) -> Iterator[str]:
    """checkpatch.pl --strict; a cover may excuse a type: `checkpatch: TYPE: reason`."""
    queue.check_out(queue.tip)
    for topic in queue.topics:
        cover = topic.cover.read_text() if topic.cover.exists() else ""
        excused = re.findall(r"^checkpatch: ([A-Z_]+): \S", cover, re.MULTILINE)
        for patch in topic.patches:
            done = run(["perl", "scripts/checkpatch.pl", "--strict", "--no-signoff", "--terse",
                        "--no-summary", "--show-types", "--color=never",
                        f"--ignore={','.join([CHECKPATCH_IGNORE, *excused])}", patch],
                       cwd=queue.tree, check=False, env=SYSTEM_PYTHON)
            yield from (line for line in (done.stdout + done.stderr).splitlines() if line)


def lint(queue: Queue) -> Iterator[str]:
    """W=1 (with kernel-doc) and sparse: what a patch's files say beyond the base.

    Every commit is compiled; only messages that the base does not give count.
    """
    checker = provide.sparse(queue.tree)
    build = queue.build("lint")
    queue.check_out(queue.tip)
    configure(build, build.kunit("config"))
    known: Counter[str] = Counter()
    before = queue.start
    for commit in [queue.start, *queue.commits]:
        # The base is asked about all that any patch touches.
        queue.check_out(commit)
        names = queue.files(before, queue.tip if commit == queue.start else commit)
        names = [name for name in names if queue.has(commit, name)]
        progress.show(f"lint {commit[:12]}: {' '.join(names)}")
        said = messages(build, [f"CHECK={checker}", "C=2", "W=1"],
                        [name for name in names if name.endswith(".c")])
        said += kernel_doc(queue, [name for name in names if name.endswith(".h")])
        if commit == queue.start:
            known = said
        title = tree.git(queue.tree, "log", "-1", "--format=%s", commit)
        yield from (f"{title}: {line}" for line in (said - known))
        before = commit


def messages(build: kernel.Build, options: list[str], sources: list[str]) -> Counter[str]:
    """What make says while it compiles `sources`, line numbers left out."""
    if not sources:
        return Counter()
    make = ["make", "-C", build.tree, f"O={build.out}", f"-j{kernel.jobs()}",
            f"ARCH={build.arch.name}", *([f"CROSS_COMPILE={build.cross()}"] * bool(build.cross()))]
    objects = [name.removesuffix(".c") + ".o" for name in sources]
    run([*make, "olddefconfig", "prepare"], env=kernel.environment(), status=Status.BUILD)
    for name in objects:
        (build.out / name).unlink(missing_ok=True)
    done = run([*make, "--keep-going", *options, *objects], env=kernel.environment(), check=False)
    found = Counter(normal(line) for line in (done.stdout + done.stderr).splitlines()
                    if MESSAGE.search(line))
    if done.returncode and not found:
        raise Failure(Status.BUILD, "\n".join(done.stderr.splitlines()[-20:]))
    return found


def normal(line: str) -> str:
    """A message without the numbers that a patch above it changes."""
    return re.sub(r":\d+(:\d+)?(?=[: ])", "", line.strip().removeprefix("../"))


def kernel_doc(queue: Queue, headers: list[str]) -> Counter[str]:
    """What the tree's kernel-doc says of headers; W=1 does the same for sources."""
    script = next((queue.tree / name for name in ("scripts/kernel-doc", "tools/docs/kernel-doc")
                   if (queue.tree / name).exists()), None)
    if not headers or not script:
        return Counter()
    done = run([script, "-none", "-Wall", *headers], cwd=queue.tree, check=False)
    return Counter(normal(line) for line in (done.stdout + done.stderr).splitlines()
                   if MESSAGE.search(line.lower()))


def configure(build: kernel.Build, command: list[str]) -> None:
    done = run(command, env=kernel.environment(), check=False)
    if done.returncode:
        raise Failure(Status.CONFIG, "\n".join(kernel.unmet(build)) or done.stderr)


def symbols(queue: Queue) -> Iterator[str]:
    """Each Kconfig symbol that a patch or a fragment names is in the tree.

    A suite that several queues share may name one that only some bases have;
    the first of them has to have all.
    """
    shared = [f":!{name}" for name in suitefiles.of_queue(queue.base)
              if queue.base != conf.queued_bases()[0]
              and not (conf.ROOT / "kunit" / queue.base.name / name).exists()]
    added = tree.git(queue.tree, "diff", queue.start, queue.tip, "--", ".", *shared)
    named = {symbol: "the queue" for symbol in
             re.findall(r"^\+.*?\bCONFIG_([A-Z0-9_]+?)(?:_MODULE)?\b", added, re.MULTILINE)}
    for line in re.findall(r"^\+\s+(?:depends on|select|imply|default) (.*)$", added, re.MULTILINE):
        named |= {symbol: "a Kconfig of the queue"
                  for symbol in re.findall(r"\b[A-Z][A-Z0-9_]+\b", line)}
    for fragment in sorted((conf.ROOT / "configs").glob("*/*.config")):
        named |= {match[1] or match[3]: str(fragment.relative_to(conf.ROOT))
                  for line in fragment.read_text().splitlines()
                  if (match := kernel.ENTRY.fullmatch(line))}
    defined = set(re.findall(r"config ([A-Z0-9_]+)$", tree.git(
        queue.tree, "grep", "-hE", r"^\s*(menu)?config [A-Z0-9_]+\s*$", queue.tip, "--",
        "*Kconfig*"), re.MULTILINE))
    yield from (f"{where}: CONFIG_{symbol} is not in the tree"
                for symbol, where in sorted(named.items()) if symbol not in defined)


def fragments(queue: Queue) -> Iterator[str]:
    """Each debug fragment can be set on top of the suites' configuration."""
    queue.check_out(queue.tip)
    suites = cmd_verify.suites_of(queue.base, LINT_ARCH, cmd_verify.Step("all", queue.topics))
    for path in sorted(cmd_verify.DEBUG.glob("*.config")):
        progress.show(f"fragments: {path.stem}")
        if debian.missing([path.stem]):
            note(f"{path.stem} is not checked: its compiler is not installed")
            continue
        build = cmd_verify.build_of(queue.base, queue.arch, queue.tree, suites, [path.stem])
        build.out = conf.BUILD / "out" / queue.base.name / f"{LINT_ARCH}-fragments"
        build.out.mkdir(parents=True, exist_ok=True)
        if run(build.kunit("config"), env=kernel.environment(), check=False).returncode:
            yield from kernel.unmet(build) or [f"{path}: cannot be configured"]


def each_patch(queue: Queue) -> Iterator[str]:
    """After every patch the kernel builds, boots, and the suites there pass.

    So does that of an architecture whose own files a patch touches. A patch for
    other architectures alone leaves the image as it is; one of tools/ alone is
    nothing to a kernel, and for the check `perf`.
    """
    options = argparse.Namespace(topic=None, unpatched=False, each_patch=True, as_is=False,
                                 suite=None, debug=[], accel="tcg", timeout=300)
    folder, before = cmd_verify.new_folder(), ""
    for step in cmd_verify.steps(queue.base, options):
        touched = series.touched(step.topics[-1].patches[-1:])
        if all(name.startswith("tools/") for name in touched):
            continue
        cmd_verify.check_out(queue.tree, queue.base, step)
        found = []
        for arch in [queue.arch, *queue.of_files(touched)]:
            found += cmd_verify.run_one(queue.base, arch, step, queue.tree, folder
                                        / step.name.replace("/", "-") / arch.name, options)
        if found[0].image != before and all(FOREIGN.match(name) for name in touched):
            yield f"{step.name}: for other architectures, and changes the image of {LINT_ARCH}"
        before = found[0].image
        for result in found:
            cmd_verify.report_one(result)
            if result.status is not Status.OK:
                yield f"{result.step} {result.arch}: " + "\n".join(result.messages)


def modules(queue: Queue) -> Iterator[str]:
    """The suites link as modules, against a kernel with KUnit as a module."""
    queue.check_out(queue.tip)
    build = queue.build("modules")
    configure(build, build.kunit("config"))
    suites = [suite.symbol for suite in queue.suites.values()]
    make = build_by_hand(queue, build, [f"ARCH={LINT_ARCH}"],
                         ["-e", "MODULES", *(word for symbol in ["KUNIT", *suites]
                                             for word in ("-m", symbol))])
    progress.show("modules: building")
    done = run([*make, "all"], env=kernel.environment(), check=False)
    if done.returncode:
        yield "\n".join(done.stderr.splitlines()[-20:])
        return
    for name in queue.suites:
        if not (build.out / conf.SUITE_PREFIX / f"{name}_kunit.ko").exists():
            yield f"{conf.SUITE_PREFIX}{name}_kunit.ko was not made"


def powerpc(queue: Queue) -> Iterator[str]:
    """What the queue touches compiles on powerpc, where a table's size varies."""
    queue.check_out(queue.tip)
    build = queue.build("powerpc")
    make = ["make", "-C", queue.tree, f"O={build.out}", f"-j{kernel.jobs()}", *POWERPC]
    run([*make, "pseries_le_defconfig"], env=kernel.environment(), status=Status.CONFIG)
    suites = [suite.symbol for suite in queue.suites.values()]
    make = build_by_hand(queue, build, POWERPC, [
        word for symbol in ["KUNIT", *suites] for word in ("-e", symbol)])
    have = kernel.entries(build.config)
    yield from (f"CONFIG_{symbol} cannot be set on powerpc" for symbol in suites
                if have.get(symbol, "n") == "n")
    objects = [name.removesuffix(".c") + ".o" for name in queue.files(queue.start, queue.tip)
               if name.endswith(".c") and not name.startswith("arch/")]
    progress.show("powerpc: compiling")
    done = run([*make, "prepare"], env=kernel.environment(), status=Status.BUILD)
    done = run([*make, *objects], env=kernel.environment(), check=False)
    found = [line for line in done.stderr.splitlines() if MESSAGE.search(line)]
    yield from found
    if done.returncode and not found:
        yield "\n".join(done.stderr.splitlines()[-20:])


def build_by_hand(queue: Queue, build: kernel.Build, arch: list[str],
                  changes: list[str]) -> list[str]:
    """Change a .config with the tree's scripts/config; return make's command line."""
    run([queue.tree / "scripts/config", "--file", build.config, *changes], status=Status.CONFIG)
    cross = next((word.partition("=")[2] for word in arch if word.startswith("CROSS")), "")
    compiler = [f"CC=ccache {cross}gcc"] if shutil.which("ccache") else []
    make = ["make", "-C", queue.tree, f"O={build.out}", f"-j{kernel.jobs()}", *arch, *compiler]
    run([*make, "olddefconfig"], env=kernel.environment(), status=Status.CONFIG)
    return make


def maintainers(queue: Queue) -> Iterator[str]:
    """get_maintainer.pl accepts MAINTAINERS with the snippet pasted in."""
    snippet = (conf.ROOT / "MAINTAINERS.snippet").read_text()
    entry = "\n".join(line for line in snippet.splitlines() if not line.startswith("#")).strip()
    paths = {"MAINTAINERS", "scripts/get_maintainer.pl", *series.touched(queue.patches)}
    with tree.Scratch(queue.tree, queue.tip, paths) as scratch:
        target = scratch.path / "MAINTAINERS"
        rest, mark, last = target.read_text().rpartition("\nTHE REST\n")
        for folder in ("arch", "drivers", "fs", "include", "init", "ipc", "kernel", "lib",
                       "Documentation"):
            (scratch.path / folder).mkdir(exist_ok=True)
        for name in ("COPYING", "CREDITS", "Kbuild", "Makefile", "README"):
            (scratch.path / name).touch()

        def ask(*words: str) -> str:
            done = run(["perl", "scripts/get_maintainer.pl", *words], cwd=scratch.path,
                       check=False)
            return done.stdout + done.stderr

        # The patterns of the whole file take two minutes: only ours.
        target.write_text(f"{entry}\n")
        found = ask("--self-test=patterns")
        target.write_text(f"{rest}\n{entry}\n{mark}{last}")
        found += ask("--self-test=sections")
        title = entry.splitlines()[0]
        yield from (line for line in found.splitlines()
                    if title in line or "no file matches" in line)
        names = sorted(path for path in series.touched(queue.patches)
                       if path.startswith(conf.SUITE_PREFIX))
        for name in names:
            said = ask("--no-git", "--no-git-fallback", "--sections", "-f", name)
            if title not in said and not name.endswith("/.kunitconfig"):
                yield f"get_maintainer.pl does not find '{title}' for {name}: {said}"


def perf(queue: Queue) -> Iterator[str]:
    """perf builds after each patch to it, and its tests of bench mem pass in a VM."""
    yield from perfcheck.check(queue.base, queue.arch, queue.topics, queue.commits)


def recordings(queue: Queue) -> Iterator[str]:
    """The tree's kunit.py reads the recorded consoles as the unit tests believe."""
    queue.check_out(queue.tip)
    with tempfile.TemporaryDirectory() as folder:
        for console in sorted(RECORDED.glob("*.console.log")):
            report = console.with_name(console.name.replace(".console.log", ".kunit.json"))
            if not report.exists():     # nothing in it that kunit.py could read
                continue
            made = Path(folder) / report.name
            found = results.parse(queue.tree, console, made, Path(folder) / "log")
            if found != results.cases(report, console):
                yield f"{console.name}: kunit.py of {queue.base.name} reads {found}"


CHECKS: dict[str, tuple[Callable[[Queue], Iterable[str]], Status]] = {
    "same-tree": (same_tree, Status.QUEUE),
    "topics-alone": (topics_alone, Status.QUEUE),
    "checkpatch": (checkpatch, Status.TEST),
    "recordings": (recordings, Status.TEST),
    "kconfig": (symbols, Status.TEST),
    "fragments": (fragments, Status.TEST),
    "get_maintainer": (maintainers, Status.TEST),
    "lint": (lint, Status.TEST),
    "powerpc": (powerpc, Status.TEST),
    "perf": (perf, Status.TEST),
    "each-patch": (each_patch, Status.TEST),
    "modules": (modules, Status.TEST),
}


def plan(bases: list[conf.Base], only: list[str] | None):
    """name, check and status of each check for each base, in order."""
    wanted = [name for name in CHECKS if not only or name in only]
    if wanted:
        debian.install(["common", *dict.fromkeys(arch for base in bases for arch in base.arches),
                        "check"])
    return [(f"{base.name}/{name}", functools.partial(kept, base, name), CHECKS[name][1])
            for base in bases for name in wanted]


def kept(base: conf.Base, name: str) -> list[str]:
    """What a check finds; nothing, at once, where it found nothing before."""
    with tree.lock(str(base.tree)) if base.tree.is_dir() else contextlib.nullcontext():
        queue = load(base)
        digest = hashlib.sha256(series.content_key(queue.start, queue.topics).encode())
        inputs = [conf.ROOT / "kunit/suites.toml", conf.ROOT / "MAINTAINERS.snippet",
                  *(topic.cover for topic in queue.topics),
                  *sorted((conf.ROOT / "configs").rglob("*.*")),
                  *sorted(RECORDED.glob("*")), *sorted((conf.ROOT / "bench/user").glob("*")),
                  *sorted(Path(__file__).parent.glob("*.py")),
                  *sorted(Path(__file__).parent.glob("bench/*.py"))]
        for path in inputs:
            digest.update(path.read_bytes() if path.exists() else b"")
        for compiler in ("gcc", f"{POWERPC_PREFIX}gcc"):
            digest.update(run([compiler, "--version"]).stdout.encode())
        mark = conf.BUILD / "checked" / f"{base.name}-{name}-{digest.hexdigest()}"
        if mark.exists():
            return []
        problems = list(CHECKS[name][0](queue))
        if not problems:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
        return problems
