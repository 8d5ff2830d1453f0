"""The tour: its blocks run one after the other in one folder, and show what the page says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from tests.conftest import ROOT

PICTURES = ("template", "results", "speeds", "sharing", "jams")


def docs_tests() -> ModuleType:
    """The module that finds and runs blocks of the docs (tests are not a package)."""
    path = ROOT / "tests" / "unit" / "pipelines" / "test_docs.py"
    spec = importlib.util.spec_from_file_location("docs_tests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_tests"] = module
    spec.loader.exec_module(module)
    return module


def test_the_tour_can_be_taken(tmp_path: Path) -> None:
    docs = docs_tests()
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
