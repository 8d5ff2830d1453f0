"""Rows of windows and groups, numbered with a table of all cells or by sorting."""

import numpy as np
import pytest

from hamlet_core.engines.hamlet.bursts import fold


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_numbered_alike(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    draw = np.random.default_rng(seed)
    index = draw.integers(-5, 8, 50) + draw.choice([-(10**12), 0, 10**12])
    group = draw.integers(0, draw.integers(1, 6), 50)
    rows, place = fold.numbered_rows(7, index, group)
    assert fold._cells(index, group) <= fold.DENSE * len(index)
    monkeypatch.setattr(fold, "DENSE", 0)
    sorted_rows, sorted_place = fold.numbered_rows(7, index, group)
    assert rows.first == sorted_rows.first == 7
    for dense, plain in (
        (rows.index, sorted_rows.index),
        (rows.group, sorted_rows.group),
        (place, sorted_place),
    ):
        assert dense.dtype == plain.dtype == np.int64
        assert dense.tolist() == plain.tolist()
    assert rows.index[place].tolist() == index.tolist()
    assert rows.group[place].tolist() == group.tolist()


def test_few_cells_of_many_are_sorted() -> None:
    """As many as there are between them would not fit."""
    index, group = np.array([-(2**62), 2**62, 0]), np.array([2, 0, 2**40])
    rows, place = fold.numbered_rows(0, index, group)
    assert rows.index[place].tolist() == index.tolist()
    assert rows.group[place].tolist() == group.tolist()
    nothing = np.zeros(0, np.int64)
    assert fold.numbered_rows(0, nothing, nothing)[1].tolist() == []
