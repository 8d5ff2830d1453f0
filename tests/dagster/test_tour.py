"""The tour: its blocks run one after the other in one folder, and show what the page says."""

from __future__ import annotations

from pathlib import Path

from tests.unit.pipelines import test_docs as docs

PICTURES = ("template", "results", "speeds", "sharing", "jams")


def test_the_tour_can_be_taken(tmp_path: Path) -> None:
    blocks = docs.marked("run-tour")
    assert {block.page for block in blocks} == {"tour.md"}
    unmarked = [block.text for block in docs.blocks() if block.page == "tour.md" and block.mark != "run-tour"]
    assert unmarked == []
    shown = [docs.execute(block, tmp_path, 600) for block in blocks]
    said = "\n".join(shown)
    for words in (
        "== workload ==", "rides__detours", "Query jams of workload rides", "AVG(t.speed)", "Centre", "green  greta_comparison",
        "178 trends", "t: Travel  2026-01-05T08:00:19Z",
    ):  # fmt: skip
        assert words in said, (words, said)
    for name in PICTURES:
        picture = (tmp_path / f"{name}.png").read_bytes()
        assert picture[:8] == b"\x89PNG\r\n\x1a\n"
        assert len(picture) < 100_000
