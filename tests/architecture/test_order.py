"""The order in which tests begin, and which of them CI leaves out."""

from __future__ import annotations

from tests.conftest import LONGEST, ROOT
from tests.thorough import LEFT, is_part_of, reason_to_leave, unmatched


def test_the_files_that_begin_first_are_there() -> None:
    assert [name for name in LONGEST if not (ROOT / "tests" / name).is_file()] == []


def test_what_is_left_out_is_there_and_has_a_reason() -> None:
    names = [name.partition("::") for left in LEFT for name in (*left.names, *left.but)]
    texts = {file: (ROOT / "tests" / file).read_text(encoding="utf-8") for file, _, _ in names}
    functions = [(file, test.partition("[")[0]) for file, _, test in names if test]
    lost = [(file, name) for file, name in functions if name != "*" and f"def {name}(" not in texts[file]]
    assert lost == []
    assert [left.names for left in LEFT if len(left.reason.split()) < 5] == []


def test_a_name_is_a_file_a_function_or_the_beginning_of_parameters() -> None:
    assert is_part_of("spark/test_a.py::test_b[1-x]", "spark/test_a.py")
    assert is_part_of("spark/test_a.py::test_b[1-x]", "spark/test_a.py::test_b")
    assert is_part_of("spark/test_a.py::test_b[1-x]", "spark/test_a.py::test_b[1-")
    assert not is_part_of("spark/test_a.py::test_bc", "spark/test_a.py::test_b")
    assert not is_part_of("spark/test_a.py::test_b[21]", "spark/test_a.py::test_b[1")


def test_a_test_is_left_with_its_reason_and_a_name_of_none_is_told() -> None:
    (tour,) = (left for left in LEFT if "dagster/test_tour.py" in left.names)
    assert reason_to_leave("dagster/test_tour.py::test_the_tour_can_be_taken") == tour.reason
    assert (
        reason_to_leave("dagster/test_kill.py::test_every_table_is_written_by_writes_that_a_kill_can_follow")
        is None
    )
    assert unmatched(["dagster/test_tour.py::test_the_tour_can_be_taken"]) == []
    (lost,) = unmatched(["dagster/test_signals.py::test_nothing"])
    assert lost.startswith("dagster/test_signals.py::test_two_pipelines")
    wheel = "spark/test_stranger.py::test_the_wheel_alone_runs_queries_and_brings_no_more_than_it_needs"
    assert reason_to_leave(wheel) is None
    assert reason_to_leave("spark/test_stranger.py::test_the_demo_says_what_it_found_and_leaves_tables")
