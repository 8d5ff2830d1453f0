"""A workload of a folder as a stream: an asset that goes on with it, and a check that is red when nothing comes any more."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import dagster as dg

from pipelines.ahead import load_checks_and_engines
from pipelines.assets.configuration import PipelineResource
from pipelines.assets.place import Place, range_tags, span_of
from pipelines.assets.presenting import say, table_spec, telling, written
from pipelines.assets.spark import SparkResource
from pipelines.folder import WorkloadFolder
from pipelines.reading import listing
from pipelines.settings import read_length
from pipelines.spans import Span
from pipelines.steps.execution.computed import latest_ingest
from pipelines.steps.ingestion.ingest import UNBOUNDED
from pipelines.steps.ingestion.ledger import Ledger
from pipelines.steps.metrics import Metric
from pipelines.steps.slices import rows_by_partition
from pipelines.steps.watermark import positions
from pipelines.streaming import BEHIND, HELD, MicroBatch, advance, behind
from resources import tables
from resources.warehouse import Warehouse

WATCH_SECONDS = 30
MOVES = "moves"
"""The check of a stream."""


def whole(place: Place) -> Place:
    """The same workload where it is not cut into partitions: a stream goes on from where it is."""
    return replace(place, settings=place.settings.model_copy(update={"partitions": "none"}))


def stream_asset(place: Place) -> dg.AssetsDefinition:
    """The stream of one workload: what it publishes belongs to the same tables as what the job of its partitions does."""
    here, given = whole(place), place.settings.stream
    assert given is not None  # noqa: S101 - else there is no stream
    key = here.key(tables.STREAMS.name)

    @dg.multi_asset(
        specs=[table_spec(here, tables.STREAMS, group="stream", deps=(dg.AssetKey("events"),))],
        check_specs=[
            dg.AssetCheckSpec(
                MOVES, asset=key, description=f"Files of events came in within {given.quiet_after}."
            )
        ],
        **here.operation("stream"),
    )
    def go_on(
        context: dg.AssetExecutionContext, pipeline: PipelineResource, spark: SparkResource
    ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        """Read what is new, and publish the windows that became final; from where it stopped, whoever went on with it."""
        with telling(context, pipeline):
            settings = pipeline.settings(place.name)
            warehouse = pipeline.tables(settings.workload)
            load_checks_and_engines()
            done: list[MicroBatch] = []
            while not done or done[-1].left:
                done.append(
                    advance(
                        spark.session(),
                        settings,
                        read_length(given.lateness),
                        pipeline.expectations(),
                        given.max_files or UNBOUNDED,
                        pipeline.needs(),
                    )
                )
                say(context, done[-1].line, step="stream", rows=sum(done[-1].rows.values()))
            for event in _complete_days(place, warehouse, done):
                context.log_event(event)
            watermark = done[-1].watermark
            yield written(
                context,
                here,
                warehouse,
                tables.STREAMS.name,
                rows=len(settings.workload.plans),
                metrics=_numbers(done),
                more={"watermark": dg.MetadataValue.timestamp(watermark)} if watermark is not None else {},
            )
            yield _moves(place, warehouse, pipeline.source().path)

    return go_on


def _numbers(done: list[MicroBatch]) -> tuple[Metric, ...]:
    """What the micro-batches of a run did, together."""
    seconds, watermark = sum(one.seconds for one in done), done[-1].watermark
    events = sum(one.ingested.rows for one in done if one.ingested is not None)
    numbers = {
        "micro-batches": float(sum(not one.idle for one in done)),
        "events read": float(events),
        "rows published": float(sum(sum(one.rows.values()) for one in done)),
        "late events": float(sum(one.late for one in done)),
        HELD: float(done[-1].held),
        "events per second": round(events / seconds, 3),
    }
    if watermark is not None:
        numbers["watermark, seconds from 1970"] = watermark.timestamp()
        numbers[BEHIND] = behind(watermark)
    return tuple(Metric("stream", name, value) for name, value in numbers.items())


def _complete_days(
    place: Place, warehouse: Warehouse, done: list[MicroBatch]
) -> Iterator[dg.AssetMaterialization]:
    """The partitions of the published table that are complete by now: the pages show them as those of a job."""
    assert place.partitions is not None  # noqa: S101 - a stream has daily ones
    known = set(place.partitions.get_partition_keys())
    given = [
        part for one in done if one.given is not None for part in one.given.partitions if part.key in known
    ]
    days = [(part, *span_of(place.partitions, range_tags(part.key, part.key)).partitions) for part in given]
    complete = tuple(day for part, day in days if part.until == day.until)
    if not complete:
        return
    published = warehouse.dataset(tables.PUBLISHED.name)
    for day, rows in rows_by_partition(published, place.name or "", Span(complete)).items():
        yield dg.AssetMaterialization(
            place.key(tables.PUBLISHED.name), partition=day, metadata={"dagster/row_count": rows}
        )


def _moves(place: Place, warehouse: Warehouse, source: str) -> dg.AssetCheckResult:
    """Whether files have come in lately, and how many wait."""
    given = place.settings.stream
    assert given is not None  # noqa: S101
    latest, now = latest_ingest(warehouse), datetime.now(UTC)
    ledger = Ledger.of(warehouse)
    waiting = sum(not ledger.has(file.path, file.fingerprint) for file in listing(source, ledger))
    if latest is None:
        passed, told = False, "no file has come in yet"
    else:
        passed = now - latest <= read_length(given.quiet_after)
        told = f"the last file came in at {latest.isoformat(timespec='seconds')}"
    told += f"; {waiting:,} files are there that are not in" if waiting else "; all files are in"
    return dg.AssetCheckResult(
        check_name=MOVES,
        asset_key=place.key(tables.STREAMS.name),
        passed=passed,
        severity=dg.AssetCheckSeverity.ERROR,
        description=told,
        metadata={"files that wait": waiting, "quiet after": given.quiet_after},
    )


def watch_sensor(folder: WorkloadFolder, place: Place) -> dg.SensorDefinition:
    """Looks at a stream, whoever runs it: how far it is, and whether it stands still."""

    @dg.sensor(
        name=f"{place.word}_stream_watch",
        minimum_interval_seconds=WATCH_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Tells how far the stream {place.name} is, and turns the check `{MOVES}` red when it stands still.",
    )
    def watch(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        warehouse = Warehouse(folder.warehouse)
        result = _moves(place, warehouse, folder.source.path)
        known = positions(warehouse, place.name or "").values()
        watermark = max((one.watermark for one in known), default=None)
        cursor = f"{result.passed} {watermark} {result.metadata['files that wait'].value}"
        if cursor == context.cursor:
            return dg.SensorResult(skip_reason=result.description, cursor=cursor)
        events: list[dg.AssetCheckEvaluation | dg.AssetObservation] = [
            dg.AssetCheckEvaluation(
                asset_key=place.key(tables.STREAMS.name),
                check_name=MOVES,
                passed=result.passed,
                metadata=result.metadata,
                severity=result.severity,
                description=result.description,
            )
        ]
        if watermark is not None:
            events.append(
                dg.AssetObservation(
                    place.key(tables.STREAMS.name),
                    metadata={
                        "watermark": dg.MetadataValue.timestamp(watermark),
                        BEHIND: behind(watermark),
                        "queries": len(known),
                    },
                )
            )
        return dg.SensorResult(asset_events=events, cursor=cursor)

    return watch
