# SPDX-License-Identifier: GPL-2.0-only
"""scripts/queue"""
from __future__ import annotations

import argparse
from pathlib import Path

from . import conf, patchqueue, provide, series, tree
from .cli import Failure, Status, say

EPILOG = """\
The queue lives on the branch mm-batch/BASE of the tree, each topic behind an
empty commit `mm-batch topic: NAME`. Work there, commit, then `refresh`.
No other branch is touched, and what does not apply leaves the tree as it was.

exit status: 0 done, 2 usage, 8 does not apply, 9 a tool or source is missing,
10 a tree of another version, 11 uncommitted changes or a branch that is not
ours, 12 no space left, 130 interrupted
"""


def status(options, base: conf.Base, kernel: Path) -> int:
    """Say where branch and queue stand; 8 if they differ."""
    topics = series.read(base)
    for topic in topics:
        say(f"{topic.name}: {len(topic.patches)} patches")
        for patch in topic.patches:
            say(f"  {series.subject(patch)}")
    commit = tree.resolve(kernel, tree.BASE_REF)
    tip = tree.resolve(kernel, f"refs/heads/{base.branch}")
    say(f"tree: {kernel}, base {commit[:12] or '(none yet)'}")
    if not tip:
        say(f"branch {base.branch}: not there; scripts/queue apply makes it")
        return 0
    wanted = patchqueue.build_commit(kernel, commit, topics)
    changes = len(tree.dirty(kernel))
    if tip == wanted and not changes:
        say(f"branch {base.branch}: up to date")
        return 0
    if tip != wanted:
        say(patchqueue.local_work(kernel, base, wanted)
            or f"branch {base.branch}: an older state of the queue; scripts/queue apply renews it")
    if changes:
        say(f"{changes} uncommitted changes")
    return Status.QUEUE


def apply(options, base: conf.Base, kernel: Path) -> int:
    topics = series.pick(series.read(base), options.topic)
    tip = patchqueue.apply(kernel, base, topics)
    say(f"{kernel}: {base.branch} at {tip[:12]}: "
        + ", ".join(f"{topic.name} ({len(topic.patches)})" for topic in topics))
    return 0


def refresh(options, base: conf.Base, kernel: Path) -> int:
    for path in patchqueue.refresh(kernel, base):
        say(f"{'changed' if path.exists() else 'removed'} {path.relative_to(conf.ROOT)}")
    return 0


def export(options, base: conf.Base, kernel: Path) -> int:
    topic = one_topic(base, options.topic)
    folder = options.output or conf.BUILD / "export" / f"{base.name}-{topic.name}"
    for path in patchqueue.export(kernel, base, topic, folder):
        say(str(path))
    return 0


def rebase(options, base: conf.Base, kernel: Path) -> int:
    tip = patchqueue.rebase(kernel, base, options.onto)
    say(f"{base.branch} is now {tip[:12]} on {options.onto}; "
        "scripts/queue refresh writes it into the queue")
    return 0


def list_patches(options, base: conf.Base, kernel: Path) -> int:
    for topic in series.pick(series.read(base), options.topic):
        for patch in topic.patches:
            say(str(patch))
    return 0


def one_topic(base: conf.Base, name: str) -> series.Topic:
    return next(topic for topic in series.pick(series.read(base), [name]) if topic.name == name)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="queue", description="Move a queue between its patches and a branch of a tree.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--base", default=conf.DEFAULT_BASE, choices=list(conf.bases()),
                        help="(default: %(default)s)")
    common.add_argument("--tree", type=Path, metavar="PATH",
                        help="a git tree of yours to work in (default: build/trees/BASE)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(job, words: str) -> argparse.ArgumentParser:
        made = commands.add_parser(job.__name__.removesuffix("_patches"), parents=[common],
                                   help=words, description=words)
        made.set_defaults(job=job)
        return made

    command(status, "say what the queue has and whether the branch has the same")
    command(apply, "apply the queue on a branch of its own and check it out").add_argument(
        "--topic", action="append", metavar="T", help="only kunit and T, can be repeated")
    command(refresh, "write patches, series and kunit/ from the branch")
    sub = command(export, "write a topic as mails with a cover letter")
    sub.add_argument("--topic", required=True, metavar="T")
    sub.add_argument("--output", "-o", type=Path, metavar="DIR",
                     help="(default: build/export/BASE-TOPIC)")
    command(rebase, "replay the branch on another commit").add_argument(
        "--onto", required=True, metavar="REF", help="a commit of the tree")
    command(list_patches, "print the patches in order, for git am").add_argument(
        "--topic", action="append", metavar="T", help="only kunit and T, can be repeated")
    options = parser.parse_args(arguments)

    base = conf.base_named(options.base)
    if options.command == "list":
        return options.job(options, base, Path())
    series.read(base) if options.command != "refresh" else None
    if options.tree:
        kernel = options.tree.resolve()
        if not tree.is_git(kernel):
            raise Failure(Status.VERSION, f"{kernel} is not a git tree")
        patchqueue.adopt(kernel, base)
    else:
        kernel = provide.base_tree(base)
    with tree.lock(str(kernel)):
        return options.job(options, base, kernel)
