"""Runs an ingest in a process of its own, for a test that kills it: python -m tests.spark.ingest_run EVENTS WAREHOUSE."""

from __future__ import annotations

import sys

from pipelines.reading import ColumnOptions
from pipelines.settings import Source
from pipelines.steps.ingestion.ingest import Needs, ingest
from resources.environments import environment
from resources.spark import spark_session
from resources.warehouse import Warehouse

NUMBERS = ColumnOptions(types=(("v", "integer"),))
"""So few values do not tell."""

NEEDS = Needs(partitions=(frozenset({"k"}),), read=frozenset({"k", "v"}))


def main(events: str, warehouse: str) -> None:
    ingest(spark_session(environment("ci")), Warehouse(warehouse), Source(events, NUMBERS), NEEDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
