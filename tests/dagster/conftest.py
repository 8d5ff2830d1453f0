"""One Spark session for the tests that run the job in this process; every run has an instance of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pipelines.steps.ingestion import ingest
from resources.environments import environment
from resources.spark import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session(environment("ci"))
    yield session
    session.stop()


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_young_files() -> Iterator[None]:
    """Files of tests are whole when they are ingested; the tests of files that are not wait as the program does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "LOOK_AGAIN", 0.0)
        yield
