# SPDX-License-Identifier: GPL-2.0-only
"""scripts/queue and scripts/setup in a tree in miniature."""
import hashlib
import http.server
import subprocess
import tarfile
import threading
import unittest
from pathlib import Path

from .. import patchfile
from ..sources import newest
from .sandbox import Sandbox


class Queue(Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.make_queue()

    @property
    def change(self) -> Path:
        return next(self.root.glob("patches/v7.3/change/*.patch"))

    def tip(self) -> str:
        return self.git("rev-parse", "mm-batch/v7.3", tree=self.imported)

    def start_afresh(self) -> None:
        """As on a machine where the queue was never applied."""
        self.git("checkout", "--quiet", "mm-batch-base", tree=self.imported)
        self.git("branch", "-D", "mm-batch/v7.3", tree=self.imported)
        for ref in self.git("for-each-ref", "--format=%(refname)", "refs/mm-batch/applied",
                            tree=self.imported).split():
            self.git("update-ref", "-d", ref, tree=self.imported)

    def test_refresh_writes_series_patches_and_suites(self) -> None:
        self.assertEqual((self.root / "series").read_text(),
                         "# kunit\nkunit/0001-mm-tests-add-a-demonstration.patch\n"
                         "# change\nchange/0001-mm-write-twenty-out.patch\n")
        self.assertEqual((self.root / "kunit/mm/tests/demo_kunit.c").read_text(),
                         "/* a suite */\n")
        self.assertEqual(list(patchfile.problems(self.change)), [])

    def test_refresh_and_apply_are_a_round_trip(self) -> None:
        before = self.git("rev-parse", "HEAD^{tree}", tree=self.imported)
        self.start_afresh()
        self.script("queue", "apply", expect=0)
        self.assertEqual(self.git("rev-parse", "HEAD^{tree}", tree=self.imported), before)
        said = self.script("queue", "refresh", expect=0)
        self.assertEqual(said.stdout, "")
        self.assertIn("up to date", self.script("queue", "status", expect=0).stdout)

    def test_apply_twice_does_nothing(self) -> None:
        self.start_afresh()
        self.script("queue", "apply", expect=0)
        tip = self.tip()
        stat = (self.imported / "mm/memory.c").stat()
        self.script("queue", "apply", expect=0)
        self.assertEqual(self.tip(), tip)
        self.assertEqual((self.imported / "mm/memory.c").stat().st_mtime_ns, stat.st_mtime_ns)

    def test_refresh_drops_what_left_the_branch(self) -> None:
        self.git("reset", "--quiet", "--hard", "HEAD~2", tree=self.imported)
        self.script("queue", "refresh", expect=0)
        self.assertFalse((self.root / "patches/v7.3/change").exists())

    def test_a_patch_that_does_not_apply_names_file_and_hunk(self) -> None:
        self.start_afresh()
        text = self.change.read_text().replace(" line 18\n", " line eighteen\n")
        self.change.write_text(text)
        said = self.script("queue", "apply", expect=8).stderr
        self.assertIn(self.change.name, said)
        self.assertIn("mm/memory.c:17", said)
        self.assertIn("line eighteen", said)
        self.assertEqual(self.git("branch", "--list", "mm-batch/*", tree=self.imported), "")
        self.assertEqual(self.git("branch", "--show-current", tree=self.imported),
                         "mm-batch-base")
        self.assertEqual(self.git("status", "--porcelain", tree=self.imported), "")
        self.assertEqual(list((self.root / "build/tmp").iterdir()), [])

    def test_a_dirty_tree_is_refused_and_kept(self) -> None:
        self.edit(self.imported, "line 5", "mine")
        said = self.script("queue", "apply", expect=11).stderr
        self.assertIn("mm/memory.c", said)
        self.assertIn("mine\n", (self.imported / "mm/memory.c").read_text())

    def test_work_on_the_branch_is_not_overwritten(self) -> None:
        self.edit(self.imported, "line 5", "mine")
        self.commit("mm: mine", self.imported)
        tip = self.tip()
        self.assertIn("mm: mine", self.script("queue", "apply", expect=11).stderr)
        self.assertEqual(self.tip(), tip)
        self.script("queue", "status", expect=8)

    def test_a_foreign_branch_of_that_name_is_refused(self) -> None:
        self.start_afresh()
        self.git("checkout", "--quiet", "-b", "mm-batch/v7.3", tree=self.imported)
        self.edit(self.imported, "line 5", "theirs")
        self.commit("somebody's own", self.imported)
        self.git("checkout", "--quiet", "mm-batch-base", tree=self.imported)
        tip = self.tip()
        self.assertIn("somebody's own", self.script("queue", "apply", expect=11).stderr)
        self.assertEqual(self.tip(), tip)

    def test_a_users_tree_gets_a_branch_and_nothing_else(self) -> None:
        before = self.git("rev-parse", "master")
        self.script("queue", "apply", "--tree", str(self.tree), expect=0)
        self.assertEqual(self.git("rev-parse", "master"), before)
        self.assertEqual(self.git("symbolic-ref", "--short", "HEAD"), "mm-batch/v7.3")
        self.assertIn("line twenty", (self.tree / "mm/memory.c").read_text())

    def test_one_topic_alone(self) -> None:
        said = self.script("queue", "apply", "--topic", "kunit", expect=0).stdout
        self.assertNotIn("change", said)
        self.assertIn("line 20\n", (self.imported / "mm/memory.c").read_text())
        self.script("queue", "apply", "--topic", "nothing", expect=2)

    def test_a_commit_before_any_topic_is_refused(self) -> None:
        self.git("reset", "--quiet", "--hard", "mm-batch-base", tree=self.imported)
        self.edit(self.imported, "line 5", "mine")
        self.commit("mm: mine", self.imported)
        self.assertIn("mm-batch topic:", self.script("queue", "refresh", expect=8).stderr)
        self.assertTrue(self.change.exists())

    def test_rebase_moves_the_queue(self) -> None:
        self.git("checkout", "--quiet", "mm-batch-base", tree=self.imported)
        self.edit(self.imported, "line 2", "line two")
        self.commit("Linux 7.3.1", self.imported)
        self.git("update-ref", "refs/heads/newer", "HEAD", tree=self.imported)
        self.script("queue", "rebase", "--onto", "newer", expect=0)
        text = (self.imported / "mm/memory.c").read_text()
        self.assertIn("line two\n", text)
        self.assertIn("line twenty\n", text)
        self.script("queue", "refresh", expect=0)
        self.script("queue", "status", expect=0)

    def test_rebase_that_conflicts_leaves_everything(self) -> None:
        self.git("checkout", "--quiet", "mm-batch-base", tree=self.imported)
        self.edit(self.imported, "line 20", "line XX")
        self.commit("Linux 7.3.1", self.imported)
        self.git("update-ref", "refs/heads/newer", "HEAD", tree=self.imported)
        tip = self.tip()
        said = self.script("queue", "rebase", "--onto", "newer", expect=8).stderr
        self.assertIn("line XX", said)
        self.assertIn("mm: write twenty out", said)
        self.assertEqual(self.tip(), tip)

    def test_export_has_one_base_commit_of_the_tree(self) -> None:
        made = self.script("queue", "export", "--topic", "change", expect=0).stdout.split()
        self.assertEqual(len(made), 2)
        text = "".join(Path(path).read_text() for path in made)
        bases = [line.split()[1] for line in text.splitlines() if line.startswith("base-commit:")]
        self.assertEqual(bases, [self.git("rev-parse", "mm-batch-base", tree=self.imported)])
        self.assertIn("prerequisite-patch-id:", text)

    def test_p4_a_cover_survives_the_mail(self) -> None:
        cover = self.script("queue", "export", "--topic", "change", expect=0).stdout.split()[0]
        raw = Path(cover).read_bytes()
        self.assertNotIn(b"\r", raw)
        self.assertNotIn(b"=3D", raw)
        said = subprocess.run(["git", "mailinfo", "-u", self.folder / "msg", self.folder / "patch"],
                              input=raw, capture_output=True, check=True)
        self.assertIn("mm: a cover for change", said.stdout.decode())
        self.assertIn("by M\u00fcller.", (self.folder / "msg").read_text())

    def test_p5_exported_mails_give_the_tree_of_the_branch(self) -> None:
        made = self.script("queue", "export", "--topic", "change", expect=0).stdout.split()
        self.git("checkout", "--quiet", "--detach", "HEAD~2", tree=self.imported)
        self.git("am", "--quiet", *made[1:], tree=self.imported)
        self.assertEqual(self.git("rev-parse", "HEAD^{tree}", tree=self.imported),
                         self.git("rev-parse", "mm-batch/v7.3^{tree}", tree=self.imported))

    def test_p7_text_of_the_template_is_refused(self) -> None:
        cover = self.root / "patches/v7.3/change/cover.txt"
        cover.write_text("*** SUBJECT HERE ***\n\n*** BLURB HERE ***\n")
        self.assertIn("cover.txt", self.script("queue", "export", "--topic", "change",
                                               expect=8).stderr)
        cover.unlink()
        self.script("queue", "refresh", expect=0)
        self.script("queue", "export", "--topic", "change", expect=8)

    def test_check_quick_passes_and_sees_drift(self) -> None:
        self.write(self.root / "MAINTAINERS.snippet", "DEMO\nS:\tMaintained\nF:\tmm/tests/*\n")
        self.git("init", "--quiet", tree=self.root)
        self.assertIn("7 passed, 0 failed", self.script("check", "--quick", expect=0).stdout)
        suite = self.root / "kunit/mm/tests/demo_kunit.c"
        suite.write_text("/* edited by hand */\n")
        self.assertIn("demo_kunit.c: differs", self.script("check", "--quick", expect=8).stdout)
        suite.unlink()
        self.script("check", "--quick", "--only", "drift", expect=8)

    def test_check_quick_sees_a_patch_outside_the_series(self) -> None:
        self.write(self.change.with_name("0002-more.patch"), "x")
        said = self.script("check", "--quick", "--only", "series", expect=8).stdout
        self.assertIn("change/0002-more.patch is not named", said)

    def test_p5_damage_is_refused_with_its_line(self) -> None:
        raw = self.change.read_bytes()
        lines = raw.decode().split("\n")
        context = next(n for n, line in enumerate(lines) if line == " line 18")
        for damage, words in (
                (raw.replace(b"\n", b"\r\n"), ":1: carriage return"),
                (raw.replace(b" line 18\n", b"\n"), f":{context + 1}: a blank was stripped"),
                (raw.replace(b"+line twenty", b"+line twenty "), "adds blanks at the end"),
                (raw.replace(b"For the tests.", b"Signed-off-by: A <a@b.c>"), "only a person"),
                (raw.replace(b"For the tests.", b"x" * 76), "76 columns"),
                (raw.replace(b"For the tests.", b"Fixes: 123 (\"x\")"), "12 digits"),
                (raw[:raw.index(b"+line twenty")], "ends in the middle of a hunk"),
                (raw + b"-- \n2.39\n", "a signature")):
            with self.subTest(words):
                self.change.write_bytes(damage)
                self.assertIn(words, "\n".join(patchfile.problems(self.change)))


class Setup(Sandbox):
    def tarball(self, version: str = "VERSION = 7\nPATCHLEVEL = 3\n") -> Path:
        folder = self.folder / "linux-7.3.9"
        self.write(folder / "Makefile", version)
        self.write(folder / "mm/memory.c", "x\n")
        self.write(folder / ".gitignore", "*.o\n#\n# Debian packaging: ignore\n/*\n")
        path = self.folder / "linux-7.3.9.tar.xz"
        with tarfile.open(path, "w:xz") as file:
            file.add(folder, folder.name)
        return path

    def setup_tree(self, *words: str, expect: int, **more):
        return self.script("setup", "--base", "v7.3", "--for", "x86_64", *words,
                           expect=expect, **more)

    def test_a_tarball_is_imported_whole(self) -> None:
        self.setup_tree("--tree", str(self.tarball()), expect=0)
        self.assertEqual(self.git("ls-files", tree=self.imported).split(),
                         [".gitignore", "Makefile", "mm/memory.c"])
        self.assertEqual((self.imported / ".gitignore").read_text(), "*.o\n#\n")
        self.assertEqual(self.git("status", "--porcelain", tree=self.imported), "")

    def test_a_half_import_is_not_taken_for_whole(self) -> None:
        left = self.root / "build/trees/.v7.3.part"
        self.write(left / "Makefile", "VERSION = 7\nPATCHLEVEL = 3\n")
        self.write(left / "left-over", "x")
        self.setup_tree("--tree", str(self.tarball()), expect=0)
        self.assertNotIn("left-over", self.git("ls-files", tree=self.imported))

    def test_a_broken_tarball_is_refused(self) -> None:
        path = self.tarball()
        path.write_bytes(path.read_bytes()[:-40])
        self.setup_tree("--tree", str(path), expect=10)
        self.assertFalse(self.imported.exists())

    def test_a_wrong_version_is_named(self) -> None:
        path = self.tarball("VERSION = 6\nPATCHLEVEL = 12\n")
        self.assertIn("version 6.12", self.setup_tree("--tree", str(path), expect=10).stderr)
        self.assertFalse(self.imported.exists())
        self.edit(self.tree, "line 1", "x")
        (self.tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\n")
        self.commit("Linux 6.1", self.tree)
        self.assertIn("version 6.1", self.setup_tree("--tree", str(self.tree), expect=10).stderr)

    def test_what_is_no_tree_is_refused(self) -> None:
        self.setup_tree("--tree", str(self.folder / "nowhere"), expect=10)
        self.setup_tree("--tree", str(self.root / "series"), expect=10)

    def test_no_source_that_answers_names_each(self) -> None:
        empty = self.folder / "bin"
        self.write(empty / "apt-get", "#!/bin/sh\necho E: no network >&2; exit 100\n")
        self.write(empty / "apt-cache", "#!/bin/sh\nexit 0\n")
        for name in ("apt-get", "apt-cache"):
            (empty / name).chmod(0o755)
        said = self.setup_tree(expect=9, env={"PATH": f"{empty}:{self.env['PATH']}"}).stderr
        for words in ("the cache:", "kernel.org:", "Debian:", "--tree PATH"):
            self.assertIn(words, said)

    def test_a_full_disk_is_told_before_the_work(self) -> None:
        path = self.root / "scripts/mmbatch/tree.py"
        path.write_text(path.read_text().replace("4 << 30", "4 << 60"))
        said = self.setup_tree("--tree", str(self.tarball()), expect=12).stderr
        self.assertIn("MB free", said)

    def test_kernel_org_is_resumed_and_checked(self) -> None:
        path = self.tarball()
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        sums = f"{digest}  {path.name}\n{'0' * 64}  linux-7.2.tar.xz\n".encode()
        seen: list[str | None] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body, code = sums, 200
                if self.path == f"/{path.name}":
                    body = path.read_bytes()
                    seen.append(self.headers["Range"])
                    if start := self.headers["Range"]:
                        body, code = body[int(start[6:-1]):], 206
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words) -> None:
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        bases = self.root / "configs/bases.toml"
        bases.write_text(bases.read_text().replace("127.0.0.1:9", f"127.0.0.1:{server.server_port}"))
        part = self.folder / "cache/mm-batch" / f"{path.name}.part"
        part.parent.mkdir(parents=True)
        part.write_bytes(path.read_bytes()[:100])
        self.setup_tree(expect=0)
        self.assertEqual(seen, ["bytes=100-"])
        self.assertFalse(part.exists())
        # What is in the cache, whole, is not fetched again ...
        cached = part.with_name(path.name)
        for copy in (cached, cached):
            subprocess.run(["rm", "-rf", self.imported], check=True)
            self.setup_tree(expect=0)
        self.assertEqual(len(seen), 1)
        # ... and what was damaged there is.
        cached.write_bytes(b"damaged")
        subprocess.run(["rm", "-rf", self.imported], check=True)
        self.setup_tree(expect=0)
        self.assertEqual(len(seen), 2)

    def test_the_newest_release_of_the_version_is_taken(self) -> None:
        sums = "".join(f"{digit * 64}  linux-{version}.tar.xz\n" for digit, version in
                       zip("1234", ("6.1", "6.1.9", "6.1.10", "6.12.99")))
        self.assertEqual(newest(sums, "6.1"), ("linux-6.1.10.tar.xz", "3" * 64))


if __name__ == "__main__":
    unittest.main()
