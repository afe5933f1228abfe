# SPDX-License-Identifier: GPL-2.0-only
"""Configuring and building a kernel through the tree's own kunit.py.

A build is keyed by what goes into it: the tree's content, the fragments, the
compilers. While the key and the image are the same, nothing is run.
"""
from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import conf, tree
from .cli import Failure, Status, command_line, duration, progress, run
from .sources import sha256

KUNIT = "tools/testing/kunit/kunit.py"
STAMP = "mm-batch.json"
ENTRY = re.compile(r"(?:CONFIG_(\w+)=(.*)|# CONFIG_(\w+) is not set)\s*")
COMPILER = re.compile(r"^#.* Compiler: (\S+)$", re.MULTILINE)      # in a fragment
# The same sources give the same image, wherever and whenever they are built.
ENV = {"KBUILD_BUILD_TIMESTAMP": "2000-01-01", "KBUILD_BUILD_USER": "mm-batch",
       "KBUILD_BUILD_HOST": "mm-batch", "KBUILD_BUILD_VERSION": "1", "LOCALVERSION": "",
       "LC_ALL": "C"}


@dataclass
class Build:
    """One kernel: a tree, an architecture, fragments, and the folder it is built in."""
    tree: Path
    arch: conf.Arch
    out: Path
    fragments: list[Path]

    @property
    def image(self) -> Path:
        return self.out / self.arch.image

    @property
    def config(self) -> Path:
        return self.out / ".config"

    def kunit(self, command: str, *words: str | Path) -> list[str]:
        """The command line of kunit.py for `command` (config or build)."""
        line = [sys.executable, str(self.tree / KUNIT), command,
                f"--arch={self.arch.kunit}", f"--build_dir={self.out}"]
        line += [f"--kunitconfig={fragment}" for fragment in self.fragments]
        if prefix := self.cross():
            line.append(f"--cross_compile={prefix}")
        cached = "ccache " if shutil.which("ccache") else ""
        if cached or self.compiler() != f"{prefix}gcc":
            line.append(f"--make_options=CC={cached}{self.compiler()}")
        return [*line, *map(str, words)]

    def cross(self) -> str:
        return cross(self.arch)

    def compiler(self) -> str:
        """The one that a fragment asks for, or gcc."""
        asked = [match[1] for fragment in self.fragments
                 if (match := COMPILER.search(fragment.read_text()))]
        return asked[0] if asked else f"{self.cross()}gcc"

    def commands(self) -> list[list[str]]:
        """What configures and builds the kernel, for people to run again."""
        return [self.kunit("config"), self.kunit("build", f"--jobs={jobs()}")]


def cross(arch: conf.Arch) -> str:
    """Prefix of the compiler for `arch`, "" for the machine's own."""
    if platform.machine() in arch.host:
        return ""
    if not arch.cross:
        raise Failure(Status.USAGE, f"{arch.name} kernels are not built on "
                      f"{platform.machine()}", "leave it out with --arch")
    return arch.cross


def jobs() -> int:
    return len(os.sched_getaffinity(0))


def environment() -> dict[str, str]:
    return {**ENV, "CCACHE_BASEDIR": str(conf.ROOT)}


def tree_state(kernel: Path) -> str:
    """The id of the work tree's content, uncommitted changes included."""
    if not tree.dirty(kernel):
        return tree.git(kernel, "rev-parse", "HEAD^{tree}")
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        shutil.copy(tree.git(kernel, "rev-parse", "--path-format=absolute",
                             "--git-path", "index"), index)
        env = {"GIT_INDEX_FILE": str(index)}
        tree.git(kernel, "add", "--all", env=env)
        return tree.git(kernel, "write-tree", env=env)


def key(build: Build, state: str = "") -> str:
    """What the build depends on; `state` is a tree's id, none: the work tree's."""
    digest = hashlib.sha256((state or tree_state(build.tree)).encode())
    for word in build.kunit("build"):
        digest.update(word.encode() + b"\0")
    for fragment in build.fragments:
        digest.update(fragment.read_bytes() + b"\0")
    for tool in (build.compiler(), f"{build.cross()}ld"):
        digest.update(run([tool, "--version"]).stdout.encode())
    return digest.hexdigest()


def stamp(build: Build) -> dict[str, str]:
    """What the folder was built from, `key`, and the SHA-256 of the `image` it gave."""
    return json.loads((build.out / STAMP).read_text())


def up_to_date(build: Build, wanted: str) -> bool:
    """Whether the folder holds the image of this very key."""
    try:
        made = stamp(build)
        return made["key"] == wanted and made["image"] == sha256(build.image)
    except (OSError, ValueError, KeyError):
        return False


def make(build: Build, log: Path) -> bool:
    """Configure and build; False if all was up to date already.

    What kunit.py says goes to `log`.
    """
    wanted = key(build)
    if up_to_date(build, wanted):
        log.write_text("nothing changed since the last build\n")
        return False
    tree.need_space(build.out.parent, 1 << 30)
    build.out.mkdir(parents=True, exist_ok=True)
    (build.out / STAMP).unlink(missing_ok=True)
    for name, command, status in (
            ("configuring", build.kunit("config"), Status.CONFIG),
            ("building", build.kunit("build", f"--jobs={jobs()}"), Status.BUILD)):
        code = _watch(f"{build.arch.name}: {name}", command, log, build.out)
        if code and status is Status.CONFIG:
            problems = unmet(build)
            raise Failure(Status.CONFIG, "not in the final .config:\n" + "\n".join(problems)
                          if problems else f"{build.arch.name} could not be configured:\n"
                          + _tail(log), f"see {log}")
        if code:
            text = log.read_text(errors="replace")
            if "No space left on device" in text:
                raise Failure(Status.SPACE, f"no space left for {build.out}\n{_tail(log)}")
            raise Failure(status, f"{build.arch.name} did not build:\n{_errors(text)}",
                          f"see {log}; again: {command_line(command)}")
    (build.out / STAMP).write_text(json.dumps(
        {"key": wanted, "image": sha256(build.image)}) + "\n")
    return True


def _watch(what: str, command: list[str], log: Path, out: Path) -> int:
    """Run a command with its output in `log` and show how far it is."""
    begun, since = time.monotonic(), time.time()
    with open(log, "a") as file:
        file.write(f"$ {command_line(command, environment())}\n")
        file.flush()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file,
                                 stderr=subprocess.STDOUT, start_new_session=True,
                                 env={**os.environ, **environment()})
        try:
            while True:
                try:
                    return child.wait(timeout=2)
                except subprocess.TimeoutExpired:
                    progress.show(f"{what}, {_compiled(out, since)} objects, "
                                  f"{duration(time.monotonic() - begun)}")
        finally:
            if child.poll() is None:
                os.killpg(child.pid, 15)
                child.wait()


def _compiled(out: Path, since: float) -> int:
    """How many objects below `out` are newer than `since`."""
    count = 0
    for folder, _, names in os.walk(out):
        for name in names:
            if name.endswith(".o"):
                try:
                    count += os.stat(os.path.join(folder, name)).st_mtime >= since
                except OSError:
                    pass
    return count


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join("  | " + line for line in
                     log.read_text(errors="replace").splitlines()[-lines:])


def _errors(text: str) -> str:
    """The compiler's and make's own complaints, and what stands around them."""
    lines = text.splitlines()
    wanted = [line for line in lines if re.search(r"error:|Error \d|undefined ref|warning:", line)]
    return "\n".join("  | " + line for line in (wanted or lines)[:20])


def entries(config: Path) -> dict[str, str]:
    """symbol -> value of a .config; `n` where it says "is not set"."""
    found = {}
    for line in config.read_text().splitlines():
        if match := ENTRY.fullmatch(line):
            found[match[1] or match[3]] = match[2] if match[1] else "n"
    return found


def unmet(build: Build) -> list[str]:
    """For each symbol of a fragment that .config has otherwise: where, and why."""
    have = entries(build.config) if build.config.exists() else {}
    problems = []
    for fragment in build.fragments:
        for number, line in enumerate(fragment.read_text().splitlines(), 1):
            match = ENTRY.fullmatch(line)
            if not match:
                continue
            symbol, value = match[1] or match[3], match[2] if match[1] else "n"
            if have.get(symbol, "n") != value:
                problems.append(f"  {fragment}:{number}: CONFIG_{symbol}={value}: "
                                + why_not(build.tree, symbol, value, have))
    return problems


def why_not(kernel: Path, symbol: str, value: str, have: dict[str, str]) -> str:
    """Why a symbol did not get its value: unknown, or which dependency is unmet."""
    places = tree.git(kernel, "grep", "-nE", rf"^\s*(menu)?config {symbol}\s*$", "--",
                      "*Kconfig*", check=False).splitlines()
    if not places:
        return "this tree has no such symbol"
    if value == "n":
        return f"is {have.get(symbol)}: another symbol selects it"
    reasons = []
    for place in places:
        name, line, _ = place.split(":", 2)
        text = (kernel / name).read_text().splitlines()[int(line):]
        block = text[:next((i for i, l in enumerate(text)
                            if re.match(r"\s*(menu)?config |(end)?(menu|if|choice)\b|source ", l)),
                           len(text))]
        depends = re.findall(r"^\s+depends on (.+)$",
                             "\n".join(block).replace("\\\n", " "), re.MULTILINE)
        symbols = sorted(set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", " ".join(depends))))
        state = ", ".join(f"{s}={have.get(s, 'n')}" for s in symbols)
        around = "see the menu, `if` or choice around it"
        if not depends:
            reason = f"no dependency of its own; {around}"
        else:
            reason = f"depends on {' && '.join(depends)} ({state})"
            if all(have.get(s, "n") != "n" for s in symbols):
                reason += f"; if that is met, {around}"
        reasons.append(f"{name}:{line}: {reason}")
    return "dependency unmet: " + "; ".join(reasons)
