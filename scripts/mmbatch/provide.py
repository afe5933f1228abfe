# SPDX-License-Identifier: GPL-2.0-only
"""What scripts/setup brings: the packages, the tree of a base, a sparse that works."""
from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from . import conf, debian, sources, tree
from .cli import Failure, Status, note, run

SPARSE_SUITES = ["forky", "sid"]    # of Debian: 0.6.4 and older are refused by 7.3
SPARSE_MAKE = ["CC=gcc", "HAVE_LIBXML=no", "HAVE_GTK=no", "HAVE_SQLITE=no", "HAVE_LLVM=no"]


def base_tree(base: conf.Base, source: Path | None = None) -> Path:
    """The tree of `base`: the imported one, or a new one from `source`.

    `source` is a user's git tree or tarball; none: the sources of sources.py.
    """
    with tree.lock(f"import-{base.name}"):
        if base.tree.is_dir():
            if source and tree.is_git(source) and tree.resolve(source, "HEAD") != tree.resolve(
                    base.tree, tree.BASE_REF):
                raise Failure(Status.DIRTY, f"{base.tree} was imported from elsewhere",
                              f"move it away to take {source} instead")
            return base.tree
        if source is None:
            tree.need_space(_existing(conf.BUILD), tree.IMPORT_BYTES)
            return tree.import_tarball(base, sources.tarball(base))
        if tree.is_git(source):
            return tree.import_git(base, source.resolve())
        if source.is_file() and tarfile.is_tarfile(source):
            return tree.import_tarball(base, source.resolve())
        what = "is neither a git tree nor a tarball" if source.exists() else "does not exist"
        raise Failure(Status.VERSION, f"{source} {what}")


def _existing(path: Path) -> Path:
    return path if path.exists() else path.parent


def sparse_accepted(kernel: Path, sparse: str) -> bool:
    """What the tree's own check says of a sparse."""
    script = kernel / "scripts/checker-valid.sh"
    if not script.exists():
        return bool(shutil.which(sparse))
    return run(["sh", script, sparse], check=False).stdout.strip() == "1"


def sparse(kernel: Path) -> Path:
    """A sparse that the tree accepts: the system's, or one built of Debian's source."""
    system = shutil.which("sparse")
    if system and sparse_accepted(kernel, system):
        return Path(system)
    built = conf.BUILD / "tools/sparse/sparse"
    with tree.lock("sparse"):
        if not (built.exists() and sparse_accepted(kernel, str(built))):
            _build_sparse(built.parent)
    if not sparse_accepted(kernel, str(built)):
        raise Failure(Status.MISSING, f"{kernel}/scripts/checker-valid.sh refuses {built} too",
                      "put a newer sparse on PATH")
    return built


def _build_sparse(target: Path) -> None:
    note("building a sparse that the tree accepts from Debian's source package")
    work = target.with_name(".sparse.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    debian.PrivateSources(conf.BUILD / "apt/sparse", SPARSE_SUITES, source=True).run(
        "source", "--download-only", "sparse", cwd=work)
    description = max(work.glob("sparse_*.dsc"))
    run(["dpkg-source", "--no-check", "-x", description, work / "tree"], status=Status.MISSING)
    run(["make", "-C", work / "tree", "-j2", "sparse", *SPARSE_MAKE], status=Status.MISSING)
    shutil.rmtree(target, ignore_errors=True)
    (work / "tree").rename(target)
    shutil.rmtree(work)
    shutil.rmtree(conf.BUILD / "apt/sparse")    # the lists are large, and not needed again
