"""What groups might gain is told by pieces of the stream, as windows are folded."""

from __future__ import annotations

import numpy as np
import pytest

from hamlet_core.engines.hamlet.events.spans import Spans
from hamlet_core.engines.hamlet.events.worth import LOOKED_AT, PIECES, Pieces


def spans(first: list[int], last: list[int]) -> Spans:
    return Spans(np.array(first), np.array(last), *[np.zeros(0, np.int64)] * 8)


def test_pieces_tell_the_bursts_of_windows_as_they_are_folded() -> None:
    """B is 1 and ended by 2; an event of type 0 changes nothing, and one of no query has the code -1."""
    code = np.array([1, 0, 1, 2, 1, -1, 1, 1], np.int32)
    looked = Pieces(code, spans([0, 4], [4, 8]))
    window, events = looked.bursts(1, {2})
    assert looked.share.tolist() == [1.0] * 2 * PIECES  # all of so short a stream, by each piece
    assert events.tolist() == [2, 3] * PIECES
    assert window.tolist() == list(range(2 * PIECES))


def test_pieces_know_how_much_of_a_window_they_have() -> None:
    code = np.tile(np.array([1, 1, 2], np.int32), 4_000)
    looked = Pieces(code, spans([0, 6_000], [6_000, 12_000]))
    window, events = looked.bursts(1, {2})
    assert looked.share == pytest.approx([LOOKED_AT / 6_000] * PIECES)
    assert set(window.tolist()) == set(range(PIECES))
    assert set(events.tolist()) <= {1, 2}
    assert events.sum() == pytest.approx(len(looked.code) * 2 / 3, rel=0.01)
