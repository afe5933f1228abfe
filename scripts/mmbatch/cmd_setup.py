# SPDX-License-Identifier: GPL-2.0-only
"""scripts/setup"""
from __future__ import annotations

import argparse
from pathlib import Path

from . import conf, debian, provide, series, tree
from .cli import say
from .cmd_verify import DEBUG

EPILOG = """\
A base's tree comes from the first of: --tree; the cache
(~/.cache/mm-batch); kernel.org; Debian's source package. It is imported once,
into build/trees/BASE, and never touched again other than on branches of
mm-batch. An interrupted run is gone on with by the same command.

exit status: 0 all is there, 2 usage, 9 a package or a source cannot be had,
10 not a kernel tree or one of another version, 12 no space left, 130 interrupted
"""

# What only a debug fragment needs is installed by scripts/verify --debug.
USUAL = [job for job in conf.packages()
         if not (DEBUG / f"{job}.config").exists()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="setup", description="Install what is missing from Debian and import base trees.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", action="append", choices=list(conf.bases()), metavar="BASE",
                        help="base to import, can be repeated (default: every base that has a "
                        "queue; there are: " + ", ".join(conf.bases()) + ")")
    parser.add_argument("--tree", type=Path, metavar="PATH",
                        help="your own git tree (its HEAD is taken) or tarball of the base")
    parser.add_argument("--for", dest="jobs", action="append", metavar="JOB",
                        choices=[job for job in conf.packages()],
                        help="install only what JOB needs, can be repeated (default: "
                        + ", ".join(USUAL) + "; there is also: "
                        + ", ".join(job for job in conf.packages() if job not in USUAL) + ")")
    parser.add_argument("--no-tree", action="store_true", help="install, but import nothing")
    parser.add_argument("--dry-run", action="store_true",
                        help="say what would be done and do nothing")
    options = parser.parse_args(arguments)
    bases = [conf.base_named(name) for name in options.base or
             [base.name for base in conf.queued_bases()]]
    if options.tree and len(bases) != 1:
        parser.error("--tree goes with one --base")
    jobs = ["common", *options.jobs] if options.jobs else USUAL

    debian.install(jobs, options.dry_run)
    if options.no_tree:
        return 0
    for base in bases:
        if options.dry_run:
            state = "is there" if base.tree.is_dir() else f"would import {base.debian['package']}"
            say(f"{base.name}: {state} ({base.tree})")
            continue
        kernel = provide.base_tree(base, options.tree)
        commit = tree.resolve(kernel, tree.BASE_REF)
        say(f"{base.name}: {kernel} at {commit[:12]}, "
            f"{sum(len(topic.patches) for topic in series.read(base))} patches to apply"
            if base.series.exists() else f"{base.name}: {kernel} at {commit[:12]}, no queue yet")
        if not options.jobs or "check" in options.jobs:
            say(f"{base.name}: sparse: {provide.sparse(kernel)}")
    return 0
