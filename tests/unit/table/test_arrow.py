"""Arrow arrays made without pandas are those that Arrow makes, and come back the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hamlet_core.table import arrow
from hamlet_core.table.arrow import numbers_of, of_numbers, of_texts, scalar_of

NUMBERS = [np.dtype(name) for name in ("?", "i1", "i4", "i8", "u8", "f4", "f8")]


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
@pytest.mark.parametrize("size", [0, 1, 8, 19])
def test_numbers_become_what_arrow_makes_of_them(kind: np.dtype, size: int) -> None:
    numbers = (np.arange(2 * size) % 3).astype(kind)[::2]
    null = np.arange(size) % 4 == 3
    for mask in (None, null, np.zeros(size, np.bool_)):
        found = of_numbers(numbers, null=mask)
        found.validate(full=True)
        assert found.equals(pa.array(numbers, mask=mask))
        assert found.null_count == (0 if mask is None else mask.sum())


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("texts", [[], ["a", "bc", ""], ["ä", None, "€uro", "z"], [None, None]], ids=str)
def test_texts_become_what_arrow_makes_of_them(texts: list[str | None], kind: pa.DataType) -> None:
    found = of_texts(texts, kind)
    found.validate(full=True)
    assert found.equals(pa.array(texts, kind))


def test_texts_too_long_for_one_array_are_left_to_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "_LONGEST", 3)
    monkeypatch.setattr(pa, "array", lambda texts, kind: (texts, kind))
    assert of_texts(["ab", "cd"]) == (["ab", "cd"], pa.string())
    assert len(of_texts(["ab", "cd"], pa.large_string())) == 2


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
@pytest.mark.parametrize(("first", "size"), [(0, 0), (0, 17), (3, 0), (3, 9), (16, 1)])
def test_numbers_of_any_slice_come_back(kind: np.dtype, first: int, size: int) -> None:
    numbers = (np.arange(17) % 3).astype(kind)
    found = numbers_of(pa.array(numbers).slice(first, size))
    assert found.dtype == kind
    assert found.tolist() == numbers[first : first + size].tolist()


def test_scalars_have_the_type_that_is_asked_for() -> None:
    asked = [
        (0, pa.uint8()),
        (0.5, pa.float32()),
        (False, pa.bool_()),
        ("ä", pa.large_string()),
        (3, pa.int64()),
    ]
    for value, kind in [*asked, (None, pa.timestamp("us", "UTC"))]:
        assert scalar_of(value, kind).equals(pa.scalar(value, kind))


def test_any_part_of_truths():
    truths = np.random.default_rng(3).random(100) < 0.5
    whole = pa.array(truths)
    for first in range(40):
        for length in range(60):
            assert numbers_of(whole.slice(first, length)).tolist() == truths[first : first + length].tolist()
