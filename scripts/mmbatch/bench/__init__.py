# SPDX-License-Identifier: GPL-2.0-only
"""Measuring a queue against base + kunit; the parts of scripts/bench."""
