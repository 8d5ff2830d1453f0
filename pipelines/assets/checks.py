"""Checks beside the assets: they block what is downstream, and show what is wrong and what to do."""

from collections.abc import Sequence

import dagster as dg

from pipelines.assets.configuration import PipelineResource
from pipelines.assets.place import Place
from pipelines.assets.presenting import say
from pipelines.checks.differences import Difference
from pipelines.checks.event_rules import event_rules
from pipelines.checks.greta import Comparison, compare_with_greta
from pipelines.checks.result_rules import RESULT_RULES
from pipelines.checks.rules import Outcome, cell, markdown, run_rules
from pipelines.steps.slices import results_of
from resources import tables
from resources.spark import SparkResource

SHOWN_DIFFERENCES = 50


@dg.asset_check(asset="events", blocking=True)
def events_expectations(
    context: dg.AssetCheckExecutionContext, pipeline: PipelineResource, spark: SparkResource
) -> dg.AssetCheckResult:
    """Great Expectations on the events: known times and types, right partitions, no row past the ingest."""
    warehouse = pipeline.tables()
    outcomes = run_rules(warehouse.read(spark.session(), "events"), "events", event_rules(warehouse))
    advice = (
        "rows were written past the ingest, or files of the table are damaged: restore it, or ingest anew"
    )
    return _suite_result(context, "events", outcomes, advice)


def result_checks(place: Place) -> tuple[dg.AssetChecksDefinition, ...]:
    """The checks between computing and publishing of one workload."""

    @dg.asset_check(asset=place.key(tables.COMPUTED.name), blocking=True)
    def results_expectations(
        context: dg.AssetCheckExecutionContext, pipeline: PipelineResource, spark: SparkResource
    ) -> dg.AssetCheckResult:
        """Great Expectations on the results: one row a key, counts from 1, MIN <= AVG <= MAX, sign and log2 that fit."""
        span = place.span(context)
        workload = pipeline.settings(place.name, span).workload.name
        frame = pipeline.tables().read(spark.session(), tables.COMPUTED.name)
        outcomes = run_rules(frame.where(results_of(workload, span)), "results", RESULT_RULES)
        advice = "the executor computed something impossible: keep the warehouse and report it"
        return _suite_result(context, "results", outcomes, advice)

    @dg.asset_check(asset=place.key(tables.COMPUTED.name), blocking=True)
    def greta_comparison(
        context: dg.AssetCheckExecutionContext, pipeline: PipelineResource
    ) -> dg.AssetCheckResult:
        """The reference engine recomputes results from the raw events; every digit must agree."""
        comparison = compare_with_greta(pipeline.tables(), pipeline.settings(place.name, place.span(context)))
        found = comparison.differences
        say(
            context,
            f"greta comparison: {_extent(comparison)}, {len(found)} differences",
            step="greta",
            differences=len(found),
        )
        return dg.AssetCheckResult(
            passed=not found,
            description=_extent(comparison)
            + (f"; {len(found)} differences: nothing is published" if found else ""),
            metadata={
                "compared": comparison.compared,
                "left out": comparison.left_out,
                "differences": len(found),
                "rows that differ": dg.MetadataValue.md(_difference_table(found[:SHOWN_DIFFERENCES])),
            },
        )

    return results_expectations, greta_comparison


def _suite_result(
    context: dg.AssetCheckExecutionContext, suite: str, outcomes: Sequence[Outcome], advice: str
) -> dg.AssetCheckResult:
    red = [one for one in outcomes if not one.passed]
    say(
        context,
        f"expectations on {suite}: {len(outcomes) - len(red)} of {len(outcomes)} hold",
        step=f"check {suite}",
        broken=len(red),
    )
    names = ", ".join(one.rule for one in red)
    return dg.AssetCheckResult(
        passed=not red,
        description=f"broken: {names}; {advice}" if red else f"all {len(outcomes)} rules hold",
        metadata={"rules": dg.MetadataValue.md(markdown(outcomes)), "broken rules": len(red)},
    )


def _extent(comparison: Comparison) -> str:
    if comparison.everything:
        return f"everything recomputed ({comparison.compared:,} rows)"
    left_out = f", {comparison.left_out} left out as too large" if comparison.left_out else ""
    return f"{comparison.compared} results recomputed{left_out}"


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
