"""One Spark session for the tests that run the job in this process; every run has an instance of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from resources.environments import environment
from resources.spark import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session(environment("ci"))
    yield session
    session.stop()
