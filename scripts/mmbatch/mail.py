# SPDX-License-Identifier: GPL-2.0-only
"""Checks of cover letters and mails, before somebody else finds the fault.

A check yields one line for each fault: the file, what is wrong, what to do.
What a patch of the queue must look like is in patchfile.py.
"""
from __future__ import annotations

import email
import email.message
import email.policy
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator, Sequence

from .cli import Status, run
from .patchfile import TEMPLATE

RECIPIENT = re.compile(r"(?:To|Cc):\s", re.IGNORECASE)
REPORT = "b4 did that: report it, and send with another version of b4"
LONG_SUBJECT = 75       # Documentation/process/submitting-patches.rst


@dataclass(frozen=True)
class Mail:
    """A mail as the people on a list receive it.

    `origin` is the file of the queue that it was made of, for messages.
    `author` and `message` are what `git am` takes for them, the message without
    its subject; `rest` is what it leaves out: text below `---`, and the diff.
    """
    path: Path
    origin: Path
    raw: bytes
    headers: email.message.EmailMessage
    author: str
    message: str
    rest: str

    @property
    def subject(self) -> str:
        return str(self.headers["Subject"] or "")

    def addresses(self, header: str) -> list[str]:
        """The addresses of From, To or Cc, as "Name <mail>"."""
        return [str(address) for value in self.headers.get_all(header, [])
                for address in value.addresses]


def read(path: Path, origin: Path) -> Mail:
    """Read a mail as `git mailinfo` does.

    Raises Failure (Status.QUEUE) if git cannot read it.
    """
    raw = path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        message, rest = Path(folder) / "message", Path(folder) / "rest"
        told = run(["git", "mailinfo", "--no-scissors", "--encoding=UTF-8", message, rest],
                   stdin=raw, text=False, status=Status.QUEUE).stdout.decode(errors="replace")
        found = dict(re.findall(r"^(Author|Email): (.*)$", told, re.MULTILINE))
        return Mail(path, origin, raw, email.message_from_bytes(raw, policy=email.policy.default),
                    f"{found.get('Author', '')} <{found.get('Email', '')}>",
                    message.read_text("utf-8", "replace"), rest.read_text("utf-8", "replace"))


def placeholder_faults(path: Path, raw: bytes) -> Iterator[str]:
    """Lines above the diff, if any, that a template left for somebody to write."""
    head = raw.split(b"\ndiff --git ", 1)[0].decode(errors="replace")
    for number, line in enumerate(head.splitlines(), 1):
        if TEMPLATE.search(line):
            yield f"{path}:{number}: text of a template, {line.strip()!r}; write your own"


def cover_faults(path: Path, raw: bytes) -> Iterator[str]:
    """Faults of a cover.txt: a subject, an empty line, what the letter says."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        yield f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8"
        return
    if b"\r" in raw:
        yield f"{path}: has carriage returns; save it with Unix line ends"
    lines = text.splitlines()
    if len(lines) < 3 or not lines[0].strip() or lines[1].strip() or not lines[2].strip():
        yield (f"{path}: its first line must be the subject, the second empty, and the letter "
               "begins on the third")
        return
    yield from placeholder_faults(path, raw)
    if not TEMPLATE.search(lines[0]):
        yield from subject_faults(path, re.sub(r"^\[[^]]*\]\s*", "", lines[0]))
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            yield f"{path}:{number}: b4 drops lines that begin with '#'; indent it"


def subject_faults(path: Path, title: str) -> Iterator[str]:
    if not re.match(r"[^\s:][^:]*: \S", title):
        yield f"{path}: subject {title!r} does not say 'subsystem: what it does'; change it"


def format_faults(mail: Mail, source: bytes) -> Iterator[str]:
    """What a mail library did to a mail; `source` is the text it was made of."""
    if b"\r" in mail.raw:
        yield f"{mail.origin}: the mail has carriage returns; {REPORT}"
    encoding = str(mail.headers.get("Content-Transfer-Encoding", "8bit")).lower()
    if encoding not in ("7bit", "8bit"):
        yield f"{mail.origin}: the mail is encoded as {encoding}; {REPORT}"
    if b"=3D" in mail.raw and b"=3D" not in source:
        yield f"{mail.origin}: the mail has =3D, a trace of quoted-printable; {REPORT}"


def header_faults(mail: Mail, number: int, last: int) -> Iterator[str]:
    """Faults of sender, recipients and subject of mail `number` of `last`."""
    sender = mail.headers["From"].addresses if mail.headers["From"] else ()
    if len(sender) != 1 or not sender[0].display_name or "@" not in sender[0].addr_spec:
        yield (f"{mail.origin}: From: {mail.headers['From']} is not one name and address; correct "
               "user.name and user.email, or sendemail.from, in git's configuration")
    if not mail.addresses("To"):
        yield f"{mail.origin}: the mail has no recipient; add To: lines at the end of cover.txt"
    prefix = re.match(r"\[([^]]*\bPATCH\b[^]]*)\] ", mail.subject)
    counter = re.search(r"(\d+)/(\d+)$", prefix[1]) if prefix else None
    if not prefix or (number, last) != (tuple(map(int, counter.groups())) if counter else (1, 1)):
        yield (f"{mail.origin}: the subject of the mail, {mail.subject!r}, does not begin with "
               f"[PATCH {number}/{last}]; {REPORT}")
    else:
        yield from subject_faults(mail.origin, mail.subject[prefix.end():])


def sign_off_faults(mail: Mail, sender: str) -> Iterator[str]:
    """Unless the sender's Signed-off-by stands once, as the last trailer.

    `sender` is "Name <mail>".
    """
    trailers = run(["git", "-c", "trailer.separators=:", "interpret-trailers", "--parse",
                    "--no-divider"], stdin=f"subject\n\n{mail.message}").stdout.splitlines()
    mine = f"Signed-off-by: {sender}"
    if trailers[-1:] != [mine]:
        yield (f"{mail.origin}: the last trailer is {trailers[-1] if trailers else 'missing'!r}, "
               f"not {mine!r}; let the message end with its trailers")
    elif trailers.count(mine) > 1:
        yield f"{mail.origin}: {mine!r} stands there more than once; take it out of the patch"


def base_commit_faults(mails: Sequence[Mail], base: str, known: bool) -> Iterator[str]:
    """Unless the series names one base-commit, and that is `base`.

    `known` says whether `base` is an object of the tree.
    """
    found = [(mail.origin, commit.decode(errors="replace").strip()) for mail in mails
             for commit in re.findall(rb"^base-commit:(.*)$", mail.raw, re.MULTILINE)]
    if not found:
        yield (f"{mails[0].origin}: no mail has a base-commit line; put 'base-commit: "
               "${base_commit}' into the file that b4.prep-cover-template names")
    elif len(found) > 1:
        yield (f"{found[0][0]}: the series has {len(found)} base-commit lines, "
               f"{', '.join(commit for _, commit in found)}; b4 adds one, take out the others")
    elif found[0][1] != base or not known:
        yield (f"{found[0][0]}: base-commit {found[0][1]} is not the commit of the tree that the "
               f"series stands on, {base}; take it out of cover.txt or of b4's template")


def lost_line(cover: str, texts: Iterable[str]) -> str:
    """The first line of a cover.txt that a mail has not, or not in that order; or "".

    The subject, and To: and Cc: lines, became headers and are not looked for.
    """
    have = iter([line.rstrip() for text in texts for line in text.splitlines()])
    return next((line for line in cover.splitlines()[1:] if line.strip()
                 and not RECIPIENT.match(line) and line.rstrip() not in have), "")


def long_subjects(mails: Sequence[Mail]) -> Iterator[str]:
    """A remark about each subject that is longer than the kernel asks for."""
    for mail in mails:
        title = re.sub(r"^\[[^]]*\]\s*", "", mail.subject)
        if len(title) > LONG_SUBJECT:
            yield (f"{mail.origin}: the subject has {len(title)} characters, "
                   f"the kernel asks for {LONG_SUBJECT}")
