# SPDX-License-Identifier: GPL-2.0-only
"""What the scripts of mm-batch share. Only the Python standard library."""
import sys

if sys.version_info < (3, 11):
    sys.exit("mm-batch needs Python 3.11 or newer; this is "
             f"{sys.version.split()[0]} ({sys.executable})")
