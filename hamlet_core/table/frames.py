"""Events as other libraries hold them, as Arrow: frames of Polars and pandas, DuckDB's relations, data sets, Parquet files.

Whatever hands out a stream of Arrow's C data interface (`__arrow_c_stream__`) is read batch by batch and never copied
whole. Of a data set only the columns that the queries read are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from hamlet_core.errors import StreamError
from hamlet_core.table.columns import is_text, plain_type


class ArrowStream(Protocol):
    """What hands out a stream of Arrow's C data interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with the stream."""


Events: TypeAlias = "pa.Table | pa.RecordBatch | pa.RecordBatchReader | ArrowStream | str | os.PathLike[str]"
"""What `run` takes; besides, data sets of PyArrow, which are no stream."""

_HINT = (
    "give an Arrow table, reader or data set, a frame of Polars or pandas, a relation of DuckDB, "
    "or the path of Parquet files"
)


def opened(events: object, type_column: str | None = None) -> Any:
    """A table or reader, or a data set, which is not read yet; all have a `schema`. Raises StreamError E209.

    Of files, the texts of `type_column` are read as the codes and names that Parquet keeps: there are few names.
    """
    if isinstance(events, pa.Table | pa.RecordBatchReader):
        return events
    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events])
    if isinstance(events, str | os.PathLike):
        return _parquet(Path(events), type_column)
    if type(events).__module__ == "pyarrow._dataset":
        return events if hasattr(events, "scanner") else events.to_reader()  # type: ignore[attr-defined]
    if hasattr(events, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(events)
    what = f"{type(events).__module__}.{type(events).__qualname__}".removeprefix("builtins.")
    raise StreamError(f"events cannot be of class {what}", code="E209", hint=_HINT)


def read(events: Any, columns: Iterable[str]) -> pa.Table | pa.RecordBatchReader:
    """What `opened` gave, to be read: of a data set these columns, as far as it has them."""
    if not hasattr(events, "scanner"):
        found: pa.Table | pa.RecordBatchReader = events
        return found
    present = frozenset(events.schema.names)
    return events.scanner(columns=sorted(present.intersection(columns))).to_reader()


def _parquet(path: Path, type_column: str | None) -> Any:
    import pyarrow.dataset as ds

    if not path.exists() or not (path.is_dir() or path.suffix == ".parquet"):
        why = "is no Parquet file" if path.exists() else "is not there"
        raise StreamError(
            f"the events {str(path)!r} cannot be read: the path {why}",
            code="E209",
            hint="other files are read by `hamlet run`, or by a library of your own",
        )
    if log := next(path.rglob("_delta_log"), None):
        raise StreamError(
            f"the events {str(path)!r} cannot be read: {log.parent} is a Delta table, and not all of its files are in it",
            code="E209",
            hint="give the table as a data set (`DeltaTable(path).to_pyarrow_dataset()` of deltalake), or use `hamlet run`",
        )
    found = ds.dataset(path, format="parquet")
    if type_column is None or not all(
        _has_texts(file.physical_schema, type_column) for file in found.get_fragments()
    ):
        return found
    return ds.dataset(path, format=ds.ParquetFileFormat(dictionary_columns=[type_column]))


def _has_texts(file: pa.Schema, column: str) -> bool:
    place = file.get_field_index(column)
    return place >= 0 and is_text(plain_type(file.field(place).type))
