"""SQL over the Delta tables of a warehouse, without a JVM: DuckDB reads them through delta-rs. Read-only, sealed.

The statement sees the tables as views, what they mean as two more, `hamlet_tables` and `hamlet_columns`, and neither
files, nor the network, nor this process's variables.
"""

from __future__ import annotations

import re

import duckdb
import pyarrow as pa

from hamlet_core.errors import HamletError
from resources import tables
from resources.data_files import first_damaged
from resources.failures import damaged_file
from resources.storage import Place, WarehouseError
from resources.warehouse import Warehouse

SEALED = (
    "SET TimeZone = 'UTC'",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
OF_TABLES = pa.schema([(name, pa.string()) for name in ("table", "comment", "workload", "query")])
OF_COLUMNS = pa.schema([(name, pa.string()) for name in ("table", "column", "type", "comment")])
"""What the tables mean, as views."""
READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_UNREAD = re.compile(r"reading the stream registered as '([^']+)' failed")
"""What DuckDB says of a table whose files Arrow cannot read."""


class SqlError(HamletError, ValueError):
    """The SQL cannot be run here: E541 a mistake in it, E542 not one reading statement, E543 failed on the data."""


class NoTables(HamletError, LookupError):
    """There is nothing to query."""


def table_names(warehouse: Place) -> tuple[str, ...]:
    """The Delta tables below `warehouse`, sorted. Raises NoTables E540 if there are none."""
    names = Warehouse(warehouse).names()
    if not names:
        raise NoTables(
            f"no Delta tables in {warehouse}",
            code="E540",
            hint="`hamlet demo` or `hamlet pipeline` makes a warehouse; name it with --warehouse",
        )
    return names


def query(sql: str, warehouse: Place) -> pa.Table:
    """The rows of one SELECT over the tables of `warehouse`, each a view of its name.

    Raises SqlError, NoTables, and WarehouseError for a damaged log (E516) or data file (E514).
    """
    names, place = table_names(warehouse), Warehouse(warehouse)
    with duckdb.connect(":memory:") as connection:
        for name in names:
            connection.register(name, place.dataset(name))
        for name, meaning in meanings(place, names).items():
            connection.register(name, meaning)
        for setting in SEALED:
            connection.execute(setting)
        try:
            _check_reading(connection.extract_statements(sql))
            return connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise _damage(error, place) or _explained(error, names) from None


def meanings(warehouse: Warehouse, names: tuple[str, ...]) -> dict[str, pa.Table]:
    """The views `hamlet_tables` and `hamlet_columns`: comments, and for wide tables the query as its author named it."""
    about, columns = [], []
    for name in names:
        table = warehouse.open(name)
        metadata = table.metadata()
        written = metadata.configuration
        of_query = {"workload": written.get(tables.WORKLOAD), "query": written.get(tables.QUERY)}
        about.append({"table": name, "comment": metadata.description, **of_query})
        for field in pa.schema(table.schema().to_arrow()):
            comment = (field.metadata or {}).get(b"comment", b"").decode() or None
            columns.append({"table": name, "column": field.name, "type": str(field.type), "comment": comment})
    return {
        "hamlet_tables": pa.Table.from_pylist(about, OF_TABLES),
        "hamlet_columns": pa.Table.from_pylist(columns, OF_COLUMNS),
    }


def _check_reading(statements: list[duckdb.Statement]) -> None:
    if len(statements) != 1 or statements[0].type not in READING:
        kinds = ", ".join(statement.type.name for statement in statements) or "nothing"
        raise SqlError(
            f"one statement that reads is wanted, and this is {kinds}",
            code="E542",
            hint="the tables are read-only here; write a SELECT",
        )


def _damage(error: duckdb.Error, place: Warehouse) -> WarehouseError | None:
    """The error for the data file that could not be read, if that is what has stopped the statement."""
    found, folder = _UNREAD.search(str(error)), place.location.local
    if found is None or folder is None:
        return None
    damaged = first_damaged(file.path for file in place.files(found[1]))
    return None if damaged is None else damaged_file(folder / found[1], damaged)


def _explained(error: duckdb.Error, names: tuple[str, ...]) -> SqlError:
    """DuckDB's words (with its pointer into the SQL), and the tables there are where one is missing."""
    missing = isinstance(error, duckdb.CatalogException)
    hint = f"the tables are {', '.join(names)}" if missing else ""
    text = str(error).strip().replace("\n\n", "\n")
    in_sql = isinstance(error, duckdb.ProgrammingError | duckdb.PermissionException)
    return SqlError(text, code="E541" if in_sql else "E543", hint=hint)
