# SPDX-License-Identifier: GPL-2.0-only
"""Exit statuses, errors, progress, and running of other programs."""
from __future__ import annotations

import enum
import errno
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Mapping, Sequence


class Status(enum.IntEnum):
    """Exit statuses of every script; Documentation/running.rst explains them."""
    OK = 0
    TEST = 1            # a test failed
    USAGE = 2           # the command line, or a file of this repository
    CONFIG = 3          # the kernel could not be configured as asked
    BUILD = 4           # the kernel did not build
    BOOT = 5            # it did not boot, died, or timed out
    SPLAT = 6           # all tests passed, but the kernel complained
    COVERAGE = 7        # too few cases ran, or one was skipped that may not be
    QUEUE = 8           # the queue does not apply, or has drifted
    MISSING = 9         # a tool or a source that cannot be had
    VERSION = 10        # not a kernel tree, or of another version
    DIRTY = 11          # uncommitted changes, or a branch that is not ours
    SPACE = 12          # no space left
    INTERRUPTED = 130   # Ctrl-C, SIGTERM or SIGHUP


# Where one run has several, the first of these is the one reported.
SEVERITY = [Status.INTERRUPTED, Status.SPACE, Status.USAGE, Status.MISSING,
            Status.VERSION, Status.DIRTY, Status.QUEUE, Status.CONFIG,
            Status.BUILD, Status.BOOT, Status.TEST, Status.SPLAT,
            Status.COVERAGE, Status.OK]


def worst(statuses) -> Status:
    """The status to exit with where several were met; OK for none."""
    return min(statuses, key=SEVERITY.index, default=Status.OK)


class Failure(Exception):
    """An error for the user: what went wrong, and what to do about it."""

    def __init__(self, status: Status, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message + (f"\n  {self.hint}" if self.hint else "")


def main(job: Callable[[], int]) -> int:
    """Run `job` and turn what it raises into a message and an exit status."""
    def stop(signum, frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)
    try:
        return int(job())
    except Failure as failure:
        status, text = failure.status, str(failure)
    except KeyboardInterrupt:
        status, text = Status.INTERRUPTED, ("interrupted; nothing is half done, "
                                            "the same command goes on")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Status.OK)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        status, text = Status.SPACE, no_space(error.filename)
    progress.clear()
    sys.stdout.flush()
    print(f"error: {text}", file=sys.stderr)
    return int(status)


def no_space(where) -> str:
    return (f"no space left on the device of {where or 'the build folder'}\n"
            "  a base takes about 2.5 GB and a kernel up to 0.3 GB; free some, or "
            "link build/ to a larger disk")


class Progress:
    """One line that is rewritten on a terminal, a line now and then elsewhere."""
    EVERY = 30.0    # seconds between two lines where there is no terminal

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()
        self.width = 0
        self.last = time.monotonic()

    def show(self, text: str) -> None:
        if self.live:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            text = text[:columns - 1]
            print(f"\r{text.ljust(self.width)}", end="", file=sys.stderr, flush=True)
            self.width = len(text)
        elif time.monotonic() - self.last >= self.EVERY:
            print(text, file=sys.stderr, flush=True)
            self.last = time.monotonic()

    def clear(self) -> None:
        if self.live and self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)
            self.width = 0
        self.last = time.monotonic()


progress = Progress()


def say(text: str = "") -> None:
    """A line of the script's own output."""
    progress.clear()
    print(text, flush=True)


def note(text: str) -> None:
    """A line about what is going on, apart from the script's output."""
    progress.clear()
    print(text, file=sys.stderr, flush=True)


def command_line(argv: Sequence[str | Path], env: Mapping[str, str] | None = None,
                 cwd: Path | None = None) -> str:
    """The command as a person can paste it into a shell."""
    words = [f"{key}={shlex.quote(value)}" for key, value in (env or {}).items()]
    words.append(shlex.join(str(word) for word in argv))
    prefix = f"cd {shlex.quote(str(cwd))} && " if cwd else ""
    return prefix + " ".join(words)


def run(argv: Sequence[str | Path], *, cwd: Path | None = None,
        env: Mapping[str, str] | None = None, stdin: str | bytes | None = None,
        check: bool = True, status: Status = Status.MISSING,
        text: bool = True) -> subprocess.CompletedProcess:
    """Run a program without a shell and keep what it prints.

    `env` is added to the environment. With `check` a failure raises Failure
    with `status` and the end of the program's own words.
    """
    words = [str(word) for word in argv]
    feed = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    how = {"errors": "surrogateescape"} if text else {}
    try:
        done = subprocess.run(words, cwd=cwd, env={**os.environ, **(env or {})},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=text, **feed, **how)
    except FileNotFoundError as error:
        if cwd and not Path(cwd).is_dir():
            raise Failure(status, f"no folder {cwd} to run {words[0]} in") from error
        raise Failure(Status.MISSING, f"{words[0]} is not installed",
                      "scripts/setup installs what is missing") from error
    if check and done.returncode:
        said = done.stderr if text else done.stderr.decode(errors="replace")
        out = done.stdout if text else done.stdout.decode(errors="replace")
        tail = "\n".join("  | " + line for line in
                         ((out + said).strip().splitlines() or ["(it said nothing)"])[-20:])
        if "No space left on device" in said or "Disk quota exceeded" in said:
            raise Failure(Status.SPACE, no_space(cwd) + "\n" + tail)
        raise Failure(status, f"{command_line(words, cwd=cwd)}\n  failed with exit "
                              f"status {done.returncode}:\n{tail}")
    return done


def duration(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
