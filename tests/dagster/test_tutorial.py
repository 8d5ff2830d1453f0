"""The tutorial: its blocks run one after the other in one folder, and show what the page says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.pipelines import test_docs as docs


def test_the_tutorial_can_be_followed(tmp_path: Path) -> None:
    blocks = docs.marked("run-tutorial")
    unmarked = [
        block.text for block in docs.blocks() if block.page == "tutorial.md" and block.mark != "run-tutorial"
    ]
    assert unmarked == []
    shown = [docs.execute(block, tmp_path, 600) for block in blocks]
    _, asked, why, computed, tables, late, begun = shown
    assert re.search(r"2026-01-05 08:00.*7 +COUNT\(\*\) +7\n", asked), asked
    assert "7 trends" in why
    assert "jams: 6 rows published" in computed
    assert "jams__jams" in tables
    assert re.search(r"monday\.csv +5 .*fast", tables), tables
    assert re.search(r"2026-01-05 08:00.* 7 +15 *\n", late), late
    assert "1 file would be read first, and what it brings counts, too: late.csv\n" in late
    assert "2026-01-06  1 of 1 queries would be kept\n" in late
    assert "1 of 1 cases hold\n" in begun
    assert "2026-01-05  jams: not computed yet\n" in begun
