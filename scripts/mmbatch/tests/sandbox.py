# SPDX-License-Identifier: GPL-2.0-only
"""A repository and a kernel tree in miniature, to run the real scripts in.

The scripts are copied, so that they take the copy for their root. The tree has
a Makefile, some files to patch, and a stand-in for kunit.py that "builds" an
image and reads back what the real one said of a recorded console.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import textwrap
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
DATA = Path(__file__).resolve().parent / "data"
STUBS = Path(__file__).resolve().parent / "stubs"
BASES = """\
["v7.3"]
version = "7.3"
queue = "patches/v7.3"
series = "series"
arches = ["x86_64"]
tarballs = "http://127.0.0.1:9/"
debian = { package = "linux-source-7.3", suite = "trixie-backports" }
"""
SUITES = """\
[demo]
symbol = "DEMO_KUNIT_TEST"
topic = "kunit"
cases."v7.3" = { x86_64 = 3 }
"""
RESULTS = {
    "results.rst": "=======\nResults\n=======\n\n.. begin published\n\n"
                   ".. list-table::\n   :header-rows: 1\n\n   * - mechanism\n     - what\n"
                   "     - machine\n     - before\n     - after\n     - change\n     - source\n"
                   "\n.. end published\n",
    "published.toml": "figure = []\n",
    "measured.toml": "measured = []\n",
}
SOURCE = "".join(f"line {number}\n" for number in range(1, 41))


class Sandbox(unittest.TestCase):
    """Makes self.root, self.tree (not imported yet) and runs scripts in them."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.root, self.tree = self.folder / "repository", self.folder / "linux"
        shutil.copytree(REPOSITORY / "scripts", self.root / "scripts",
                        ignore=shutil.ignore_patterns("__pycache__", "tests"))
        shutil.copytree(REPOSITORY / "configs", self.root / "configs")
        self.write(self.root / "configs/bases.toml", BASES)
        self.write(self.root / "configs/packages.toml", "[common]\n[x86_64]\n[check]\n[send]\n")
        self.write(self.root / "kunit/suites.toml", SUITES)
        for name, text in RESULTS.items():
            self.write(self.root / "Documentation/results" / name, text)
        for name in ("common", "x86_64"):
            self.write(self.root / f"configs/kunit/{name}.config", "CONFIG_KUNIT=y\n")
        self.env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"),
                    "PATH": f"{STUBS}:{os.environ['PATH']}", "HOME": str(self.folder),
                    "GIT_AUTHOR_NAME": "A. Developer", "GIT_AUTHOR_EMAIL": "dev@example.org",
                    "GIT_COMMITTER_NAME": "A. Developer", "GIT_COMMITTER_EMAIL": "dev@example.org",
                    "MMB_DATA": str(DATA), "LC_ALL": "C.UTF-8"}
        self.make_tree()

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *words: str, tree: Path | None = None) -> str:
        return subprocess.run(["git", "-C", tree or self.tree, *words], env=self.env, check=True,
                              capture_output=True, text=True).stdout.strip()

    def make_tree(self) -> None:
        self.write(self.tree / "Makefile", "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 0\n")
        self.write(self.tree / "mm/memory.c", SOURCE)
        self.write(self.tree / "mm/Kconfig", textwrap.dedent("""\
            config KUNIT
            \tbool
            config MMU
            \tbool
            config NEEDS_MMU
            \tbool "x"
            \tdepends on MMU
            """))
        shutil.copytree(STUBS / "tree", self.tree, dirs_exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=master")
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "-m", "Linux 7.3")

    def make_queue(self) -> None:
        """Import the tree; a topic kunit with a suite, and one that changes memory.c."""
        self.script("setup", "--base", "v7.3", "--tree", str(self.tree), "--for", "x86_64",
                    expect=0)
        tree = self.imported
        self.git("checkout", "--quiet", "-b", "mm-batch/v7.3", tree=tree)
        self.git("commit", "--allow-empty", "-m", "mm-batch topic: kunit", tree=tree)
        self.write(tree / "mm/tests/demo_kunit.c", "/* a suite */\n")
        with open(tree / "mm/Kconfig", "a") as file:
            file.write("config DEMO_KUNIT_TEST\n\tbool\n")
        self.commit("mm/tests: add a demonstration", tree)
        self.git("commit", "--allow-empty", "-m", "mm-batch topic: change", tree=tree)
        self.edit(tree, "line 20", "line twenty")
        self.commit("mm: write twenty out", tree)
        self.script("queue", "refresh", expect=0)
        for topic in ("kunit", "change"):
            self.write(self.root / f"patches/v7.3/{topic}/cover.txt",
                       f"mm: a cover for {topic}\n\nWhat and why, by M\u00fcller.\n")

    @property
    def imported(self) -> Path:
        return self.root / "build/trees/v7.3"

    def edit(self, tree: Path, old: str, new: str) -> None:
        path = tree / "mm/memory.c"
        path.write_text(path.read_text().replace(f"{old}\n", f"{new}\n"))

    def commit(self, subject: str, tree: Path) -> None:
        self.git("add", "--all", tree=tree)
        self.git("commit", "--quiet", "-m", f"{subject}\n\nFor the tests.", tree=tree)

    def script(self, name: str, *words: str, expect: int | None = None,
               env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        """Run scripts/NAME; with `expect` the exit status must be that."""
        done = subprocess.run([self.root / "scripts" / name, *words], capture_output=True,
                              text=True, env={**self.env, **(env or {})},
                              stdin=subprocess.DEVNULL, timeout=120)
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done
