"""What Dagster's pages show of a table and of a run: schema, address, counts; and the same numbers as metrics."""

import contextlib
import logging
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.storage.noop_compute_log_manager import NoOpComputeLogManager

from hamlet_core import QueryPlan
from hamlet_core.errors import HamletError
from pipelines.assets.configuration import PipelineResource
from pipelines.assets.place import Place
from pipelines.showing.levels import GOING_ON
from pipelines.showing.pictures import address, beside, markdown
from pipelines.spans import WHOLE, Partition, Span
from pipelines.steps.metrics import Metric, metrics_of
from pipelines.steps.progress import LOG as STEPS
from resources import tables
from resources.failures import PASSING, explained
from resources.storage import Location
from resources.tables import Table
from resources.warehouse import Warehouse

COMPUTED_DAYS = "days computed"
"""Metadata under which a materialization says in which days the windows end that were computed, from one to before another."""
METRICS = "metrics"
"""Metadata under which a materialization carries its numbers for the table `run_metrics`."""

LOG = logging.getLogger("hamlet")
"""Progress of a run in lines for people; `hamlet pipeline` shows them."""


Context = dg.AssetExecutionContext | dg.AssetCheckExecutionContext | dg.OpExecutionContext


def say(context: Context, line: str, **fields: object) -> None:
    """One line of progress, with its numbers: into Dagster's event log, and to whoever listens in this process."""
    context.log.info(line)
    LOG.info(line, extra={"fields": fields})


class _ToDagster(logging.Handler):
    """Progress of a step as events of its run."""

    def __init__(self, context: Context) -> None:
        super().__init__(logging.INFO)
        self.context = context

    def emit(self, record: logging.LogRecord) -> None:
        """Show one line; where it cannot be kept, on a full disk, the step itself says so."""
        with contextlib.suppress(Exception):
            self.context.log.info(record.getMessage())


@contextlib.contextmanager
def telling(context: Context, pipeline: PipelineResource | None = None) -> Iterator[None]:
    """What the step says of its progress goes into Dagster's event log. What stops it is told in words for people;
    a mistake that trying again cannot mend fails the step at once.
    """
    handler = _ToDagster(context)
    LOG.log(GOING_ON, _step(context))
    STEPS.addHandler(handler)
    try:
        yield
    except Exception as failure:
        error = explained(failure, _folder(pipeline))
        if error is None:
            raise
        raise dg.Failure(
            description=str(error),
            metadata={"code": error.code, "cure": error.hint or ""},
            allow_retries=error.code in PASSING,
        ) from failure
    finally:
        STEPS.removeHandler(handler)


def _step(context: Context) -> str:
    """The name of the step, as people read it."""
    own = context if isinstance(context, dg.OpExecutionContext) else context.op_execution_context
    checks = own.selected_asset_check_keys if isinstance(context, dg.AssetCheckExecutionContext) else ()
    return " ".join([*(key.name for key in checks)] or [own.op.name]).replace("_", " ")


def _folder(pipeline: PipelineResource | None) -> Path | None:
    try:
        return Location.of(pipeline.location()).local if pipeline is not None else None
    except HamletError:  # which is what stopped the step, too
        return None


def table_spec(
    place: Place,
    table: Table,
    *,
    group: str,
    deps: Sequence[dg.AssetKey] = (),
    partitions: dg.PartitionsDefinition | None = None,
    freshness: dg.FreshnessPolicy | None = None,
) -> dg.AssetSpec:
    """The asset of a Delta table, described by the table itself."""
    return dg.AssetSpec(
        place.key(table.name),
        deps=list(deps),
        group_name=place.group(group),
        description=table.comment,
        kinds={"delta", "spark"},
        owners=list(place.settings.owners),
        metadata={"dagster/column_schema": column_schema(table)},
        partitions_def=partitions,
        freshness_policy=freshness,
    )


def column_schema(table: Table) -> dg.TableSchema:
    """The columns as Dagster shows them."""
    return dg.TableSchema(
        [dg.TableColumn(one.name, str(one.type), description=one.comment) for one in table.columns]
    )


def computed_lineage(place: Place, plans: Sequence[QueryPlan], time: str) -> dg.TableColumnLineage:
    """Which columns of `events` and of the plan each column of the results is made of."""
    groups = sorted({name for plan in plans for name in plan.group_by})
    read = sorted({name for plan in plans for name in plan.columns} - {"time", "type"} | {time})
    events, plan_key = dg.AssetKey("events"), place.key(tables.PLAN.name)
    of_events = {
        **{name: ["event_time"] for name in ("window_start", "window_end", "day")},
        **{name: [*read, "event_type"] for name in ("value", "sign", "log2", "exact", "fingerprint")},
        "group_key": groups,
    }
    made_of = {
        name: [dg.TableColumnDep(events, one) for one in sources] for name, sources in of_events.items()
    }
    of_plan = {name: [dg.TableColumnDep(plan_key, "text")] for name in ("query", "aggregate")}
    labels = {name: [dg.TableColumnDep(plan_key, name)] for name in ("workload", "workload_hash")}
    return dg.TableColumnLineage({**made_of, **of_plan, **labels})


def copied_lineage(place: Place, table: Table, source: Table) -> dg.TableColumnLineage:
    """Each column is the one of the same name in another table of the workload."""
    key = place.key(source.name)
    return dg.TableColumnLineage({one.name: [dg.TableColumnDep(key, one.name)] for one in table.columns})


def stored_schema(warehouse: Warehouse, table: str) -> dg.TableSchema:
    """The columns that a table has by now, those of its source included."""
    return dg.TableSchema(
        [
            dg.TableColumn(
                one.name, str(one.type), description=(one.metadata or {}).get(b"comment", b"").decode()
            )
            for one in warehouse.schema(table)
        ]
    )


def written(
    context: dg.AssetExecutionContext,
    place: Place,
    warehouse: Warehouse,
    table: str,
    *,
    rows: int | Mapping[str, int] | None = None,
    metrics: Sequence[Metric] = (),
    more: Mapping[str, Any] | None = None,
) -> dg.MaterializeResult:
    """The materialization of a table: rows of it, where it lies, its version, the step's numbers, and `more`.

    A run over many partitions tells what is of the whole run once, with the last of them; `rows` may be by partition.
    """
    key, once = place.key(table), dict(more or {})
    if warehouse.exists(table):
        once["table version"] = warehouse.version(table)
    for metric in metrics:
        once[metric.label] = metric.value
    if metrics:
        once[METRICS] = dg.MetadataValue.json([metric.as_json() for metric in metrics])
    always: dict[str, Any] = {"dagster/uri": warehouse.path_of(table)}
    counts = rows if isinstance(rows, Mapping) else {}
    if place.partitions is None:
        total = sum(counts.values()) if isinstance(rows, Mapping) else rows
        always |= once if total is None else once | {"dagster/row_count": total}
    else:
        for partition, count in counts.items():
            context.add_asset_metadata({"dagster/row_count": count}, key, partition)
        context.add_asset_metadata(once, key, place.span(context).keys[-1])
    return dg.MaterializeResult(asset_key=key, metadata=always)


def picture(
    context: Context, title: str, draw: Callable[[], bytes]
) -> dg.MarkdownMetadataValue | dg.TextMetadataValue:
    """The PNG that `draw` makes, in the pages, behind a click. One that cannot be drawn fails no run: the reason stands
    in its place, and in a line of progress.
    """
    return _guarded(context, title, lambda: markdown(draw(), title))


def pictures(
    context: Context, title: str, draw: Callable[[], bytes | Mapping[str, bytes]]
) -> dg.MarkdownMetadataValue | dg.TextMetadataValue:
    """The PNG that `draw` makes, or several by their names, in the pages without a click; guarded as `picture`."""

    def shown() -> str:
        drawn = draw()
        named = drawn if isinstance(drawn, Mapping) else {title: drawn}
        return beside(_addresses(context, title, named))

    return _guarded(context, title, shown)


def _guarded(
    context: Context, title: str, draw: Callable[[], str]
) -> dg.MarkdownMetadataValue | dg.TextMetadataValue:
    try:
        return dg.MetadataValue.md(draw())
    except Exception as failure:  # noqa: BLE001 - whatever it is, the tables are right without their picture
        told = str(failure) if isinstance(failure, HamletError) else f"{type(failure).__name__}: {failure}"
        absent = f"no picture of {title}: {' '.join(told.split())[:300]}"
        say(context, absent, picture=title)
        return dg.MetadataValue.text(absent)


def _addresses(context: Context, title: str, drawn: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """The name and the address of each picture.

    Dagster's pages show Markdown at once if it is short. So a picture is a file beside what the steps of its run
    printed, which Dagster's server hands out, on this machine; where it keeps that elsewhere, the address holds it.
    """
    own = context if isinstance(context, dg.OpExecutionContext) else context.op_execution_context
    step = f"{zlib.crc32(f'{own.op.name} {title}'.encode()):08x}"
    for number, (name, png) in enumerate(drawn.items(), 1):
        key = own.run.run_id, "pictures", f"{step}-{number}"
        place = _place_of(own.instance, key)
        if place is None:
            yield name, address(png)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(png)
        yield name, f"/logs/{'/'.join(key)}/png"


def _place_of(instance: dg.DagsterInstance, key: Sequence[str]) -> Path | None:
    """The file that Dagster's server hands out for `key`; None where it keeps what steps print in a store."""
    manager = instance.compute_log_manager
    if isinstance(manager, LocalComputeLogManager):
        return Path(manager.get_captured_local_path(key, "png"))
    if isinstance(manager, NoOpComputeLogManager):
        return Path(instance.storage_directory(), *key).with_suffix(".png")
    return None


def recorded_metrics(instance: dg.DagsterInstance, run_id: str) -> Iterator[Metric]:
    """The numbers that the materializations of a run carry."""
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        done = entry.asset_materialization
        value: Any = done.metadata[METRICS].value if done is not None and METRICS in done.metadata else ()
        yield from metrics_of(value)


def days_computed(context: dg.AssetCheckExecutionContext, place: Place, span: Span) -> Span:
    """The days whose windows this run has computed, if it has said that they are not all of the span."""
    key, own = place.key(tables.COMPUTED.name), context.op_execution_context
    for entry in own.instance.all_logs(own.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        done = entry.asset_materialization
        if done is not None and done.asset_key == key and COMPUTED_DAYS in done.metadata:
            told: Any = done.metadata[COMPUTED_DAYS].value
            return Span((Partition(WHOLE.key, *map(datetime.fromisoformat, told)),))
    return span


def told_days(days: Span | None) -> dict[str, Any]:
    """What `days_computed` reads."""
    bounds = () if days is None else (days.after, days.until)
    told = [one.isoformat() for one in bounds if one is not None]
    return {COMPUTED_DAYS: dg.MetadataValue.json(told)} if told else {}


def step_seconds(instance: dg.DagsterInstance, run_id: str) -> Iterator[Metric]:
    """How long the finished steps of a run took; a step of a workload in a folder is called as that of the main job."""
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_SUCCESS):
        event = entry.dagster_event
        if event is not None:
            step = (event.step_key or "").rpartition("__")[2]
            yield Metric(step, "seconds", event.step_success_data.duration_ms / 1000)
