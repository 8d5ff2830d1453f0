"""Steps: what the pipeline does on Spark; settings and tables in, tables and a report out; no Dagster.

>>> from pipelines.steps import trend_aggregates
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.steps.execution.aggregating import trend_aggregates

__all__ = ["trend_aggregates"]


def __getattr__(name: str) -> Any:
    """The entry point for frames; Spark is imported when it is asked for."""
    if name != "trend_aggregates":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pipelines.steps.execution.aggregating import trend_aggregates

    return trend_aggregates
