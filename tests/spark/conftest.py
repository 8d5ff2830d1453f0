"""One Spark session for the whole run: a start costs seconds, and a process can have only one anyway."""

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
