"""What Spark is to do with the rows of tasks, put together before it starts: the last step goes into the same tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.steps.execution.task_rows import TASK_SCHEMA

Body = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a task does with the batches of its part of a frame."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows of `TASK_SCHEMA`, or what `body` makes of each part of `frame` otherwise."""

    frame: DataFrame
    body: Body

    def then(self, last: Body) -> Stage:
        """The same, and `last` after it without another way through the JVM."""
        body = self.body
        return Stage(self.frame, lambda batches: last(body(batches)))

    def rows(self, schema: pa.Schema = TASK_SCHEMA) -> DataFrame:
        """The rows, lazily."""
        return self.frame.mapInArrow(self.body, from_arrow_schema(schema))


def together(stages: Sequence[Stage], schema: pa.Schema = TASK_SCHEMA) -> DataFrame:
    """The rows of all stages in one frame."""
    return reduce(DataFrame.unionAll, (stage.rows(schema) for stage in stages))
