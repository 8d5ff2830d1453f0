"""Spark as a resource of Dagster: here, so that a session begins to start before Dagster is imported."""

import dagster as dg
from pyspark.sql import SparkSession

from resources.environments import environment
from resources.spark import spark_session


class SparkResource(dg.ConfigurableResource):
    """Gives assets the one Spark session of their process; it starts at the first use."""

    environment_name: str = ""
    """`local`, `ci` or `cluster`; empty for the one HAMLET_ENVIRONMENT names."""

    def session(self) -> SparkSession:
        """The session, started if there is none. Raises EnvironmentProblem where Spark cannot start."""
        return spark_session(environment(self.environment_name))
