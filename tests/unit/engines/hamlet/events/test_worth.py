"""What groups might gain is told by pieces of the stream, as windows are folded."""

from __future__ import annotations

import numpy as np
import pytest

from hamlet_core.engines.hamlet.events.worth import LOOKED_AT, PIECES, Pieces
from hamlet_core.engines.hamlet.input.frame import Jobs


def test_pieces_tell_the_bursts_of_windows_as_they_are_folded() -> None:
    """B is 1 and ended by 2; an event of type 0 changes nothing, and one of no query has the code -1."""
    code = np.array([1, 0, 1, 2, 1, -1, 1, 1], np.int32)
    jobs = Jobs(np.array([0, 4]), np.array([4, 8]), np.array([0, 1]))
    looked = Pieces(code, jobs)
    window, events = looked.bursts(1, {2})
    assert looked.share.tolist() == [1.0] * 2 * PIECES  # all of so short a stream, by each piece
    assert events.tolist() == [2, 3] * PIECES
    assert window.tolist() == list(range(2 * PIECES))


def test_pieces_know_how_much_of_a_window_they_have() -> None:
    code = np.tile(np.array([1, 1, 2], np.int32), 4_000)
    jobs = Jobs(np.array([0, 6_000]), np.array([6_000, 12_000]), np.array([0, 1]))
    looked = Pieces(code, jobs)
    window, events = looked.bursts(1, {2})
    assert looked.share == pytest.approx([LOOKED_AT / 6_000] * PIECES)
    assert set(window.tolist()) == set(range(PIECES))
    assert set(events.tolist()) <= {1, 2}
    assert events.sum() == pytest.approx(len(looked.code) * 2 / 3, rel=0.01)
