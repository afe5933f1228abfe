# SPDX-License-Identifier: GPL-2.0-only
"""Options that more than one script has in the same words."""
from __future__ import annotations

import argparse
from pathlib import Path

from . import conf


def add_bases(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base", action="append", choices=list(conf.bases()), metavar="BASE",
                        help=f"can be repeated (default: {conf.DEFAULT_BASE}; there are: "
                        + ", ".join(conf.bases()) + ")")


def add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tree", type=Path, metavar="PATH",
                        help="your own git tree or tarball, where none is imported yet")
