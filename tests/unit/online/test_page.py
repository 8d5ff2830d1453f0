"""The page on streams shows what its examples give."""

import doctest

from tests.conftest import ROOT


def test_examples_give_what_the_page_shows() -> None:
    found = doctest.testfile(str(ROOT / "docs" / "streams.md"), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted > 10
