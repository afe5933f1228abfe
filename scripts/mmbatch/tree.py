# SPDX-License-Identifier: GPL-2.0-only
"""Kernel trees: importing one, asking git about it, and scratch clones of it."""
from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Iterator

from . import conf
from .cli import Failure, Status, note, run

BASE_REF = "refs/mm-batch/base"
IMPORT_BYTES = 4 << 30          # a tree with its objects, with room to spare
IDENTITY = {                    # of what the scripts commit: the same content, the same id
    "GIT_COMMITTER_NAME": "mm-batch", "GIT_COMMITTER_EMAIL": "mm-batch@localhost",
    "GIT_AUTHOR_NAME": "mm-batch", "GIT_AUTHOR_EMAIL": "mm-batch@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z", "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
}


def git(tree: Path, *words: str | Path, check: bool = True, status: Status = Status.QUEUE,
        env: dict[str, str] | None = None, stdin: str | bytes | None = None) -> str:
    """Run git in `tree`; return what it prints, without the last line's end."""
    return run(["git", "-C", tree, *words], check=check, status=status,
               env=env, stdin=stdin).stdout.rstrip("\n")


def resolve(tree: Path, ref: str) -> str:
    """The commit that `ref` names, or "" if there is none."""
    return git(tree, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", check=False)


def version_of(makefile: str) -> str:
    """VERSION.PATCHLEVEL of a kernel's Makefile, or ""."""
    found = [re.search(rf"^{name}\s*=\s*(\d+)\s*$", makefile, re.MULTILINE)
             for name in ("VERSION", "PATCHLEVEL")]
    return ".".join(match[1] for match in found if match) if all(found) else ""


def check_version(base: conf.Base, makefile: str, where: str | Path) -> None:
    version = version_of(makefile)
    if version != base.version:
        what = f"version {version}" if version else "not a kernel tree"
        raise Failure(Status.VERSION, f"{where} is {what}; base {base.name} needs {base.version}",
                      "name the base with --base, or give another tree with --tree")


def is_git(path: Path) -> bool:
    return path.is_dir() and run(["git", "-C", path, "rev-parse", "--git-dir"],
                                 check=False).returncode == 0


def dirty(tree: Path) -> list[str]:
    """Tracked files that differ from HEAD, and untracked ones that git would add."""
    return git(tree, "status", "--porcelain", "--untracked-files=normal").splitlines()


def require_clean(tree: Path) -> None:
    if changes := dirty(tree):
        listing = "\n".join(f"  {line}" for line in changes[:10])
        more = f"\n  and {len(changes) - 10} more" if len(changes) > 10 else ""
        raise Failure(Status.DIRTY, f"{tree} has uncommitted changes:\n{listing}{more}",
                      "commit or stash them; scripts/verify --as-is tests them as they are")


@contextlib.contextmanager
def lock(name: str) -> Iterator[None]:
    """Keep a second run out of the same tree or build folder."""
    folder = conf.BUILD / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name.replace("/", "-"), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note(f"another run holds {name}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def need_space(folder: Path, needed: int) -> None:
    """Raise Failure unless the device of `folder` has `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Failure(Status.SPACE, f"{folder} has {free >> 20} MB free; "
                      f"{needed >> 20} MB are needed",
                      "free some, or link build/ to a larger disk")


def import_tarball(base: conf.Base, tarball: Path) -> Path:
    """Make base.tree of a tarball: one commit, on a branch mm-batch-base.

    The work is done in a folder beside it that an interrupted run may leave;
    the next one starts that folder afresh.
    """
    part = base.tree.with_name(f".{base.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    need_space(part, IMPORT_BYTES)
    note(f"importing {tarball} (about half a minute)")
    run(["tar", "-xf", tarball, "-C", part, "--strip-components=1"], status=Status.VERSION)
    makefile = part / "Makefile"
    check_version(base, makefile.read_text() if makefile.exists() else "", tarball)
    ignore = part / ".gitignore"
    if ignore.exists():
        # Debian's block hides every new file from git.
        ignore.write_text(re.split(r"^# Debian packaging:", ignore.read_text(),
                                   flags=re.MULTILINE)[0])
    git(part, "init", "--quiet", "--initial-branch=mm-batch-base")
    git(part, "config", "gc.auto", "0")
    git(part, "add", "--all", "--force")
    git(part, "commit", "--quiet", "--no-verify", "-m", f"{tarball.name}", env=IDENTITY)
    git(part, "update-ref", BASE_REF, "HEAD")
    os.rename(part, base.tree)
    return base.tree


def import_git(base: conf.Base, source: Path) -> Path:
    """Make base.tree a clone of the user's git tree that shares its objects.

    What is taken is the commit that is checked out there; nothing is written
    to the user's tree.
    """
    makefile = git(source, "show", "HEAD:Makefile", check=False)
    check_version(base, makefile, source)
    part = base.tree.with_name(f".{base.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    need_space(part.parent, IMPORT_BYTES // 2)
    if changes := dirty(source):
        note(f"{source} has {len(changes)} uncommitted changes; HEAD is taken, without them")
    note(f"cloning {source}")
    run(["git", "clone", "--quiet", "--shared", "--no-checkout", "--no-tags", source, part],
        status=Status.VERSION)
    head = git(source, "rev-parse", "HEAD")
    git(part, "update-ref", BASE_REF, head)
    git(part, "checkout", "--quiet", "-B", "mm-batch-base", head)
    os.rename(part, base.tree)
    return base.tree


class Scratch:
    """A clone that shares the tree's objects and checks out only some files.

    What is tried in it cannot harm the tree; it is removed at the end.
    """

    def __init__(self, tree: Path, commit: str, paths: set[str]) -> None:
        (conf.BUILD / "tmp").mkdir(parents=True, exist_ok=True)
        self.holder = tempfile.TemporaryDirectory(dir=conf.BUILD / "tmp")
        self.path = Path(self.holder.name) / "tree"
        self.env = dict(IDENTITY)
        run(["git", "clone", "--quiet", "--shared", "--no-checkout", "--no-tags",
             "--config", "gc.auto=0", "--config", "advice.detachedHead=false",
             "--config", "advice.updateSparsePath=false", tree, self.path])
        self.git("fetch", "--quiet", tree, "+refs/mm-batch/*:refs/mm-batch/*")
        # One pattern a file: only what the patches touch is written out.
        self.git("sparse-checkout", "set", "--no-cone", "--stdin",
                 stdin="".join(f"/{path}\n" for path in sorted(paths)))
        self.git("checkout", "--quiet", "-B", "work", commit)

    def git(self, *words: str | Path, check: bool = True, stdin: str | None = None,
            status: Status = Status.QUEUE) -> str:
        return git(self.path, *words, check=check, env=self.env, stdin=stdin, status=status)

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *error) -> None:
        self.holder.cleanup()
