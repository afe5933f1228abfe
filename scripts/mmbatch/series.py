# SPDX-License-Identifier: GPL-2.0-only
"""A queue as files: the quilt series, its topics, and the patches."""
from __future__ import annotations

import email
import email.header
import email.policy
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from . import conf
from .cli import Failure, Status

COVER = "cover.txt"
FIRST = "kunit"     # the topic that every other one stands on


@dataclass
class Topic:
    """A folder of patches that goes to a list as one series."""
    name: str
    folder: Path
    patches: list[Path] = field(default_factory=list)

    @property
    def cover(self) -> Path:
        return self.folder / COVER


def read(base: conf.Base) -> list[Topic]:
    """The topics of a queue in the order of its series.

    A line `# name` begins a topic; the others name its patches.
    """
    if not base.series.exists():
        raise Failure(Status.USAGE, f"there is no queue for {base.name} yet",
                      f"bases with one: {', '.join(b.name for b in conf.queued_bases())}")
    topics: list[Topic] = []
    for number, line in enumerate(base.series.read_text().splitlines(), 1):
        line = line.strip()
        if not line:
            continue
        if line.startswith("#"):
            name = line[1:].strip()
            topics.append(Topic(name, base.queue / name))
        elif not topics or Path(line).parent.name != topics[-1].name:
            raise Failure(Status.USAGE, f"{base.series}:{number}: {line} stands outside its "
                          "topic's heading", f"write '# {Path(line).parent.name}' above it")
        else:
            topics[-1].patches.append(base.queue / line)
    return topics


def pick(topics: list[Topic], only: list[str] | None) -> list[Topic]:
    """The topics named in `only` after `kunit`; all for None, `kunit` alone for []."""
    if only is None:
        return topics
    for name in only:
        if name not in (topic.name for topic in topics):
            raise Failure(Status.USAGE, f"no topic {name!r}; there are: "
                          + ", ".join(topic.name for topic in topics))
    return [topic for topic in topics if topic.name == FIRST or topic.name in only]


def touched(patches: list[Path]) -> set[str]:
    """The files that the patches name."""
    return {path for patch in patches
            for path in re.findall(r"^(?:---|\+\+\+) [ab]/(.+)$",
                                   patch.read_text(errors="surrogateescape"), re.MULTILINE)}


def subject(patch: Path) -> str:
    """Subject of a patch, unfolded and decoded, without [PATCH]."""
    head = patch.read_bytes().split(b"\n\n", 1)[0]
    header = email.message_from_bytes(head, policy=email.policy.compat32)["Subject"] or ""
    text = str(email.header.make_header(email.header.decode_header(header)))
    return re.sub(r"^\[PATCH[^]]*\]\s*", "", re.sub(r"\s*\n\s*", " ", text))


def content_key(commit: str, topics: list[Topic]) -> str:
    """A hash of a base commit and of all that is applied to it."""
    digest = hashlib.sha256(commit.encode())
    for topic in topics:
        digest.update(f"# {topic.name}\0".encode())
        for patch in topic.patches:
            digest.update(hashlib.sha256(patch.read_bytes()).digest())
    return digest.hexdigest()
