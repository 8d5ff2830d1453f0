"""The order in which tests begin."""

from __future__ import annotations

from tests.conftest import LONGEST, ROOT


def test_the_files_that_begin_first_are_there() -> None:
    assert [name for name in LONGEST if not (ROOT / "tests" / name).is_file()] == []
