"""What a run over a folder would read and compute, and why; nothing is written, and Spark is not started."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipelines.assets.place import Place, span_of
from pipelines.folder import WorkloadFolder
from pipelines.main_job import tags_of
from pipelines.reading import discover, read_again
from pipelines.spans import Span
from pipelines.steps.execution.computed import Computed, Stale, due
from pipelines.steps.ingestion.ledger import Ledger
from pipelines.steps.planning import needs_of
from resources.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Files that would be read, and why queries would be computed, by partition and query; None: they are kept."""

    files: tuple[str, ...]
    reasons: dict[str, dict[str, Stale | None]]


def foresee(folder: Path, workload: str, partitions: tuple[str, str] | None = None) -> Foreseen:
    """What `run_workload` would do with the same arguments, as far as the events that are in tell. Raises as it does."""
    read = WorkloadFolder.read(folder)
    place, span = Place.of(read.named(workload)), Span()
    if tags := tags_of(place, workload, partitions):
        assert place.partitions is not None  # noqa: S101 - for mypy
        span = span_of(place.partitions, tags)
    settings, warehouse = read.settings(workload, span), Warehouse(read.warehouse)
    ledger = Ledger.of(warehouse)
    judges = partial(read.source.options.judges, read=needs_of(read.sound).reads(warehouse))
    again = read_again(read.source.path, ledger.judged_otherwise(judges))
    files = (*discover(read.source.path, ledger), *again)
    sifted = ledger.sift(files, judges)
    reasons = due(warehouse, settings, Computed.of(warehouse, workload)).reasons
    names = [plan.name for plan in settings.workload.plans]
    return Foreseen(
        tuple(file.name for file in sifted.fresh),
        {one.key: {name: reasons.get((one.key, name)) for name in names} for one in span.partitions},
    )
