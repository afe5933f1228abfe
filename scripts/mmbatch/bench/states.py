# SPDX-License-Identifier: GPL-2.0-only
"""What is compared: base with topic kunit, and the queue or some topics of it."""
from __future__ import annotations

from .. import cmd_verify, conf, patchqueue, series, tree
from .record import STATES


def steps(base: conf.Base, topics: list[series.Topic]) -> dict[str, cmd_verify.Step]:
    """State -> what is applied in it."""
    whole = series.read(base)
    found = (cmd_verify.Step("unpatched", series.pick(whole, [series.FIRST])),
             cmd_verify.Step("all" if topics == whole else "topics", topics))
    return dict(zip(STATES, found))


def commits(base: conf.Base, topics: list[series.Topic]) -> dict[str, str]:
    """State -> its commit, an object of the tree."""
    start = patchqueue.base_commit(base.tree)
    return {state: patchqueue.build_commit(base.tree, start, step.topics)
            for state, step in steps(base, topics).items()}


def trees(base: conf.Base, topics: list[series.Topic]) -> dict[str, str]:
    """State -> the id of its content."""
    return {state: tree.git(base.tree, "rev-parse", f"{commit}^{{tree}}")
            for state, commit in commits(base, topics).items()}
