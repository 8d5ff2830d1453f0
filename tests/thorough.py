"""The tests that CI leaves to `make thorough`: each by name, with the reason and with what CI runs of the same thing."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Left:
    """Tests that CI leaves out: `names` are files, functions or single tests, as pytest writes them below `tests`; those that
    begin with a name of `but` stay in CI.
    """

    names: tuple[str, ...]
    reason: str
    but: tuple[str, ...] = ()


ENDING = "unit/pipelines/test_ending.py::test_a_command_that_computes_ends_within_two_seconds"
CACHE = "unit/engines/hamlet/jit/test_cache.py"
DAMAGED = f"{CACHE}::test_damaged_files_are_compiled_again_and_the_result_is_right"
MANY = "unit/test_concurrency.py::test_many_at_once_give_what_one_gives"
HOSTILE = "unit/pipelines/test_hostile.py"
CHANGING = "spark/test_changing_files.py"

LEFT = (
    Left(
        tuple(
            f"benchmarks/test_quick.py::test_answers[{key}]"
            for key in ("b", "f1", "f3", "f4", "h", "k", "m", "n", "o", "u")
        ),
        "CI runs ten other benchmarks in small, made, checked and reported by the same code; what these measure is compared"
        " elsewhere: kernels by golden and random tests, optimizers by properties/test_optimizers.py, files by the tests of"
        " reading, compiling by unit/engines/hamlet/jit",
    ),
    Left(
        ("unit/pipelines/test_comparing.py::test_every_engine_answers_the_same_and_is_measured",),
        "engines answer the same in golden/test_cases.py; `hamlet compare` runs in golden/cli and in the rest of the file",
    ),
    Left(
        (
            "unit/pipelines/test_warming.py::test_what_is_compiled_from_the_other_end_is_the_same",
            "unit/pipelines/test_warming.py::test_a_run_compiles_nothing_that_was_asked_for_ahead",
        ),
        "that events need no kernel but those that set-up compiles is tested in unit/engines/hamlet/jit, and set-up compiles from"
        " both ends",
    ),
    Left(
        (
            f"{HOSTILE}::test_ten_thousand_columns",
            f"{HOSTILE}::test_ten_thousand_queries",
            f"{HOSTILE}::test_a_line_of_50_mb_is_an_event_or_a_bad_row",
            f"{HOSTILE}::test_texts_of_ten_megabytes_are_refused_in_a_few_lines",
            "unit/test_large_inputs.py::test_two_thousand_workloads_in_one_process_leave_nothing_behind",
        ),
        "sizes, of which CI has others: a line of 50 MB, a text of 10 MB, a day that slides by a second, many groups",
        but=(
            f"{HOSTILE}::test_a_line_of_50_mb_is_an_event_or_a_bad_row[a time",
            f"{HOSTILE}::test_texts_of_ten_megabytes_are_refused_in_a_few_lines[parentheses",
        ),
    ),
    Left(
        (ENDING,),
        "CI has each signal and each place once",
        but=(f"{ENDING}[kernel-1-", f"{ENDING}[python-15-", f"{ENDING}[query-2-"),
    ),
    Left(
        (MANY,),
        "CI has threads, fork and spawn once",
        but=(f"{MANY}[threads-cold", f"{MANY}[fork-warm", f"{MANY}[spawn-cold"),
    ),
    Left(
        (
            DAMAGED,
            f"{CACHE}::test_machines_with_other_processors_share_a_cache_and_each_finds_its_own_kernels",
        ),
        "of the damaged files CI has one that is cut and one of other sources; the processor is a part of a kernel's name",
        but=(f"{DAMAGED}[cut", f"{DAMAGED}[of_another"),
    ),
    Left(
        (
            "unit/engines/hamlet/events/test_kernel.py",
            "unit/engines/hamlet/test_equal_states.py::*[*-exact",
            "unit/engines/hamlet/test_equal_states.py::*[*-modular",
        ),
        "the kernel of single events has the golden cases and the random queries of golden and properties; which totals are equal"
        " does not hang on the arithmetic",
    ),
    Left(
        (
            "unit/engines/hamlet/events/test_spans.py::test_numbers_beyond_doubles_are_those_of_their_windows[dynamic",
            "properties/test_spans.py::test_numbers_beyond_doubles_in_lanes_at_rest_are_those_of_their_windows",
            "unit/describe/test_graphlets.py::test_nobody_is_said_to_go_alone_who_shares[bursty",
        ),
        "kernels of their own, compiled for a quarter of a minute each: CI has numbers beyond doubles where nobody shares, and what"
        " EXPLAIN says for the golden workloads and ride sharing",
    ),
    Left(
        ("properties/test_metamorphic.py",),
        "CI changes workloads and streams for the engine of the product; the reference engines have golden and random tests",
        but=("properties/test_metamorphic.py::*[hamlet",),
    ),
    Left(
        (
            "properties/test_pushed.py::*[always joined",
            "golden/test_pushed.py::*[always joined",
            "golden/test_cases.py::test_kernels_do_all_the_work[*-modular-",
        ),
        "sessions join panes where it pays, as shipped; modular numbers have golden/test_cases.py::test_engine",
    ),
    Left(
        ("unit/sharing/test_gloria_optimal.py::test_no_path_is_cheaper[40",),
        "CI has the same shapes and numbers of queries with at most four events of a type",
    ),
    Left(
        ("unit/pipelines/test_reading_delta.py::test_whatever_happens_every_row_is_read_once",),
        "CI has the streams of tables to which everything happens",
        but=("unit/pipelines/test_reading_delta.py::test_whatever_happens_every_row_is_read_once[rare4",),
    ),
    Left(
        ("unit/pipelines/test_cli.py::test_a_run_with_more_windows_than_are_shown_imports_none_either",),
        "CI has the run that shows wide rows",
        but=(
            "unit/pipelines/test_cli.py::test_a_run_with_more_windows_than_are_shown_imports_none_either[more0",
        ),
    ),
    Left(
        ("unit/pipelines/test_clickstream_page.py",),
        "CI runs the blocks of the README and of the other pages, and funnels by the command line (golden/cli) and in"
        " unit/pipelines/test_funnels.py",
    ),
    Left(
        ("spark/test_stranger.py",),
        "an empty environment of its own for 230 s: CI runs the pipeline, the demo, dirty files, folders and mistakes in the one"
        " that set-up has made (dagster/test_demo.py, dagster/test_bad_things.py, unit/pipelines), and the wheel alone here",
        but=("spark/test_stranger.py::test_the_wheel_alone_runs_queries_and_brings_no_more_than_it_needs",),
    ),
    Left(
        (
            "spark/test_constraints.py::test_a_job_migrates_an_old_warehouse_however_often_it_is_killed",
            "spark/test_streaming.py::test_a_stream_that_is_killed_after_a_write_goes_on[append:events",
            "spark/test_rejudged.py::test_processes_killed_while_files_are_read_again_leave_the_tables_of_a_fresh_warehouse",
            f"{CHANGING}::test_processes_killed_one_after_the_other_in_a_replacement_leave_the_tables_of_a_fresh_warehouse",
            "spark/test_delta_sources.py::test_an_ingest_that_is_killed_reads_the_files_of_a_table_again",
            "spark/test_maintenance.py::test_a_killed_ingest_is_removed_before_and_found_after_its_rows_share_files",
        ),
        "CI ends a run between two writes in spark/test_ingest.py, spark/test_changing_files.py, spark/test_execute.py and"
        " spark/test_streaming.py, migrates an old warehouse once, and kills processes in dagster/test_kill.py",
    ),
    Left(
        (
            "spark/test_ingest.py::test_what_a_killed_ingest_left_behind_is_removed[append:events_quarantine",
            "spark/test_ingest.py::test_files_like_those_that_are_in_are_read_once[2097152",
            "spark/test_ingest.py::test_files_read_once_come_to_what_they_come_to_read_twice[1",
            "spark/test_ingest.py::test_files_read_once_come_to_what_they_come_to_read_twice[2",
            "spark/test_replacing.py::test_what_is_replaced_here_and_by_spark_is_the_same[1",
            "spark/test_replacing.py::test_what_is_deleted_here_and_by_spark_is_the_same[1",
            "spark/test_replacing.py::test_what_is_deleted_here_and_by_spark_is_the_same[2",
            "spark/test_streaming.py::test_a_stream_that_is_killed_after_a_write_goes_on[replace:",
            "spark/test_streaming.py::test_rows_that_are_wrong_stop_the_stream_and_are_not_published[query",
            "spark/test_ingest.py::test_files_like_those_that_are_in_are_read_once[0",
            "spark/test_modes.py::test_late_events_change_what_they_must",
            "dagster/test_definitions.py::test_the_command_line_tools_find_no_fault[command1",
            "architecture/test_code_locations.py::test_both_find_the_same_assets",
            "spark/test_rules.py::test_durations_count_the_unit_of_an_integer_time[1-",
            "spark/test_rules.py::test_durations_count_the_unit_of_an_integer_time[3600000000-",
            "spark/test_rules.py::test_rules_on_results_turn_red_for_their_row[exact-False",
        ),
        "another of the same, or one way through the same steps, is in CI",
    ),
    Left(
        ("spark/test_modes.py::test_partitions_of_a_group_are_merged_and_what_comes_out_holds",),
        "CI has each mode once",
        but=tuple(
            f"spark/test_modes.py::test_partitions_of_a_group_are_merged_and_what_comes_out_holds[{one}"
            for one in (
                "skip-till-any-match-integers-exact-files",
                "contiguous-timestamps-modular",
                "skip-till-next-match-integers",
            )
        ),
    ),
    Left(
        (
            "spark/test_maintenance.py::test_files_become_few_and_rows_results_and_readers_stay",
            "spark/test_streaming.py::test_the_command_streams_until_it_is_stopped_and_goes_on_where_it_was",
            f"{CHANGING}::test_a_file_that_has_grown_is_read_again_as_a_whole_exactly_once",
            "spark/test_rejudged.py::test_a_corrected_query_gets_the_tables_of_a_fresh_warehouse_and_back",
            "spark/test_delta_sources.py::test_a_stream_from_a_table_that_is_compacted_and_vacuumed_gives_the_rows_of_a_run",
            f"{CHANGING}::test_a_half_copied_parquet_file_is_in_quarantine_by_name_until_it_is_whole",
            "spark/test_places.py::test_the_job_maintenance_and_queries_on_a_uri",
            "spark/test_examples.py::test_example_runs_and_sees_the_largest_windows[with_spark",
            "spark/test_class_archive.py::test_a_session_starts_without_a_damaged_archive",
        ),
        "long ways through several runs, of whose steps CI has shorter ones: compacting in the test of vacuum, a warehouse behind a"
        " URI in spark/test_object_store.py, old values judged anew in four other tests, tables by Spark in spark/test_readers.py,"
        " a stream by its command in dagster/test_stream_asset.py, damaged archives in unit/resources/test_class_archive.py",
    ),
    Left(
        (
            "dagster/test_tour.py",
            "dagster/test_tutorial.py",
            "dagster/test_signals.py::test_two_pipelines_and_a_ui_at_once_on_one_warehouse_and_sigterm_ends_them",
            "dagster/test_demo.py::test_pipeline_on_real_data_equals_run_row_by_row",
        ),
        "CI runs the blocks of the README and of the pages that need no Spark, and the demo; it refuses the second of two runs"
        " (dagster/test_bad_things.py), and computes real trips in spark/test_execute.py",
    ),
    Left(
        (
            "dagster/test_bad_things.py::test_a_corrupt_parquet_file_goes_to_quarantine_and_the_others_go_in",
            "dagster/test_bad_things.py::test_files_that_drift_and_come_twice_and_a_workload_that_is_edited",
            "dagster/test_partitions.py::test_day_by_day_gives_the_same_rows",
            "dagster/test_partitions.py::test_a_run_looks_at_the_events_of_the_days_that_its_windows_read",
        ),
        "a corrupt file is in unit/pipelines/test_reading_parquet.py, a file that has changed in dagster/test_main_job.py; of"
        " partitions CI has late events and a workload that is edited",
    ),
)


@functools.cache
def _begins(name: str) -> re.Pattern[str]:
    """What a test of this name begins with: `*` stands for anything, and a name without a bracket is whole."""
    return re.compile(re.escape(name).replace(r"\*", ".*") + ("" if "[" in name else r"($|\[|::)"))


def is_part_of(test: str, name: str) -> bool:
    """Whether a test is of the named file or function, or, where the name has a bracket, one whose parameters begin so."""
    return _begins(name).match(test) is not None


def reason_to_leave(test: str) -> str | None:
    """Why CI leaves a test out, or None if CI runs it."""
    for left in LEFT:
        if any(is_part_of(test, name) for name in left.names):
            return None if any(is_part_of(test, name) for name in left.but) else left.reason
    return None


def unmatched(tests: Collection[str]) -> list[str]:
    """The names above that no test has, of files of which there are tests."""
    files = {test.partition("::")[0] for test in tests}
    names = [name for left in LEFT for name in (*left.names, *left.but) if name.partition("::")[0] in files]
    return [name for name in names if not any(is_part_of(test, name) for test in tests)]
