"""Checks beside the assets: they block what is downstream, and show what is wrong and what to do."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import dagster as dg

from pipelines.assets.configuration import PipelineResource
from pipelines.assets.place import INGEST_JOB, Place, days_of
from pipelines.assets.presenting import days_computed, say, telling
from pipelines.assets.spark import SparkResource
from pipelines.cases import judge
from pipelines.checks.differences import Difference
from pipelines.checks.events import SuiteReport, all_of, check_events, days_read, days_since, last_days
from pipelines.checks.greta import Comparison, compare_with_greta
from pipelines.checks.results import check_results
from pipelines.checks.rows import ALL_DAYS, Days
from pipelines.checks.rules import Outcome, cell, markdown
from pipelines.expectations import Expectations
from pipelines.folder import WorkloadFolder
from pipelines.showing.pictures import short
from pipelines.steps.execution.computed import Computed, changed_days, due, forget_computed
from pipelines.steps.packing import each_in_tasks
from resources import tables
from resources.warehouse import Warehouse

SHOWN_DIFFERENCES = 50
_LINE = 100
"""Signs of a row in the words of a check: a line of a page of 1,440 pixels."""

_DAMAGED_EVENTS = (
    "rows of `events` are not what the files said: find them in the table below and in DESCRIBE HISTORY, restore the "
    "version before (RESTORE TABLE), or ingest the files into a new warehouse"
)
_OWN_EXPECTATION = (
    "your own expectation: `events` has these rows as the files have them; correct the expectation (`expectations` in "
    "pipeline.yaml), or the files, and ingest them into a new warehouse"
)
_IMPOSSIBLE_RESULTS = (
    "the computed rows cannot be right whatever the events are: keep the warehouse and report it; trend_aggregates still "
    "has the rows of the last good run"
)
_WRONG_RESULTS = (
    "two engines disagree on these rows: trend_aggregates still has the rows of the last good run; run again, and if "
    "they still differ keep the warehouse and report it with the first row of the table below"
)
_NOTHING_COMPARED = (
    "no result was compared, because every candidate has more events than the reference engine should take: set a "
    "larger `largest` for the sample (the work grows with its square)"
)


@dg.asset_check(asset="events", blocking=True)
def events_expectations(
    context: dg.AssetCheckExecutionContext, pipeline: PipelineResource, spark: SparkResource
) -> dg.AssetCheckResult:
    """Great Expectations on the events: types, times, layout, what the user expects; and not one row more, less or
    other than the files had. A run of partitions looks at the days that its windows read, an ingest by itself at the
    days that the last files brought, any other run at all days: or, if all was published before and only events have come since,
    at their days and those that the windows read which they change, unless the user expects something of the events.
    """
    with telling(context, pipeline):
        warehouse, tags = pipeline.tables(), context.run.tags
        if context.run.job_name == INGEST_JOB:
            days = last_days(warehouse)
        else:
            longest = max((query.within for one in pipeline.workloads() for query in one.plans), default=0)
            days = days_of(tags, longest)
            days = _changed_days(pipeline, warehouse) if days == ALL_DAYS else days
        report = check_events(spark.session(), warehouse, pipeline.expectations(), days)
    return _suite_result(context, "events", report, _DAMAGED_EVENTS)


def _changed_days(pipeline: PipelineResource, warehouse: Warehouse) -> Days:
    """The days of events that came in since all workloads were published, and those that the windows read which they change; all
    days where more than events has changed, or somebody expects something of all.
    """
    if pipeline.expectations() != Expectations():
        return ALL_DAYS
    found = []
    for workload in pipeline.workloads():
        settings, computed = pipeline.settings(workload.name), Computed.of(warehouse, workload.name)
        span = changed_days(warehouse, settings, computed, due(warehouse, settings, computed))
        if span is None:
            return ALL_DAYS
        since = min(entry.events_until for entry in computed.entries.values())
        found += [days_read(settings, span), days_since(warehouse, since)]
    return all_of(found) if found else ALL_DAYS


def result_checks(place: Place) -> tuple[dg.AssetChecksDefinition, ...]:
    """The checks between computing and publishing of one workload."""

    @dg.asset_check(asset=place.key(tables.COMPUTED.name), blocking=True)
    def results_expectations(
        context: dg.AssetCheckExecutionContext, pipeline: PipelineResource, spark: SparkResource
    ) -> dg.AssetCheckResult:
        """Great Expectations on the results: one row a key, every aggregate there, a trend or a REACH in each, MIN <= AVG
        <= MAX, SUM = AVG * COUNT, a REACH that never grows, and sign, log2, digits and residues that fit the value.
        """
        with telling(context, pipeline):
            settings = pipeline.settings(place.name, place.span(context))
            span = days_computed(context, place, settings.span)
            report = check_results(spark.session(), pipeline.tables(), settings, span)
            if any(one.stops for one in report.outcomes):
                forget_computed(pipeline.tables(), settings, ())
        return _suite_result(context, "results", report, _IMPOSSIBLE_RESULTS)

    @dg.asset_check(asset=place.key(tables.COMPUTED.name), blocking=True)
    def greta_comparison(
        context: dg.AssetCheckExecutionContext, pipeline: PipelineResource, spark: SparkResource
    ) -> dg.AssetCheckResult:
        """The reference engine recomputes results from the raw events; every digit must agree."""
        with telling(context, pipeline):
            settings = pipeline.settings(place.name, place.span(context))
            each = partial(each_in_tasks, spark.session())
            span = days_computed(context, place, settings.span)
            comparison = compare_with_greta(pipeline.tables(), settings, span, each)
            if comparison.differences:
                forget_computed(pipeline.tables(), settings, ())
        say(context, f"greta comparison: {_extent(comparison)}, {len(comparison.differences)} differences")
        return _comparison_result(comparison)

    return results_expectations, greta_comparison


def cases_check(root: Path, place: Place) -> dg.AssetChecksDefinition:
    """The check of the cases beside a workload of a folder: a query that means something else is not computed."""

    @dg.asset_check(asset=place.key(tables.PLAN.name), name="cases", blocking=True)
    def workload_cases(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        """The workload finds in the events of its author's cases the rows that are written beside them."""
        with telling(context):
            verdicts = judge(WorkloadFolder.read(root), place.name or "")
        red = [one for one in verdicts if one.problems]
        lines = ["| case | problem |", "|---|---|"]
        lines += [f"| {cell(one.case)} | {cell(problem)} |" for one in red for problem in one.problems]
        lines += [f"| {cell(one.case)} | none |" for one in verdicts if not one.problems]
        first = f"; the first that does not: {red[0].case}: {red[0].problems[0]}" if red else ""
        return dg.AssetCheckResult(
            passed=not red,
            description=f"{len(verdicts) - len(red)} of {len(verdicts)} cases hold{first}",
            metadata={"cases": dg.MetadataValue.md("\n".join(lines))},
        )

    return workload_cases


def _suite_result(
    context: dg.AssetCheckExecutionContext, suite: str, report: SuiteReport, advice: str
) -> dg.AssetCheckResult:
    """Red and blocking if a rule stops the run; a warning if only rules are broken that warn."""
    outcomes = report.outcomes
    red = [one for one in outcomes if not one.passed]
    stops = any(one.stops for one in red)
    say(context, f"expectations on {suite}: {len(outcomes) - len(red)} of {len(outcomes)} hold")
    return dg.AssetCheckResult(
        passed=not red,
        severity=dg.AssetCheckSeverity.ERROR if stops else dg.AssetCheckSeverity.WARN,
        description=in_words(outcomes, advice),
        metadata={
            "rules": dg.MetadataValue.md(markdown(outcomes)),
            "broken rules": sum(one.stops for one in red),
            "warnings": sum(one.warns for one in red),
            "rows looked at": report.rows,
        },
    )


def in_words(outcomes: Sequence[Outcome], advice: str) -> str:
    """What is broken and what to do, a user's own expectations first; then the first rows against the first, a line each."""
    stopping = sorted((one for one in outcomes if one.stops), key=lambda one: not one.declared)
    parts = [
        f"broken: {', '.join(one.rule for one in found)}; {cure}"
        for declared, cure in ((True, _OWN_EXPECTATION), (False, advice))
        if (found := [one for one in stopping if one.declared == declared])
    ]
    warning = [f"{one.rule} ({one.says})" for one in outcomes if not one.passed and one.warns]
    parts += [f"warning: {', '.join(warning)}; see events_quarantine for the reasons"] if warning else []
    rows = _first_rows(stopping[0]) if stopping else ""
    return ("; ".join(parts) or f"all {len(outcomes)} rules hold") + rows


def _first_rows(one: Outcome) -> str:
    """The first rows against a rule, as a list in Markdown."""
    many = f"; {one.broken:,} rows are against it" if one.broken else ""
    shown = [short(row.replace("`", "'"), _LINE) for row in one.examples]
    return "\n".join([f"\n\n{one.rule}: {one.says}{many}, such as\n", *(f"- `{row}`" for row in shown)])


def _comparison_result(comparison: Comparison) -> dg.AssetCheckResult:
    found = comparison.differences
    words = _extent(comparison)
    if found:
        words += f"; {len(found)} differences, the first: {_first(found[0])}; nothing is published: {_WRONG_RESULTS}"
    elif comparison.blind:
        words += f"; {_NOTHING_COMPARED}"
    return dg.AssetCheckResult(
        passed=not found and not comparison.blind,
        severity=dg.AssetCheckSeverity.WARN if comparison.blind else dg.AssetCheckSeverity.ERROR,
        description=words,
        metadata={
            "compared": comparison.compared,
            "left out": comparison.left_out,
            "differences": len(found),
            "rows that differ": dg.MetadataValue.md(_difference_table(found[:SHOWN_DIFFERENCES])),
        },
    )


def _extent(comparison: Comparison) -> str:
    if comparison.everything:
        return f"everything recomputed ({comparison.compared:,} rows)"
    left_out = f", {comparison.left_out} left out as too large" if comparison.left_out else ""
    return f"{comparison.compared} results recomputed{left_out}"


def _first(one: Difference) -> str:
    window = f"{one.window_start.isoformat()} to {one.window_end.isoformat()}"
    numbers = f", {one.column} {one.stored} and not {one.expected}" if one.column else ""
    return f"query {one.query}, window {window}, group {one.group_key}: {one.aggregate} is {one.problem}{numbers}"


def _difference_table(found: Sequence[Difference]) -> str:
    if not found:
        return "none"
    head = (
        "| query | window | group | aggregate | problem | column | stored | expected |\n" + "|---" * 8 + "|\n"
    )
    return head + "\n".join(
        f"| {cell(one.query)} | {one.window_start.isoformat()} to {one.window_end.isoformat()} "
        f"| {cell(one.group_key)} | {cell(one.aggregate)} | {one.problem} | {one.column} "
        f"| {cell(one.stored)} | {cell(one.expected)} |"
        for one in found
    )
