#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stands in for a kernel tree's kunit.py, see sandbox.py."""
import argparse
import os
import pathlib
import re
import sys
import time

TREE = pathlib.Path(__file__).resolve().parents[3]
parser = argparse.ArgumentParser()
parser.add_argument("command")
parser.add_argument("--arch")
parser.add_argument("--build_dir", type=pathlib.Path)
parser.add_argument("--kunitconfig", action="append", type=pathlib.Path)
parser.add_argument("--make_options", action="append")
parser.add_argument("--jobs")
parser.add_argument("--json", type=pathlib.Path)
parser.add_argument("console", nargs="?", type=pathlib.Path)
options = parser.parse_intermixed_args()

if options.command == "config":
    known = set(re.findall(r"^config (\w+)$", (TREE / "mm/Kconfig").read_text(), re.MULTILINE))
    lines = [line for path in options.kunitconfig for line in path.read_text().splitlines()]
    kept = [line for line in lines if (name := re.match(r"CONFIG_(\w+)=", line))
            and name[1] in known and (name[1] != "NEEDS_MMU" or "CONFIG_MMU=y" in lines)]
    (options.build_dir / ".config").write_text("\n".join(kept) + "\n")
    sys.exit(int(len(kept) < len([line for line in lines if line.startswith("CONFIG_")])))
elif options.command == "build":
    if "BROKEN" in (TREE / "mm/memory.c").read_text():
        print("mm/memory.c:1:1: error: broken on purpose", file=sys.stderr)
        sys.exit(1)
    time.sleep(float(os.environ.get("MMB_BUILD_SECONDS", "0")))
    image = options.build_dir / "arch/x86/boot/bzImage"
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_text((TREE / "mm/memory.c").read_text())
    for name, text in {"usr/gen_init_cpio": "#!/bin/sh\necho an archive\n",
                       "include/config/kernel.release": "7.3.0\n"}.items():
        path = options.build_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
else:
    said = re.sub(rb"\AQEMU .*\n", b"", options.console.read_bytes())
    for path in pathlib.Path(os.environ["MMB_DATA"]).glob("*.console.log"):
        if path.read_bytes() == said:
            options.json.write_bytes(path.with_name(
                path.name.replace(".console.log", ".kunit.json")).read_bytes())
            sys.exit(0)
    sys.exit(f"no recorded answer for {options.console}")
