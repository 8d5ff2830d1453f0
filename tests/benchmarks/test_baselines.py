"""The baselines of the benchmarks count what the reference engine counts, on small streams of every kind they read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hamlet_core import plan, run
from tests.benchmarks import baselines, plain_python
from tests.benchmarks.answers import differences, log2_of, of_rows
from tests.benchmarks.baseline_runs import by_limit, by_running_totals, by_running_totals_tied, by_scan
from tests.benchmarks.encoding import encode
from tests.benchmarks.material import FIVE, disturbed, guarded, in_phases, of_five_classes, stream, w50
from tests.benchmarks.reference import reference

WINDOW = 400


def by_greta(text: str, table: pa.Table) -> np.ndarray:
    """log2 of counts by the reference engine: a row for each query, a column for each window."""
    encoded = encode(text, table)
    return of_rows(run(text, table, engine="greta"), encoded.names, encoded.window_starts)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return stream(2_000, burst_length=9.0, seed=3)


def test_running_totals_count_as_the_reference(table: pa.Table) -> None:
    text = w50(queries=6, types=3, within=WINDOW)
    encoded = encode(text, table)
    expected = by_greta(text, table)
    assert expected.max() > 150
    assert differences(by_running_totals(encoded), expected) == []
    assert differences(by_running_totals_tied(encoded, np.ones(encoded.events, bool)), expected) == []
    codes, starts = encoded.lists
    pairs = list(zip(encoded.prefixes, encoded.suffixes, strict=True))
    scaled = np.array([plain_python.scaled(codes, starts, *pair) for pair in pairs])
    assert differences(scaled, expected) == []
    exact = run(text, table, engine="greta", arithmetic="exact")
    digits = [str(count) for pair in pairs for count in plain_python.exact(codes, starts, *pair) if count]
    assert digits == exact["exact"].to_pylist()


def test_totals_beyond_a_double_keep_their_digits() -> None:
    text = w50(queries=4, types=2, within=100_000)
    table = stream(6_000, burst_length=1_500.0, seed=5, types=2)
    encoded = encode(text, table)
    codes, starts = encoded.lists
    pairs = list(zip(encoded.prefixes, encoded.suffixes, strict=True))
    counts = [plain_python.exact(codes, starts, *pair) for pair in pairs]
    logs = [[log2_of(count) for count in row] for row in counts]
    assert np.max(logs) > 1_100
    assert differences(by_running_totals(encoded), np.array(logs)) == []
    assert differences(by_running_totals_tied(encoded, np.ones(encoded.events, bool)), np.array(logs)) == []
    assert (
        differences(np.array([plain_python.scaled(codes, starts, *pair) for pair in pairs]), np.array(logs))
        == []
    )


def test_ties_and_conditions(table: pa.Table) -> None:
    stained = disturbed(table)
    text = guarded(w50(queries=6, types=3, within=WINDOW))
    encoded = encode(text, stained)
    matching = np.asarray(stained["v"].to_numpy() < 100)
    assert not matching.all()
    assert len(np.unique(encoded.times)) < encoded.events
    expected = by_greta(text, stained)
    assert differences(by_running_totals_tied(encoded, matching), expected) == []


@pytest.mark.parametrize(("ordered", "vectorised"), [(False, True), (True, True), (True, False)])
def test_scan(table: pa.Table, ordered: bool, vectorised: bool) -> None:
    text = w50(queries=6, types=3, within=WINDOW, adjacent=ordered)
    encoded = encode(text, table)
    found = by_scan(encoded, ordered=ordered, vectorised=vectorised)
    assert differences(found, by_greta(text, table)) == []


def test_scan_with_ties(table: pa.Table) -> None:
    tied = disturbed(table)
    text = w50(queries=6, types=3, within=WINDOW, adjacent=True)
    assert differences(by_scan(encode(text, tied), ordered=True), by_greta(text, tied)) == []


def test_the_limit_loop_where_doubles_suffice(table: pa.Table) -> None:
    text = w50(queries=6, types=3, within=WINDOW)
    assert differences(by_limit(encode(text, table)), by_greta(text, table)) == []


def test_the_limit_loop_overflows_to_infinity() -> None:
    text = w50(queries=4, types=2, within=100_000)
    answers = by_limit(encode(text, stream(6_000, burst_length=1_500.0, seed=5, types=2)))
    assert np.isposinf(answers).any()
    assert not np.isnan(answers).any()


def test_differences_are_seen() -> None:
    expected = np.array([[1.0, 2.0], [-np.inf, 4.0]])
    assert differences(expected.copy(), expected) == []
    assert differences(expected + np.array([[0.0, 1e-8], [0.0, 0.0]]), expected) == [
        "query 1, window 2: 2.00000001, not 2.0"
    ]
    assert len(differences(np.array([[1.0, 2.0], [0.0, np.nan]]), expected)) == 2


def test_the_limit_knows_its_lanes() -> None:
    assert baselines.LANES >= 50


@pytest.mark.parametrize("burst_length", [3.0, 9.0])
def test_the_reference_with_local_and_five_adjacent_conditions(burst_length: float) -> None:
    table = in_phases(stream(1_600, burst_length=burst_length, seed=4, types=3), 2 * WINDOW)
    adjacent = w50(queries=30, types=3, within=WINDOW, adjacent=True)
    for text in (
        of_five_classes(adjacent, WINDOW),
        w50(queries=6, types=3, within=WINDOW, adjacent=True, local=True),
        w50(queries=6, types=3, within=WINDOW, local=True),
    ):
        known = reference(text, table)
        expected = of_rows(run(text, table, engine="greta"), known.names, known.window_starts)
        assert differences(known.log2, expected) == []


def test_five_classes_and_three_windows() -> None:
    text = of_five_classes(w50(within=WINDOW, adjacent=True), WINDOW)
    assert {one.within // 1_000_000 for one in plan(text)} == {WINDOW, WINDOW // 2, WINDOW // 4}
    assert all(text.count(condition) == 10 for condition in FIVE)


def test_queries_agree_in_calm_phases_only() -> None:
    table = in_phases(stream(40_000), 500)
    large, phase = table["v"].to_numpy() >= 10, table["time"].to_numpy() / 500
    calm, late = phase.astype(int) % 2 == 0, phase % 1 >= 0.5
    assert large[calm & ~late].sum() == 0
    assert 0.005 < large[calm & late].mean() < 0.015
    assert large[~calm].mean() > 0.8
