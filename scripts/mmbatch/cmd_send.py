# SPDX-License-Identifier: GPL-2.0-only
"""scripts/send"""
from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator

from . import conf, mail, patchfile, patchqueue, provide, series, tree
from .cli import Failure, Status, command_line, note, run, say

MARKER = "--- b4-submit-tracking ---"      # how b4 finds the commit with the cover letter
KEPT = "refs/mm-batch/before-send/"        # + name: the branch before it was made anew
# b4's own template, for series whose base commit is not the cover letter's parent.
COVER_TEMPLATE = """\
${cover}

---
${shortlog}

${diffstat}
---
base-commit: ${base_commit}
change-id: ${change_id}

Best regards,
-- \n${signature}
"""

EPILOG = """\
Nothing is sent. The patches, with your Signed-off-by, and the cover letter
become the branch b4/mm-batch-TOPIC of the tree, which b4 knows how to send;
its mails are written to a folder and checked there; the command that sends
them is printed. Where a check fails, the tree is as it was.

Your name and mail are those of git (user.name, user.email). Recipients are
those that scripts/get_maintainer.pl of the tree names, and To: and Cc: lines
at the end of cover.txt. A tree that was imported from a tarball does for a
trial; send from a clone of mainline, given with --tree.

exit status: 0 the mails are ready, 2 usage or no identity, 8 the topic is not
ready to be sent, 9 a tool or source is missing, 10 a tree of another version,
11 a branch that is in use, 12 no space left, 130 interrupted
"""


@dataclass(frozen=True)
class Job:
    """A topic, and where it is sent from."""
    base: conf.Base
    topic: series.Topic
    below: list[Path]       # the patches that it stands on
    kernel: Path
    start: str              # the base commit
    sender: str             # "Name <mail>"

    @property
    def name(self) -> str:
        """What b4 calls the series; part of its change-id and of its message ids."""
        base = "" if self.base.name == conf.DEFAULT_BASE else f"-{self.base.name}"
        return re.sub(r"\W+", "-", f"mm-batch-{self.topic.name}{base}").lower()

    @property
    def branch(self) -> str:
        return f"b4/{self.name}"

    @property
    def environment(self) -> dict[str, str]:
        """The sender as author of the cover letter and committer."""
        name, address = re.fullmatch(r"(.*) <(.*)>", self.sender).groups()
        return {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", name), ("EMAIL", address))}


def refuse(faults: Iterable[str], topic: str) -> None:
    """Raise Failure (Status.QUEUE) that lists the faults, if there is one."""
    if found := list(faults):
        raise Failure(Status.QUEUE, f"{topic} is not ready to be sent:\n"
                      + "\n".join(f"  {fault}" for fault in found))


def identity(kernel: Path) -> str:
    """The sender as git writes it, "Name <mail>", from the configuration that holds in a tree.

    Raises Failure (Status.USAGE) if there is none.
    """
    name, address = (tree.git(kernel, "config", f"user.{key}", check=False).strip()
                     for key in ("name", "email"))
    if not name or not re.fullmatch(r"[^@\s<>]+@[^@\s<>]+", address):
        raise Failure(Status.USAGE, "git knows no name and mail to sign off with "
                      f"(user.name: {name or 'not set'}, user.email: {address or 'not set'})",
                      "git config --global user.name 'Your Name'; "
                      "git config --global user.email you@example.org")
    known = tree.git(kernel, "var", "GIT_COMMITTER_IDENT", env={
        "GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": address})
    return known.rsplit(" ", 2)[0]


def source_faults(topic: series.Topic, below: list[Path]) -> Iterator[str]:
    """What is wrong with the files of a topic, or lacks below it."""
    if not topic.cover.exists():
        yield f"{topic.cover}: is not there; write the subject, an empty line, and the letter"
    else:
        yield from mail.cover_faults(topic.cover, topic.cover.read_bytes())
    if not topic.patches:
        yield f"{topic.folder}: has no patches in the series"
    for patch in [*below, *topic.patches]:
        if not patch.exists():
            yield f"{patch}: is in the series, but not there; scripts/queue refresh writes both"
        elif patch in topic.patches:
            for problem in patchfile.problems(patch):
                yield f"{problem}; correct it on the branch, then scripts/queue refresh"


def settings(values: dict[str, str]) -> dict[str, str]:
    """The environment in which git, and so b4, has these settings."""
    first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    made = {"GIT_CONFIG_COUNT": str(first + len(values))}
    for number, (key, value) in enumerate(values.items(), first):
        made |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return made


def b4(scratch: tree.Scratch, *words: str | Path, held: dict[str, str] | None = None) -> None:
    """Run b4 in a scratch clone, with the git settings `held`.

    It cannot send: there is no network, no key, and the mail server is /bin/false.
    Raises Failure: Status.MISSING if git-filter-repo is, else Status.QUEUE.
    """
    held = {"sendemail.smtpserver": "/bin/false", "b4.prep-cover-strategy": "commit",
            **(held or {})}
    try:
        run(["b4", "--no-interactive", "--offline-mode", *words], cwd=scratch.path,
            env={**scratch.env, **settings(held)}, status=Status.QUEUE)
    except Failure as failure:
        if "requires git-filter-repo" in failure.message:
            raise Failure(Status.MISSING, "b4 needs git-filter-repo, which is not installed",
                          "scripts/setup --for send installs it") from failure
        raise


def files_of_tree(kernel: Path, commit: str) -> set[str]:
    """What get_maintainer.pl and checkpatch.pl want to see of a kernel tree."""
    listed = tree.git(kernel, "ls-tree", "-z", commit).split("\0")
    return {entry.split("\t", 1)[1] for entry in listed if " blob " in entry} | {
        "scripts/", "include/", "*/Makefile", "*/Kconfig"}


def configure(scratch: tree.Scratch, job: Job) -> None:
    """Give the clone the sender, and what holds in the tree for mail and b4; nothing that asks."""
    listed = tree.git(job.kernel, "config", "-z", "--get-regexp",
                      r"^(user|sendemail|b4|patatt)\.", check=False)
    for key, _, value in (entry.partition("\n") for entry in listed.split("\0") if entry):
        scratch.git("config", "--replace-all", key, value)
    for key, value in (("commit.gpgSign", "false"), ("core.hooksPath", os.devnull)):
        scratch.git("config", key, value)


def cover_commit(where: Path, branch: str) -> str:
    """The commit of a branch that holds b4's cover letter, or ""."""
    return tree.git(where, "log", "-1", "--format=%H", "--fixed-strings",
                    f"--grep={MARKER}", branch)


def old_branch(job: Job) -> str:
    """The tip of the branch that an earlier run made, or "".

    Raises Failure (Status.DIRTY) if it is checked out, or not one of b4.
    """
    full = f"refs/heads/{job.branch}"
    tip = tree.resolve(job.kernel, full)
    if not tip:
        return ""
    if where := tree.git(job.kernel, "for-each-ref", "--format=%(worktreepath)", full):
        raise Failure(Status.DIRTY, f"{job.branch} is checked out in {where}",
                      f"git -C {where} switch to another branch; it will be made anew")
    if not cover_commit(job.kernel, full):
        raise Failure(Status.DIRTY, f"branch {job.branch} of {job.kernel} was not made by b4",
                      f"git -C {job.kernel} branch -m {job.branch} other puts it aside")
    return tip


def check_version(job: Job, version: int | None) -> None:
    """Raise Failure (Status.USAGE) if that version of the series was sent from this tree."""
    tag = f"sent/{job.name}-v{version}"
    if version and tree.resolve(job.kernel, f"refs/tags/{tag}"):
        raise Failure(Status.USAGE, f"version {version} was sent: {job.kernel} has the tag {tag}",
                      "leave --version out, b4 keeps count")


def start_branch(scratch: tree.Scratch, job: Job, below: str, old: str,
                 version: int | None, cover: Path) -> None:
    """Make the b4 branch on `below`, with the cover letter and no patch yet.

    The change-id, the version and what was sent are those of the branch `old`.
    """
    if old:
        scratch.git("checkout", "--quiet", "-B", job.branch, below)
        scratch.git("config", f"branch.{job.branch}.b4-prep-cover-strategy", "commit")
        scratch.git("commit", "--quiet", "--allow-empty", "--no-verify", "--reset-author",
                    "--cleanup=verbatim", "-C", cover_commit(scratch.path, old))
        words: list[str] = []
    else:
        # b4 would take a cover letter that somebody let slip into mainline for
        # its own; a commit without history shows it none.
        root = scratch.git("commit-tree", f"{below}^{{tree}}", "-m", "no history")
        scratch.git("checkout", "--quiet", "-B", job.base.name, root)
        words = ["--new", job.name, "--fork-point", below]
    if version:
        words += ["--force-revision", str(version)]
    b4(scratch, "prep", *words, "--edit-cover",
       held={"core.editor": shlex.join(["cp", "--", str(cover)])})


def prerequisites(patches: list[Path]) -> str:
    """A prerequisite-patch-id line for each patch, as git format-patch --base has them."""
    return "".join(f"prerequisite-patch-id: {found.split()[0]}\n" for patch in patches
                   if (found := run(["git", "patch-id", "--stable"],
                                    stdin=patch.read_bytes(), text=False).stdout.decode()))


def cover_template(job: Job) -> str:
    """The user's template or b4's, with our base commit and what the series stands on.

    It is "" for a topic that stands on nothing: b4 takes the parent of the
    cover letter for the base commit, and there that is right.
    Raises Failure (Status.USAGE) if the user's template cannot be read.
    """
    text = COVER_TEMPLATE
    if own := tree.git(job.kernel, "config", "b4.prep-cover-template", check=False):
        try:
            text = Path(own).expanduser().read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(Status.USAGE, f"the template of b4.prep-cover-template: {error}",
                          "correct that setting of git") from error
    if not job.below:
        return ""
    return text.replace("${base_commit}", f"{job.start}\n{prerequisites(job.below)}".rstrip())


def add_recipients(scratch: tree.Scratch, job: Job) -> None:
    """Let b4 ask get_maintainer.pl; raise Failure (Status.QUEUE) if there is nobody."""
    b4(scratch, "prep", "--auto-to-cc")
    letter = scratch.git("log", "-1", "--format=%B", cover_commit(scratch.path, job.branch))
    if not any(mail.RECIPIENT.match(line) for line in letter.splitlines()):
        raise Failure(Status.QUEUE, f"{job.topic.name} has no recipient: scripts/get_maintainer.pl "
                      f"of {job.kernel} is missing or names nobody",
                      f"add To: and Cc: lines at the end of {job.topic.cover}")


def read_mails(job: Job, folder: Path) -> list[mail.Mail]:
    """The mails that b4 made, in order; the cover letter first if there is one.

    Raises Failure (Status.QUEUE) if they are not as many as the patches.
    """
    paths, origins = sorted(folder.glob("*.eml")), job.topic.patches
    if len(origins) > 1:
        origins = [job.topic.cover, *origins]
    if len(paths) != len(origins):
        raise Failure(Status.QUEUE, f"b4 made {len(paths)} mails of {job.topic.name}, "
                      f"not {len(origins)}", "give each patch of the topic a subject of its own")
    return [mail.read(path, origin) for path, origin in zip(paths, origins)]


def mail_faults(job: Job, mails: list[mail.Mail]) -> Iterator[str]:
    """What is wrong with the mails themselves."""
    cover, count = job.topic.cover, len(job.topic.patches)
    for number, message in enumerate(mails, count + 1 - len(mails)):
        yield from mail.format_faults(message, cover.read_bytes() + message.origin.read_bytes())
        yield from mail.header_faults(message, number, count)
        yield from mail.placeholder_faults(message.origin, message.raw)
    for message in mails[-count:]:
        yield from mail.sign_off_faults(message, job.sender)
    yield from mail.base_commit_faults(mails, job.start,
                                       bool(tree.resolve(job.kernel, job.start)))
    if line := mail.lost_line(cover.read_text("utf-8"), (mails[0].message, mails[0].rest)):
        yield f"{cover}: {line!r} is not in the mail as it stands there; reword it"


def applied_faults(scratch: tree.Scratch, job: Job, below: str,
                   patches: list[mail.Mail]) -> Iterator[str]:
    """Unless `git am` of the mails gives the commits of the branch again."""
    scratch.git("checkout", "--quiet", "-B", "received", below)
    done = run(["git", "-C", scratch.path, "am", "--quiet", "--no-3way", "--no-scissors",
                "--keep-non-patch", *(message.path for message in patches)],
               env=scratch.env, check=False)
    if done.returncode:
        said = " / ".join((done.stdout + done.stderr).splitlines()[:3])
        yield f"{job.topic.folder}: git am refuses the mails: {said}; {mail.REPORT}"
        return
    sent = commits(scratch, cover_commit(scratch.path, job.branch), job.branch)
    received = commits(scratch, below, "received")
    for message, ours, theirs in zip(patches, sent, received, strict=True):
        for what, one, other in zip(("tree", "author", "message"), ours, theirs):
            if one != other:
                yield (f"{message.origin}: git am of the mail gives another {what}:\n{other}\n"
                       f"  instead of\n{one}")


def commits(scratch: tree.Scratch, start: str, end: str) -> list[list[str]]:
    """Tree, author and message of each commit of a range, oldest first."""
    listed = scratch.git("log", "--reverse", "-z", "--format=%T%n%an <%ae>%n%B", f"{start}..{end}")
    return [entry.split("\n", 2) for entry in listed.rstrip("\0").split("\0")]


def checkpatch_faults(scratch: tree.Scratch, patches: list[mail.Mail]) -> Iterator[str]:
    """Errors of the tree's checkpatch.pl; its warnings are shown and no more.

    That the author signed off too is not asked for: only the author can.
    """
    if not (scratch.path / "scripts/checkpatch.pl").exists():
        note("the tree has no scripts/checkpatch.pl; the patches were not checked with it")
        return
    for message in patches:
        done = run(["perl", "scripts/checkpatch.pl", "--strict", "--terse", "--show-types",
                    "--showfile", "--no-summary", "--ignore=NO_AUTHOR_SIGN_OFF", message.path],
                   cwd=scratch.path, check=False)
        found = re.findall(r"^(.*:\d+): (ERROR|WARNING|CHECK):(.*)$", done.stdout, re.MULTILINE)
        if done.returncode and not found:
            raise Failure(Status.MISSING, "scripts/checkpatch.pl of the tree did not check "
                          f"{message.origin}:\n{(done.stdout + done.stderr).strip()}")
        for where, kind, what in found:
            where = where.replace(str(message.path), "line of the mail")
            text = f"{message.origin}: checkpatch.pl: {where}: {what.strip()}"
            if kind == "ERROR":
                yield text
            else:
                note(f"{kind.lower()}: {text}")


def remarks(job: Job, mails: list[mail.Mail]) -> Iterator[str]:
    """What a sender should know, though nothing is refused for it."""
    author = tree.git(job.kernel, "log", "-1", "--format=%an", job.start)
    if author == tree.IDENTITY["GIT_AUTHOR_NAME"]:
        yield (f"base-commit {job.start[:12]} is the import of a tarball: nobody else has it, so "
               "readers and test robots cannot apply the series; send from a clone of mainline, "
               "given with --tree")
    if authors := {message.author for message in mails} - {job.sender}:
        yield (f"sent by {job.sender}, but written by {', '.join(sorted(authors))}: the kernel "
               "asks for the author's Signed-off-by too, in front of yours")
    yield from mail.long_subjects(mails)
    revision = re.search(r"\bv(\d+)\b", mails[0].subject)
    if revision and f"Changes in v{revision[1]}" not in job.topic.cover.read_text("utf-8"):
        yield f"{job.topic.cover}: does not say 'Changes in v{revision[1]}:'"


def prepare(job: Job, folder: Path, version: int | None) -> None:
    """Make branch and mails, check them, and hand over both or neither.

    Raises Failure: Status.QUEUE for what the topic lacks, Status.DIRTY for a
    branch in the way, Status.MISSING for tools.
    """
    check_version(job, version)
    old, template = old_branch(job), cover_template(job)
    paths = files_of_tree(job.kernel, job.start)
    paths |= series.touched([*job.below, *job.topic.patches])
    with (tree.Scratch(job.kernel, job.start, paths) as scratch,
          tempfile.TemporaryDirectory() as temporary):
        configure(scratch, job)
        scratch.env = job.environment
        if job.below:
            patchqueue.am(scratch, job.below)
        below = tree.resolve(scratch.path, "HEAD")
        patchqueue.am(scratch, job.topic.patches, sign_off=True)
        start_branch(scratch, job, below, old, version, job.topic.cover)
        scratch.git("cherry-pick", f"{below}..work")
        add_recipients(scratch, job)

        made, file = Path(temporary) / "mails", Path(temporary) / "template"
        file.write_text(template, "utf-8")
        b4(scratch, "send", "--no-sign", "--output-dir", made,
           held={"b4.prep-cover-template": str(file)} if template else {})
        mails = read_mails(job, made)
        patches = mails[-len(job.topic.patches):]
        refuse(mail_faults(job, mails), job.topic.name)
        refuse(checkpatch_faults(scratch, patches), job.topic.name)
        refuse(applied_faults(scratch, job, below, patches), job.topic.name)

        hand_over(scratch, job, old, template)
        replace_mails(made, folder)
        report(job, mails, folder)
        if old:
            note(f"the branch as it was: {KEPT}{job.name} ({old[:12]})")


def hand_over(scratch: tree.Scratch, job: Job, old: str, template: str) -> None:
    """Give the branch to the tree, and the settings that b4 needs on it."""
    if old:
        tree.git(job.kernel, "update-ref", KEPT + job.name, old)
    tree.git(job.kernel, "fetch", "--quiet", "--no-tags", scratch.path,
             f"+refs/heads/{job.branch}:refs/heads/{job.branch}")
    tree.git(job.kernel, "config", f"branch.{job.branch}.b4-prep-cover-strategy", "commit")
    if template:
        common = job.kernel / tree.git(job.kernel, "rev-parse", "--git-common-dir")
        store = common.resolve() / "mm-batch"
        file, include = store / f"{job.name}.template", store / f"{job.name}.config"
        patchqueue.write(file, template.encode())
        tree.git(job.kernel, "config", "--file", include, "b4.prep-cover-template", str(file))
        # Holds while that branch is checked out, and so for b4 send.
        tree.git(job.kernel, "config", f"includeIf.onbranch:{job.branch}.path", str(include))


def replace_mails(made: Path, folder: Path) -> None:
    """Move the mails into the folder in place of those of an earlier run."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.eml"):
        path.unlink()
    for path in sorted(made.iterdir()):
        shutil.move(path, folder / path.name)


def report(job: Job, mails: list[mail.Mail], folder: Path) -> None:
    for message in mails:
        say(f"{folder / message.path.name}: {message.subject}")
    for header in ("From", "To", "Cc"):
        say(f"{header}: " + ", ".join(mails[0].addresses(header)))
    for remark in remarks(job, mails):
        note(f"warning: {remark}")
    say(f"Nothing was sent. {job.branch} of {job.kernel} has the series; read the mails, then")
    for words in (["git", "switch", job.branch], ["b4", "send", "--reflect"], ["b4", "send"]):
        say("  " + command_line(words, cwd=job.kernel)
            + ("    # to you alone" if "--reflect" in words else ""))


def version_number(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d*", text.removeprefix("v")):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a version")
    return int(text.removeprefix("v"))


def kernel_tree(base: conf.Base, path: Path | None) -> Path:
    """The tree to send from: the user's, or the imported one.

    Raises Failure: Status.VERSION if it is no kernel tree of that version,
    Status.DIRTY if a branch of b4 is checked out, which is no base.
    """
    kernel = path.resolve() if path else provide.base_tree(base)
    if not tree.is_git(kernel):
        raise Failure(Status.VERSION, f"{kernel} is not a git tree")
    tree.check_version(base, tree.git(kernel, "show", "HEAD:Makefile", check=False), kernel)
    current = patchqueue.current_branch(kernel)
    if current.startswith("b4/"):
        raise Failure(Status.DIRTY, f"{current} is checked out in {kernel}; "
                      "a series is not made on another one",
                      f"git -C {kernel} switch to what it goes on, a branch or tag of mainline")
    return kernel


def base_of(kernel: Path, base: conf.Base, own: bool) -> str:
    """The base commit: HEAD of a user's own tree, unless that is the queue's branch."""
    if own and patchqueue.current_branch(kernel) != base.branch:
        return tree.resolve(kernel, "HEAD")
    return patchqueue.base_commit(kernel)


def check_folder(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(
            path.suffix != ".eml" for path in folder.iterdir())):
        raise Failure(Status.USAGE, f"{folder} is no folder of mails (*.eml) alone",
                      "name an empty or a new one with --output")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="send", description="Prepare a topic for its list with b4, and check the mails.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topic", required=True, metavar="T", help="the topic to send")
    parser.add_argument("--base", default=conf.DEFAULT_BASE, choices=list(conf.bases()),
                        help="(default: %(default)s)")
    parser.add_argument("--tree", type=Path, metavar="PATH",
                        help="a git tree of yours; its HEAD is the base commit "
                        "(default: build/trees/BASE)")
    parser.add_argument("--output", "-o", type=Path, metavar="DIR",
                        help="folder for the mails (default: build/send/BASE-TOPIC)")
    parser.add_argument("--version", type=version_number, metavar="N",
                        help="version of the series (default: 1; then b4 counts what it sent)")
    options = parser.parse_args(arguments)

    base = conf.base_named(options.base)
    *others, topic = series.pick(series.read(base), [options.topic])
    folder = (options.output or conf.BUILD / "send" / f"{base.name}-{topic.name}").resolve()
    check_folder(folder)
    if not shutil.which("b4"):
        raise Failure(Status.MISSING, "b4 is not installed", "scripts/setup --for send installs it")
    below = [patch for other in others for patch in other.patches]
    refuse(source_faults(topic, below), topic.name)
    kernel = kernel_tree(base, options.tree)
    with tree.lock(str(kernel)):
        job = Job(base, topic, below, kernel, base_of(kernel, base, bool(options.tree)),
                  identity(kernel))
        prepare(job, folder, options.version)
    return 0
