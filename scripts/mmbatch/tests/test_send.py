# SPDX-License-Identifier: GPL-2.0-only
"""scripts/send with the real b4, in a kernel tree in miniature."""
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from .. import cmd_send
from .sandbox import Sandbox

SENDER = "Jürgen Müller <jm@example.org>"
GET_MAINTAINER = """\
#!/usr/bin/env perl
# Knows whoever is named in MAINTAINERS; --nol: people alone, --nom: lists alone.
my %%not = map { $_ => 1 } @ARGV;
my $diff = join '', <STDIN>;
open(my $file, '<', 'MAINTAINERS') or die "no MAINTAINERS";
exit 0 unless $diff =~ m{^diff --git}m;
while (<$file>) {
    print "$1\\n" if (/^M:\\t(.*)/ && !$not{'--nom'}) || (/^L:\\t(.*)/ && !$not{'--nol'});
}
""".replace("%%", "%")
CHECKPATCH = """\
my $text = do { local $/; open(my $file, '<', $ARGV[-1]) or die; <$file> };
print "mm/memory.c:7: ERROR:BAD: do not use bad_word\\n" if $text =~ /bad_word/;
print "mm/memory.c:8: WARNING:ODD: odd_word is odd\\n" if $text =~ /odd_word/;
exit($text =~ /bad_word|odd_word/ ? 1 : 0);
"""
COVER = """\
mm: batch things for Müller

Müller found that one page at a time costs 3 % = much:

- a list, and
    # an indented command

Tested: not at all

To: Søren <soeren@example.org>
"""


@unittest.skipUnless(shutil.which("b4"), "b4 is not installed")
class Send(Sandbox):
    def setUp(self) -> None:
        super().setUp()
        for role in ("AUTHOR", "COMMITTER"):        # the identity is that of the configuration
            self.env.pop(f"GIT_{role}_NAME"), self.env.pop(f"GIT_{role}_EMAIL")
        self.config("user.name", "Jürgen Müller")
        self.config("user.email", "jm@example.org")
        self.env["GIT_AUTHOR_DATE"] = "2020-02-20T20:20:20Z"     # b4 looks back one year
        self.make_queue()
        self.edit(self.imported, "line 30", "Zeile dreißig = 30")
        self.commit("mm: write thirty as Müller does", self.imported)
        self.script("queue", "refresh", expect=0)
        del self.env["GIT_AUTHOR_DATE"]
        self.cover.write_text(COVER)
        self.mails = self.root / "build/send/v7.3-change"

    def make_tree(self) -> None:
        self.write(self.tree / "MAINTAINERS", "MEMORY\nM:\tAnna Åse <anna@example.org>\n"
                   "L:\tlinux-mm@example.org\nF:\tmm/\n")
        self.write(self.tree / "scripts/get_maintainer.pl", GET_MAINTAINER)
        (self.tree / "scripts/get_maintainer.pl").chmod(0o755)
        self.write(self.tree / "scripts/checkpatch.pl", CHECKPATCH)
        self.write(self.tree / "Kconfig", "")       # so b4 would take the kernel's web endpoint
        super().make_tree()

    def config(self, *words: str) -> None:
        self.git("config", "--file", str(self.folder / ".gitconfig"), *words, tree=self.folder)

    @property
    def cover(self) -> Path:
        return self.root / "patches/v7.3/change/cover.txt"

    @property
    def patches(self) -> list[Path]:
        return sorted(self.root.glob("patches/v7.3/change/*.patch"))

    def send(self, *words: str, topic: str = "change", expect: int = 0) -> str:
        """Run scripts/send; what it said. After a refusal nothing may be left of it."""
        before = self.state()
        done = self.script("send", "--topic", topic, "--tree", str(self.tree), *words,
                           expect=expect)
        self.assertEqual(list((self.root / "build/tmp").glob("*")), [])
        if expect:
            self.assertEqual(self.state(), before)
        return done.stdout + done.stderr

    def state(self) -> tuple:
        """What a run could change: references, configuration, files, mails."""
        return (self.git("for-each-ref"), (self.tree / ".git/config").read_text(),
                self.git("status", "--porcelain", "--ignored"), self.git("rev-parse", "HEAD"),
                sorted(path.name for path in self.root.glob("build/send/*/*")))

    def received(self, onto: str) -> str:
        """The tree that `git am` of the mails gives on a commit."""
        where = self.folder / "received"
        shutil.rmtree(where, ignore_errors=True)
        self.git("clone", "--quiet", str(self.tree), str(where), tree=self.folder)
        self.git("checkout", "--quiet", onto, tree=where)
        patches = [path for path in sorted(self.mails.glob("*.eml"))
                   if b"\ndiff --git " in path.read_bytes()]
        self.git("am", "--quiet", *map(str, patches), tree=where)
        return self.git("rev-parse", "HEAD^{tree}", tree=where)

    def cover_commit(self) -> str:
        return self.git("log", "-1", "--format=%H", "--grep=b4-submit-tracking",
                        "b4/mm-batch-change")

    def subject(self, path: Path) -> str:
        """What git makes of a mail's subject."""
        said = subprocess.run(["git", "mailinfo", "-k", "/dev/null", "/dev/null"], check=True,
                              input=path.read_bytes(), capture_output=True).stdout.decode()
        return re.search("^Subject: (.*)$", said, re.MULTILINE)[1]

    def test_a_series_that_stands_on_kunit(self) -> None:
        said = self.send()
        self.assertIn("Nothing was sent.", said)
        self.assertIn(f"cd {self.tree} && b4 send\n", said)
        self.assertNotIn("warning: ", said)
        paths = sorted(self.mails.iterdir())
        self.assertEqual([path.name[:5] for path in paths], ["0000-", "0001-", "0002-"])
        base, whole = self.git("rev-parse", "master"), b"".join(p.read_bytes() for p in paths)
        # P4: nothing of Müller is lost on the way, and nothing is added.
        letter = paths[0].read_text("utf-8")
        self.assertIn(COVER.split("\n", 2)[2].split("\nTested")[0], letter)
        self.assertIn("Tested: not at all\n", letter)
        self.assertNotIn(b"\r", whole)
        self.assertNotIn(b"=3D", whole)
        self.assertEqual(self.subject(paths[0]), "[PATCH 0/2] mm: batch things for Müller")
        # P7: one base-commit, which the tree has, and what stands between.
        self.assertEqual(re.findall(rb"^base-commit: (.*)$", whole, re.MULTILINE),
                         [base.encode()])
        kunit = next(self.root.glob("patches/v7.3/kunit/*.patch")).read_text()
        patch_id = subprocess.run(["git", "patch-id", "--stable"], input=kunit, check=True,
                                  capture_output=True, text=True).stdout.split()[0]
        self.assertEqual(letter.count("prerequisite-patch-id: "), 1)
        self.assertIn(f"prerequisite-patch-id: {patch_id}\n", letter)
        # Sign-off, author and recipients.
        for path in paths[1:]:
            self.assertIn(f"\n\nSigned-off-by: {SENDER}\n---\n", path.read_text("utf-8"))
        for part in ("From: Jürgen Müller <jm@example.org>", "Anna Åse <anna@example.org>",
                     "Søren <soeren@example.org>", "Cc: linux-mm@example.org"):
            self.assertIn(part, said)
        # P5: git am gives the tree of the branch.
        self.assertEqual(self.received(f"{self.cover_commit()}~1"),
                         self.git("rev-parse", "b4/mm-batch-change^{tree}"))
        # b4 takes up the branch by itself, settings included.
        self.git("switch", "--quiet", "b4/mm-batch-change")
        subprocess.run(["b4", "--offline-mode", "send", "--no-sign", "-o", self.folder / "again"],
                       cwd=self.tree, check=True, capture_output=True, env={
                           **self.env, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_VALUE_0": "/bin/false",
                           "GIT_CONFIG_KEY_0": "sendemail.smtpserver"})
        again = next((self.folder / "again").glob("0000-*")).read_text("utf-8")
        self.assertEqual(again.split("\nbase-commit")[1], letter.split("\nbase-commit")[1])

    def test_one_patch_alone(self) -> None:
        """kunit: the letter goes below the cut of its only patch."""
        self.mails = self.mails.with_name("v7.3-kunit")
        self.send(topic="kunit")
        [path] = self.mails.iterdir()
        text = path.read_text("utf-8")
        self.assertIn("[PATCH] mm/tests: add a demonstration\n", text)
        self.assertIn("---\nWhat and why, by Müller.\n", text)
        self.assertIn(f"\nbase-commit: {self.git('rev-parse', 'master')}\n", text)
        self.assertEqual(self.received("master"),
                         self.git("rev-parse", "b4/mm-batch-kunit^{tree}"))

    def test_version_two_keeps_what_b4_knows(self) -> None:
        self.send("--output", str(self.folder / "v1"))
        change = re.search("change-id: .*", next(
            (self.folder / "v1").glob("0000-*")).read_text("utf-8"))[0]
        # What b4 does after sending: a tag, and the next version in the cover letter.
        self.git("tag", "sent/mm-batch-change-v1", "b4/mm-batch-change")
        tip = self.git("rev-parse", "b4/mm-batch-change")
        self.assertIn("version 1 was sent", self.send("--version", "1", expect=2))
        self.write(self.mails / "0009-of-before.eml", "")
        self.assertIn("does not say 'Changes in v2:'", self.send("--version", "2"))
        paths = sorted(self.mails.iterdir())
        self.assertEqual(len(paths), 3)
        for number, path in enumerate(paths):
            self.assertIn(f"[PATCH v2 {number}/2] mm: ", self.subject(path))
        self.assertIn(change, paths[0].read_text("utf-8"))
        self.assertEqual(self.git("rev-parse", "refs/mm-batch/before-send/mm-batch-change"), tip)
        # The version stands without being named again; those of before are replaced.
        self.cover.write_text(COVER.replace("- a list", "Changes in v2:\n- a list"))
        self.assertNotIn("warning: ", self.send())
        paths = sorted(self.mails.iterdir())
        self.assertEqual(len(paths), 3)
        self.assertIn("[PATCH v2 0/2]", self.subject(paths[0]))
        other = self.folder / "worktree"
        self.git("worktree", "add", "--quiet", str(other), "b4/mm-batch-change")
        self.assertIn(f"b4/mm-batch-change is checked out in {other}", self.send(expect=11))

    def test_no_identity(self) -> None:
        for key in ("user.name", "user.email"):
            with self.subTest(key):
                value = self.git("config", key)
                self.config("--unset", key)
                self.assertIn(f"git config --global {key} ", self.send(expect=2))
                self.config(key, value)

    def test_files_that_are_not_ready(self) -> None:
        patch = self.patches[1]
        for path, old, new, words in (
                (self.cover, "Müller found", "*** BLURB HERE ***", "cover.txt:3: text of a"),
                (self.cover, "    # an", "# an", "cover.txt:6: b4 drops"),
                (self.cover, "mm: batch", "batch", "subsystem"),
                (patch, "\n line 31\n", "\n line 31\r\n", "carriage return"),
                (patch, "For the tests.", "*** BLURB HERE ***", "text of a template"),
                (patch, "-line 30", "-line 31", "does not apply")):
            with self.subTest(words):
                good = path.read_bytes()
                self.assertIn(old.encode(), good)
                path.write_bytes(good.replace(old.encode(), new.encode(), 1))
                said = self.send(expect=8)
                self.assertIn(words, said)
                self.assertIn(path.name, said)
                path.write_bytes(good)
        self.cover.unlink()
        self.assertIn("cover.txt: is not there", self.send(expect=8))

    def test_base_commit_is_missing_or_stands_twice(self) -> None:
        template = self.folder / "template"
        self.config("b4.prep-cover-template", str(template))
        template.write_text("${cover}\n---\n${diffstat}\n---\nchange-id: ${change_id}\n-- \nme\n")
        self.assertIn("no mail has a base-commit", self.send(expect=8))
        template.write_text("${cover}\n---\n${diffstat}\n---\n"
                            + 2 * "base-commit: ${base_commit}\n")
        self.assertIn("2 base-commit lines", self.send(expect=8))
        template.unlink()
        self.assertIn("b4.prep-cover-template", self.send(expect=2))

    def test_no_recipient(self) -> None:
        self.cover.write_text(COVER.split("\nTo:")[0] + "\n")
        self.write(self.tree / "MAINTAINERS", "NOBODY\n")
        self.git("commit", "--quiet", "--all", "-m", "nobody")
        self.assertIn("add To: and Cc: lines", self.send(expect=8))

    def test_checkpatch(self) -> None:
        patch = self.patches[1]
        good = patch.read_text("utf-8")
        patch.write_text(good.replace("dreißig = 30", "odd_word"))
        said = self.send()
        self.assertIn("mm/memory.c:8: ODD: odd_word is odd", said)
        patch.write_text(good.replace("dreißig = 30", "bad_word"))
        said = self.send(expect=8)
        self.assertIn(f"{patch}: checkpatch.pl: mm/memory.c:7: BAD: do not use bad_word", said)

    def test_git_settings_that_spoil_the_mails(self) -> None:
        """What holds for the sender holds for the trial."""
        self.config("diff.noprefix", "true")
        self.assertIn("git am ", self.send(expect=8))

    def test_somebody_elses_patches_and_an_imported_tree(self) -> None:
        self.git("config", "user.name", "S. Ender")
        self.git("config", "user.email", "sender@example.org")
        self.git("commit", "--quiet", "--amend", "--no-edit", "--author=mm-batch <x@localhost>")
        said = self.send()
        self.assertIn("is the import of a tarball", said)
        self.assertIn("sent by S. Ender <sender@example.org>, but written by Jürgen Müller", said)
        text = next(self.mails.glob("0001-*")).read_text("utf-8")
        self.assertIn("\n\nFrom: Jürgen Müller <jm@example.org>\n\n", text)

    def test_what_is_in_the_way(self) -> None:
        self.assertIn("no topic 'nothing'", self.send(topic="nothing", expect=2))
        self.assertIn("is no number", self.send("--version", "0", expect=2))
        full = self.folder / "full"
        self.write(full / "thesis.tex", "")
        self.assertIn("is no folder of mails", self.send("--output", str(full), expect=2))
        self.git("branch", "b4/mm-batch-change", "master")
        self.assertIn("was not made by b4", self.send(expect=11))
        self.git("switch", "--quiet", "-c", "b4/other")
        self.assertIn("b4/other is checked out", self.send(expect=11))
        self.write(self.tree / "Makefile", "VERSION = 6\nPATCHLEVEL = 12\n")
        self.git("commit", "--quiet", "--all", "-m", "older")
        self.assertIn("needs 7.3", self.send(expect=10))

    def test_a_cover_letter_that_slipped_into_mainline(self) -> None:
        self.git("commit", "--quiet", "--allow-empty",
                 "-m", "x: y\n\n--- b4-submit-tracking ---\n{}")
        self.send(topic="kunit")

    def test_without_b4(self) -> None:
        tools = self.folder / "tools"
        tools.mkdir()
        for name in ("git", "python3", "env"):
            (tools / name).symlink_to(shutil.which(name))
        done = self.script("send", "--topic", "change", env={"PATH": str(tools)}, expect=9)
        self.assertIn("b4 is not installed\n  scripts/setup --for send", done.stderr)


class Parts(unittest.TestCase):
    def test_names_of_the_series(self) -> None:
        for base, name in (("v7.3", "mm-batch-rmap"),
                           ("linux-6.12.y", "mm-batch-rmap-linux-6-12-y")):
            job = cmd_send.Job(SimpleNamespace(name=base), SimpleNamespace(name="rmap"), [],
                               Path(), "", SENDER)
            self.assertEqual((job.name, job.branch), (name, f"b4/{name}"))

    def test_settings_leave_those_of_the_environment(self) -> None:
        mine = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "1"}
        with mock.patch.dict(os.environ, mine):
            made = {**os.environ, **cmd_send.settings({"a.b": "x y", "a.c": ""})}
        said = subprocess.run(["git", "config", "--get-regexp", "^a[.]"], env=made, check=True,
                              capture_output=True, text=True).stdout
        self.assertEqual(said, "a.b 1\na.b x y\na.c \n")


if __name__ == "__main__":
    unittest.main()
