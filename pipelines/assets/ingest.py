"""Assets of the ingest: the events of the files, what could not be read, and which files are in."""

from collections import Counter
from collections.abc import Iterator, Sequence

import dagster as dg

from pipelines.ahead import load_checks_and_engines
from pipelines.assets.configuration import PipelineResource
from pipelines.assets.place import Place
from pipelines.assets.presenting import say, stored_schema, table_spec, telling, written
from pipelines.assets.spark import SparkResource
from pipelines.checks.rules import cell
from pipelines.showing.rejected import left_empty
from pipelines.steps.ingestion.ingest import IngestedFile, IngestReport, ingest
from pipelines.steps.ingestion.ledger import Skipped
from pipelines.steps.metrics import ingest_metrics
from resources import tables

SHOWN_WAITING = 5
"""Files that wait whose names are in the line of the check; its page has all."""

SHOWN_SKIPPED = 5
"""Files that were skipped for one reason whose names are in the line of the ingest."""

_HERE = Place()
_TABLES = (tables.events_table((), ()), tables.QUARANTINE, tables.LEDGER)
_FILES_ARE_IN = dg.AssetCheckSpec(
    "files_are_in",
    asset=_HERE.key(tables.LEDGER.name),
    description="Every file of events is in as it is now: none is still being written, none was changed afterwards.",
)


@dg.multi_asset(
    specs=[table_spec(_HERE, table, group="ingest") for table in _TABLES],
    check_specs=[_FILES_ARE_IN],
    name="ingest",
)
def ingest_files(
    context: dg.AssetExecutionContext, pipeline: PipelineResource, spark: SparkResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Read every file that is not in yet or has grown since; nothing is ingested twice, and nothing is lost."""
    with telling(context, pipeline):
        warehouse = pipeline.tables()
        load_checks_and_engines()
        report = ingest(spark.session(), warehouse, pipeline.source(), pipeline.needs())
        say(
            context,
            _summary(report),
            step="ingest",
            files=len(report.files),
            events=report.rows,
            rejected=report.rejected,
        )
        more = {
            "files read": dg.MetadataValue.md(_page(report)),
            "dagster/column_schema": stored_schema(warehouse, "events"),
        }
        metrics = ingest_metrics(report)
        yield written(context, _HERE, warehouse, "events", rows=report.rows, metrics=metrics, more=more)
        yield written(context, _HERE, warehouse, tables.QUARANTINE.name, rows=report.rejected)
        yield written(context, _HERE, warehouse, tables.LEDGER.name, rows=len(report.files))
        yield _files_are_in(report)


def _files_are_in(report: IngestReport) -> dg.AssetCheckResult:
    """A warning if files wait: results are those of the others, and of what was ingested of these before."""
    told = "; ".join(f"{file.name}: {file.reason}" for file in report.waiting[:SHOWN_WAITING])
    more = len(report.waiting) - SHOWN_WAITING
    waiting = f"{len(report.waiting)} wait: {told}" + (f"; and {more} more" if more > 0 else "")
    return dg.AssetCheckResult(
        check_name=_FILES_ARE_IN.name,
        asset_key=_FILES_ARE_IN.asset_key,
        passed=not report.waiting,
        severity=dg.AssetCheckSeverity.WARN,
        description=waiting if report.waiting else "every file is in as it is",
        metadata={"files": dg.MetadataValue.md(_page(report)), "files that wait": len(report.waiting)},
    )


def _summary(report: IngestReport) -> str:
    parts = [
        f"ingest: {len(report.files)} new files, {report.rows:,} events, {report.rejected:,} rows rejected"
    ]
    parts += [f"{file.name} has no rows" for file in report.files if not file.rows + file.rejected]
    parts += [f"{file.name} {file.again} and was read again" for file in report.files if file.again]
    if report.lost:
        many = f" and {len(report.lost) - 1:,} more" if len(report.lost) > 1 else ""
        parts.append(
            f"not among the files, and so not read again: {report.lost[0]}{many}; bad values stay as they were judged"
        )
    parts += [left_empty(report.empty)] if report.empty else []
    parts += _in_words(report.skipped)
    parts += [f"{file.name}: {file.reason}" for file in report.waiting]
    parts += [f"{name} is no file of events" for name in report.ignored]
    if report.killed_ingests:
        parts.append(f"removed what {report.killed_ingests} killed ingests left behind")
    return "; ".join(parts)


def _in_words(skipped: Sequence[Skipped]) -> Iterator[str]:
    """Files by why they were skipped: their names, unless they are many."""
    for reason, many in Counter(file.reason for file in skipped).items():
        if many > SHOWN_SKIPPED:
            yield f"{many:,} files: {reason}"
        else:
            yield from (f"{file.name}: {reason}" for file in skipped if file.reason == reason)


def _page(report: IngestReport) -> str:
    lines = ["| file | events | rejected | remark |", "|---|---|---|---|"]
    lines += [
        f"| {cell(file.name)} | {file.rows} | {file.rejected} | {cell('; '.join(_remarks(file)))} |"
        for file in report.files
    ]
    lines += [
        f"| {cell(name)} | | | not among the files: its bad values stay as they were judged |"
        for name in report.lost
    ]
    lines += [f"| {cell(file.name)} | | | {cell(file.reason)} |" for file in report.skipped]
    lines += [f"| {cell(file.name)} | | | waits: {cell(file.reason)} |" for file in report.waiting]
    lines += [f"| {cell(name)} | | | ignored: no CSV, JSON lines or Parquet |" for name in report.ignored]
    return "\n".join(lines)


def _remarks(file: IngestedFile) -> Iterator[str]:
    if file.again:
        yield f"{file.again} and was read again"
    if file.empty:
        yield left_empty(file.empty)
