# SPDX-License-Identifier: GPL-2.0-only
"""Between a queue's files and a branch of a kernel tree, in both directions.

On the branch a topic begins with an empty commit whose subject is
`mm-batch topic: NAME`, so that the branch alone says which patch belongs where
and `git rebase --interactive` moves patches and topics about.

Everything is tried in a scratch clone first. The tree receives a finished
branch or nothing.
"""
from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from . import conf, mail, series, suitefiles
from .cli import Failure, Status, note, run
from .tree import BASE_REF, Scratch, check_version, git, require_clean, resolve

MARK = "mm-batch topic: "
APPLIED = "refs/mm-batch/applied/"      # + key of the content: the commit it gave
FORMAT = ["--zero-commit", "--no-signature", "--no-numbered", "--full-index",
          "--no-base", "--no-attach", "--no-thread", "--no-cover-letter",
          "--no-to", "--no-cc", "--no-add-header", "--no-encode-email-headers",
          "--no-renames", "--diff-algorithm=myers", "--unified=3",
          "--stat=72", "--src-prefix=a/", "--dst-prefix=b/"]
TEMPLATE = "*** {} HERE ***"


def base_commit(tree: Path) -> str:
    """The commit of the tree that the queue goes on."""
    if commit := resolve(tree, BASE_REF):
        return commit
    raise Failure(Status.USAGE, f"nothing was applied to {tree} yet",
                  "scripts/queue apply comes first")


def adopt(tree: Path, base: conf.Base) -> None:
    """Take what is checked out in a user's tree as the base, unless it is our branch."""
    check_version(base, git(tree, "show", "HEAD:Makefile", check=False), tree)
    branch = current_branch(tree)
    if branch.startswith("b4/"):
        raise Failure(Status.DIRTY, f"{tree} is on {branch}, a series that b4 prepared",
                      "check out the commit that the queue shall go on")
    if branch != base.branch:
        git(tree, "update-ref", BASE_REF, "HEAD")


def current_branch(tree: Path) -> str:
    """Name of the branch that is checked out, or "" where HEAD is detached."""
    return git(tree, "symbolic-ref", "--quiet", "--short", "HEAD", check=False)


def am(scratch: Scratch, patches: list[Path], three_way: bool = False,
       sign_off: bool = False) -> None:
    """`git am` in a scratch clone; a refusal names patch, file and hunk."""
    options = ["--quiet", "--committer-date-is-author-date", "--keep-non-patch"]
    options += ["--3way"] * three_way + ["--signoff"] * sign_off
    done = run(["git", "-C", scratch.path, "am", *options, *patches],
               env=scratch.env, check=False)
    if done.returncode == 0:
        return
    said = (done.stdout + done.stderr).splitlines()
    stopped = git(scratch.path, "rev-parse", "--git-path", "rebase-apply/next", check=False)
    number = int((scratch.path / stopped).read_text()) if stopped else 1
    if number <= len(patches) and not three_way:
        # --verbose names the hunk and shows what it looked for.
        again = run(["git", "-C", scratch.path, "apply", "--check", "--verbose",
                     patches[number - 1]], env=scratch.env, check=False)
        said = again.stderr.splitlines()
    said = [line for line in said if not line.startswith(("hint:", "Checking patch"))]
    what = "\n".join("  | " + line for line in said[:40])
    raise Failure(Status.QUEUE, f"{patches[number - 1]} does not apply:\n{what}",
                  "the tree is as it was")


def build_commit(tree: Path, commit: str, topics: list[series.Topic]) -> str:
    """Apply `topics` on `commit` and return the tip, now an object of the tree.

    What was applied once is found again by its content.
    """
    reference = APPLIED + series.content_key(commit, topics)
    if tip := resolve(tree, reference):
        return tip
    patches = [patch for topic in topics for patch in topic.patches]
    if lacking := [str(patch) for patch in patches if not patch.exists()]:
        raise Failure(Status.QUEUE, f"in the series, but not there: {', '.join(lacking)}")
    with Scratch(tree, commit, series.touched(patches)) as scratch:
        for topic in topics:
            scratch.git("commit", "--quiet", "--allow-empty", "--no-verify",
                        "-m", MARK + topic.name)
            if topic.patches:
                am(scratch, topic.patches)
        git(tree, "fetch", "--quiet", scratch.path, f"+work:{reference}")
    return resolve(tree, reference)


def is_ours(tree: Path, commit: str) -> bool:
    """Whether a commit is one that build_commit() made here."""
    return commit in git(tree, "for-each-ref", "--format=%(objectname)", APPLIED).split()


def local_work(tree: Path, base: conf.Base, tip: str) -> str:
    """What the branch has that the queue has not, or "" if there is nothing."""
    have = resolve(tree, f"refs/heads/{base.branch}")
    if not have or have == tip or is_ours(tree, have):
        return ""
    return (f"branch {base.branch} of {tree} is not what scripts/queue applied:\n"
            + git(tree, "log", "--oneline", "--no-decorate", "-10", have, f"^{tip}"))


def apply(tree: Path, base: conf.Base, topics: list[series.Topic]) -> str:
    """Put `topics` on the base, on a branch of our own, and check it out."""
    require_clean(tree)
    tip = build_commit(tree, base_commit(tree), topics)
    if work := local_work(tree, base, tip):
        raise Failure(Status.DIRTY, work, "`scripts/queue refresh` takes them into the queue; "
                      f"`git branch -m {base.branch} other` puts them aside")
    if current_branch(tree) != base.branch or resolve(tree, "HEAD") != tip:
        git(tree, "checkout", "--quiet", "-B", base.branch, tip)
    return tip


def topics_of_branch(tree: Path, start: str, tip: str) -> dict[str, list[str]]:
    """topic -> its commits, oldest first, as the markers on the branch tell."""
    topics: dict[str, list[str]] = {}
    name = ""
    log = git(tree, "log", "--reverse", "--topo-order", "--format=%H %P%x09%s", f"{start}..{tip}")
    for line in log.splitlines():
        commits, _, title = line.partition("\t")
        commit, *parents = commits.split()
        if len(parents) != 1:
            raise Failure(Status.QUEUE, f"{commit[:12]} ({title}) is a merge; a queue is a line",
                          "rebase the branch")
        if title.startswith(MARK):
            name = title.removeprefix(MARK).strip()
            if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) or name in topics:
                raise Failure(Status.QUEUE, f"{commit[:12]}: {name!r} is no name for a topic, "
                              "or stands twice", "use lower-case letters, digits and -")
            topics[name] = []
        elif not name:
            raise Failure(Status.QUEUE, f"{commit[:12]} ({title}) stands before any topic",
                          f"put `git commit --allow-empty -m '{MARK}NAME'` in front of it")
        else:
            topics[name].append(commit)
    return topics


def refresh(tree: Path, base: conf.Base, root: Path = conf.ROOT) -> list[Path]:
    """Write patches, series and kunit/ from the branch; return what changed."""
    require_clean(tree)
    start, tip = base_commit(tree), resolve(tree, f"refs/heads/{base.branch}")
    if not tip:
        raise Failure(Status.USAGE, f"{tree} has no branch {base.branch}",
                      f"scripts/queue apply --base {base.name} makes it")
    topics = topics_of_branch(tree, start, tip)
    base.queue.mkdir(parents=True, exist_ok=True)
    (conf.BUILD / "tmp").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=conf.BUILD / "tmp") as temporary:
        new = Path(temporary)
        lines = []
        for name, commits in topics.items():
            (new / name).mkdir()
            lines.append(f"# {name}")
            for number, commit in enumerate(commits, 1):
                made = git(tree, "format-patch", *FORMAT, "--start-number", str(number),
                           "-1", "-o", new / name, commit)
                lines.append(f"{name}/{Path(made).name}")
            cover = base.queue / name / series.COVER
            (new / name / series.COVER).write_text(
                cover.read_text() if cover.exists() else
                f"{TEMPLATE.format('SUBJECT')}\n\n{TEMPLATE.format('BLURB')}\n")
        changed = [base.series] * write(base.series, "\n".join(lines).encode() + b"\n")
        for folder in sorted(path for path in base.queue.iterdir() if path.is_dir()):
            if folder.name not in topics:
                shutil.rmtree(folder)
                changed.append(folder)
        for name in topics:
            changed += mirror_folder(new / name, base.queue / name)
    # The branch is what these patches give; apply has nothing to do.
    git(tree, "update-ref", APPLIED + series.content_key(start, series.read(base)), tip)
    return changed + refresh_suites(root / "kunit", conf.queued_bases())


def write(path: Path, content: bytes) -> bool:
    """Replace a file in one step; whether that changed it."""
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    os.replace(part, path)
    return True


def mirror_folder(source: Path, target: Path) -> list[Path]:
    """Make `target` hold what `source` holds and no more; return what changed."""
    changed = [target / path.name for path in sorted(source.iterdir())
               if write(target / path.name, path.read_bytes())]
    for path in sorted(target.iterdir()):
        if not (source / path.name).exists():
            path.unlink()
            changed.append(path)
    return changed


def refresh_suites(kunit: Path, bases: list[conf.Base]) -> list[Path]:
    """Write what the queues have below mm/tests/ as plain files."""
    wanted = suitefiles.wanted(bases)
    changed = [kunit / name for name, content in wanted.items() if write(kunit / name, content)]
    for name in sorted({*suitefiles.shown(kunit)} - {*wanted}):
        (kunit / name).unlink()
        changed.append(kunit / name)
    return changed


def export(tree: Path, base: conf.Base, topic: series.Topic, folder: Path,
           sign_off: bool = False) -> list[Path]:
    """Write a topic as mails with a cover letter into `folder`."""
    raw = topic.cover.read_bytes() if topic.cover.exists() else b""
    if faults := list(mail.cover_faults(topic.cover, raw)):
        raise Failure(Status.QUEUE, "\n".join(faults))
    start = base_commit(tree)
    stands_on = [t for t in series.pick(series.read(base), [topic.name]) if t.name != topic.name]
    with Scratch(tree, start, series.touched(
            [patch for t in [*stands_on, topic] for patch in t.patches])) as scratch:
        for other in stands_on:
            am(scratch, other.patches)
        scratch.git("branch", "below")
        am(scratch, topic.patches, sign_off=sign_off)
        scratch.git("config", "branch.work.description", raw.decode())
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.patch"):
            old.unlink()
        options = [o for o in FORMAT if o not in ("--no-base", "--no-cover-letter",
                                                  "--no-numbered", "--no-thread",
                                                  "--zero-commit")]
        made = scratch.git("format-patch", *options, "--cover-letter", "--numbered",
                           "--thread=shallow", "--cover-from-description=subject",
                           f"--base={start}", "-o", folder.resolve(), "below..work")
    return [Path(line) for line in made.splitlines()]


def rebase(tree: Path, base: conf.Base, onto: str) -> str:
    """Replay the branch on another commit of the tree; return the new tip.

    The old tip stays as refs/mm-batch/before-rebase.
    """
    require_clean(tree)
    target, start = resolve(tree, onto), base_commit(tree)
    tip = resolve(tree, f"refs/heads/{base.branch}")
    if not target:
        raise Failure(Status.USAGE, f"{tree} has no commit {onto!r}", "fetch it first")
    if not tip:
        raise Failure(Status.USAGE, f"{tree} has no branch {base.branch}",
                      "scripts/queue apply makes it")
    paths = set(git(tree, "diff", "--name-only", start, tip).splitlines())
    with Scratch(tree, tip, paths) as scratch:
        done = run(["git", "-C", scratch.path, "rebase", "--quiet", "--keep-empty",
                    "--empty=keep", "--onto", target, start, "work"],
                   env=scratch.env, check=False)
        if done.returncode:
            at = git(scratch.path, "log", "-1", "--format=%h %s", "REBASE_HEAD", check=False)
            conflicts = git(scratch.path, "diff", "--diff-filter=U", check=False)
            what = "\n".join("  | " + line for line in conflicts.splitlines()[:40])
            raise Failure(Status.QUEUE, f"{at} does not apply on {onto}:\n{what}",
                          f"the tree is as it was; to resolve it by hand: git -C {tree} rebase "
                          f"--onto {onto} {start[:12]} {base.branch}, then scripts/queue refresh")
        git(tree, "fetch", "--quiet", scratch.path, "+work:refs/mm-batch/rebased")
    git(tree, "update-ref", "refs/mm-batch/before-rebase", tip)
    git(tree, "checkout", "--quiet", "-B", base.branch, "refs/mm-batch/rebased")
    git(tree, "update-ref", BASE_REF, target)
    note(f"the branch as it was: refs/mm-batch/before-rebase ({tip[:12]})")
    return resolve(tree, base.branch)
