"""Reading: CSV, JSON lines and Parquet files in, typed Arrow batches and rejected rows out; no Spark, no Dagster.

The way through: `discover` names the files, `evidence` looks at one file, `merge` adds evidence up, `decide` makes
a schema of it (`infer_columns` is these three in one), `read_file` yields good and rejected rows, `read_all` all of them.
`FirstReading` does all of that and reads files of text once.
"""

from pipelines.reading.all_rows import AllRows, FirstReading, read_all
from pipelines.reading.beginnings import beginning_of_all
from pipelines.reading.columns import UTC, ColumnOptions, declaration
from pipelines.reading.decision import (
    about_texts,
    decide,
    explained,
    infer_columns,
    require_columns,
    typed_as,
)
from pipelines.reading.decoding import MORE_TEXT, is_packed, text_bytes
from pipelines.reading.duplicates import as_json, texts_of
from pipelines.reading.evidence import Evidence, evidence, merge
from pipelines.reading.headers import check_names
from pipelines.reading.observation import ColumnEvidence
from pipelines.reading.opening import Position
from pipelines.reading.reasons import REJECTED_SCHEMA, Reason
from pipelines.reading.rows import Rows, read_file
from pipelines.reading.sources import (
    Format,
    SourceFile,
    awaited,
    changed_since,
    discover,
    discover_first,
    fingerprint_of_first,
    ignored,
    listing,
    read_again,
)

__all__ = [
    "MORE_TEXT",
    "REJECTED_SCHEMA",
    "UTC",
    "AllRows",
    "ColumnEvidence",
    "ColumnOptions",
    "Evidence",
    "FirstReading",
    "Format",
    "Position",
    "Reason",
    "Rows",
    "SourceFile",
    "about_texts",
    "as_json",
    "awaited",
    "beginning_of_all",
    "changed_since",
    "check_names",
    "decide",
    "declaration",
    "discover",
    "discover_first",
    "evidence",
    "explained",
    "fingerprint_of_first",
    "ignored",
    "infer_columns",
    "is_packed",
    "listing",
    "merge",
    "read_again",
    "read_all",
    "read_file",
    "require_columns",
    "text_bytes",
    "texts_of",
    "typed_as",
]
