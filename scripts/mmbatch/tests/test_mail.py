# SPDX-License-Identifier: GPL-2.0-only
"""The checks of cover letters and mails, on damage made by hand."""
import email.message
import email.policy
import tempfile
import unittest
from pathlib import Path

from .. import mail

SENDER = "Jürgen Müller <jm@example.org>"
BASE = "4db84f678f2538e14d50744145318f045274d098"
HEADERS = {"From": "=?utf-8?q?J=C3=BCrgen_M=C3=BCller?= <jm@example.org>",
           "To": "linux-mm@kvack.org", "Subject": "[PATCH 1/2] mm: batch a thing",
           "MIME-Version": "1.0", "Content-Type": 'text/plain; charset="utf-8"',
           "Content-Transfer-Encoding": "8bit"}
BODY = f"""\
One page at a time is slow, says Müller.

Signed-off-by: {SENDER}
---
 mm/memory.c | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

diff --git a/mm/memory.c b/mm/memory.c
--- a/mm/memory.c
+++ b/mm/memory.c
@@ -1,3 +1,3 @@
 one
-two
+zwölf = 2
 three
--\x20
2.39.5
"""
COVER = "mm: batch things\n\nMüller found 3 % = much.\n\n- a list\n\nTo: a@example.org\n"
ORIGIN = Path("cover.txt")


class Checks(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def mail(self, body: str = BODY, raw: bytes | None = None, **headers: str) -> mail.Mail:
        """A mail as on the wire, its headers changed by `headers`."""
        lines = {**HEADERS, **{key.replace("_", "-"): value for key, value in headers.items()}}
        path = self.folder / "0001.eml"
        path.write_bytes(raw if raw is not None else (
            "".join(f"{key}: {value}\n" for key, value in lines.items() if value)
            + f"\n{body}").encode())
        return mail.read(path, ORIGIN)

    def only(self, faults, *words: str) -> None:
        """Exactly one fault, with these words and the file."""
        found = list(faults)
        self.assertEqual(len(found), 1, found)
        for word in (str(ORIGIN), *words):
            self.assertIn(word, found[0])

    def test_a_good_mail_has_no_fault(self) -> None:
        good = self.mail()
        self.assertEqual(good.author, SENDER)
        self.assertEqual(good.message, f"One page at a time is slow, says Müller.\n\n"
                                       f"Signed-off-by: {SENDER}\n")
        self.assertEqual([*mail.format_faults(good, BODY.encode()),
                          *mail.header_faults(good, 1, 2), *mail.sign_off_faults(good, SENDER),
                          *mail.placeholder_faults(ORIGIN, good.raw),
                          *mail.long_subjects([good])], [])

    def test_quoted_printable_of_a_mail_library(self) -> None:
        """P4: what Python's library makes of a letter that is not ASCII."""
        made = email.message.EmailMessage()
        for key in ("From", "To", "Subject"):
            made[key] = HEADERS[key]
        made.set_content(COVER, cte="quoted-printable")
        raw = made.as_bytes(policy=email.policy.SMTP)
        self.assertIn(b"=3D", raw)
        faults = "\n".join(mail.format_faults(self.mail(raw=raw), COVER.encode()))
        for word in ("carriage returns", "encoded as quoted-printable", "=3D"):
            self.assertIn(word, faults)

    def test_damage_that_is_not_declared(self) -> None:
        damaged = self.mail(BODY.replace("=", "=3D"))
        self.only(mail.format_faults(damaged, BODY.encode()), "=3D")
        self.assertEqual(list(mail.format_faults(damaged, b"x =3D y")), [])
        self.only(mail.format_faults(self.mail(BODY.replace("two\n", "two\r\n")), b""),
                  "carriage returns")

    def test_subject(self) -> None:
        for subject, words in {
                "[PATCH 2/2] mm: x": "[PATCH 1/2]", "mm: x": "[PATCH 1/2]",
                "[PATCH] mm: x": "[PATCH 1/2]", "[PATCH 1/2] batch it": "subsystem"}.items():
            with self.subTest(subject):
                self.only(mail.header_faults(self.mail(Subject=subject), 1, 2), words)
        for subject, place in {"[PATCH] mm: x": (1, 1), "[PATCH v3 02/11] mm/tests: x": (2, 11),
                               "[PATCH RFC v2 0/3] mm: x": (0, 3)}.items():
            with self.subTest(subject):
                self.assertEqual(list(mail.header_faults(self.mail(Subject=subject), *place)), [])
        self.only(mail.long_subjects([self.mail(Subject="[PATCH 1/2] mm: " + "x" * 72)]), "76")

    def test_sender_and_recipients(self) -> None:
        for sender in ("jm@example.org", "Jim", "A <a@x.org>, B <b@x.org>", ""):
            with self.subTest(sender):
                self.only(mail.header_faults(self.mail(From=sender), 1, 2), "From:")
        self.only(mail.header_faults(self.mail(To=""), 1, 2), "no recipient")

    def test_sign_off(self) -> None:
        mine = f"Signed-off-by: {SENDER}\n"
        other = "Signed-off-by: A <a@example.org>\n"
        for trailers, words in {"": "missing", other: "A <a@example.org>",
                                mine + other: "A <a@example.org>",
                                mine + other + mine: "more than once"}.items():
            with self.subTest(trailers):
                self.only(mail.sign_off_faults(self.mail(BODY.replace(mine, trailers)), SENDER),
                          words)
        both = self.mail(BODY.replace(mine, other + mine))
        self.assertEqual(list(mail.sign_off_faults(both, SENDER)), [])

    def test_base_commit(self) -> None:
        """P7: exactly one, and an object of the tree."""
        line = f"base-commit: {BASE}\n"
        with_one, without = self.mail(BODY + line), self.mail()

        def faults(*mails: mail.Mail, base: str = BASE, known: bool = True):
            return mail.base_commit_faults(mails, base, known)

        self.assertEqual(list(faults(with_one, without)), [])
        self.only(faults(without, without), "no mail has a base-commit")
        self.only(faults(with_one, with_one), "2 base-commit lines")
        self.only(faults(self.mail(BODY + 2 * line)), "2 base-commit lines")
        self.only(faults(with_one, base="0" * 40), BASE, "0" * 40)
        self.only(faults(with_one, known=False), BASE)
        self.only(faults(self.mail(BODY + "base-commit: EDITME\n")), "EDITME")

    def test_templates(self) -> None:
        """P7: text that somebody had to replace."""
        for text in ("*** SUBJECT HERE ***", "BLURB HERE", "EDITME: cover title"):
            with self.subTest(text):
                self.only(mail.placeholder_faults(ORIGIN, f"a\n\n{text}\n".encode()),
                          "cover.txt:3", text)
        self.assertEqual(list(mail.placeholder_faults(
            ORIGIN, b"mm: x\n\ndiff --git a/x b/x\n+/*** EDITME ***/\n")), [])

    def test_cover(self) -> None:
        self.assertEqual(list(mail.cover_faults(ORIGIN, COVER.encode())), [])
        self.assertEqual(list(mail.cover_faults(ORIGIN, f"[RFC] {COVER}".encode())), [])
        for text, words in {
                b"": "first line", b"mm: x\n": "first line", b"mm: x\nno blank\n": "first line",
                b"mm: x\n\n\nlate\n": "first line", b"no subsystem\n\nText.\n": "subsystem",
                b"mm: M\xfcller\n\nText.\n": "UTF-8", b"mm: x\r\n\r\nText.\r\n": "carriage",
                b"mm: x\n\n# make\n": "cover.txt:3: b4 drops"}.items():
            with self.subTest(text):
                self.only(mail.cover_faults(ORIGIN, text), words)

    def test_lost_line(self) -> None:
        got = "Müller found 3 % = much.\n\n- a list\n---\n1 file changed\n"
        self.assertEqual(mail.lost_line(COVER, [got]), "")
        self.assertEqual(mail.lost_line(COVER, ["Müller found 3 % = much.", "- a list"]), "")
        self.assertEqual(mail.lost_line(COVER, [got.replace("=", "=3D")]),
                         "Müller found 3 % = much.")
        self.assertEqual(mail.lost_line(COVER, [got.replace("- a list\n", "")]), "- a list")


if __name__ == "__main__":
    unittest.main()
