"""Great Expectations, in code only: a frame and rules in, one outcome per rule out, with the rows that break it.

Spark computes what the rules look at. Of a large table Great Expectations asks Spark, in a handful of scans; of few rows it
gets what was computed as values, and asks pandas. Only a broken rule costs more, to find the rows to show. Nothing of a
large table is cached here: reading Parquet again is faster than keeping its events in memory.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any, assert_never

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql.functions import col, count, count_if
from pyspark.sql.types import DataType, DoubleType, FloatType

from pipelines.checks.rules import NotNullRule, Outcome, RowRule, Rule, TypeRule, UniqueRule
from resources.sql import quoted

if TYPE_CHECKING:
    import pandas as pd

SHOWN_ROWS = 5

_loading = threading.Lock()


def run_rules(
    frame: DataFrame, name: str, rules: Sequence[Rule], *, few: bool = False
) -> tuple[Outcome, ...]:
    """Validate a Spark frame as one suite; outcomes in the order of the rules.

    A rule about columns that the frame has not is broken, and says so. `few` rows pass this process.
    """
    try:
        impossible, judged = {}, _judged(frame, rules)
    except AnalysisException:
        impossible = {rule.name: why for rule in rules if (why := _impossible(frame, rule)) is not None}
        judged = _judged(frame, [rule for rule in rules if rule.name not in impossible])
    possible = [rule for rule in rules if rule.name not in impossible]
    passed = _passed(judged, name, possible, few=few)
    counts = _counts(judged, [rule for rule in possible if not passed[rule.name]])
    broken = {
        rule.name: (0, (impossible[rule.name],))
        if rule.name in impossible
        else (counts[rule.name], _examples(judged, rule, frame.columns))
        for rule in rules
        if not passed.get(rule.name)
    }
    return tuple(
        Outcome(
            rule.name,
            rule.says,
            rule.name not in broken,
            *broken.get(rule.name, (0, ())),
            warns=rule.warns,
            declared=rule.declared,
        )
        for rule in rules
    )


def _judged(frame: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """The frame with the columns that Great Expectations looks at. Raises AnalysisException if one cannot be computed."""
    asked = [f"{sql} AS {quoted(place)}" for rule in rules for place, sql in _asked(rule).items()]
    return frame.selectExpr("*", *asked)


def _asked(rule: Rule) -> dict[str, str]:
    """What a rule looks at, in SQL, by the name of a column that holds a blank: no column of a Delta table is called so."""
    match rule:
        case RowRule(name):
            return {_place(name): f"coalesce({rule.holds}, false)"}
        case NotNullRule(column):
            return {_place(rule.name): f"CASE WHEN {quoted(column)} IS NOT NULL THEN true END"}
        case UniqueRule(name, _, columns):
            return {_place(name, column): quoted(column) for column in columns}
        case TypeRule(column):
            return {_place(rule.name): quoted(column)}
    assert_never(rule)


def _place(rule: str, column: str = "") -> str:
    """A name without what Great Expectations or Spark would take for syntax."""
    return f"rule {(rule + chr(0) + column).encode().hex()}"


def _impossible(frame: DataFrame, rule: Rule) -> str | None:
    """Why a rule cannot be asked of this frame."""
    try:
        _judged(frame, [rule])
    except AnalysisException as refused:
        wanted = rule.columns if isinstance(rule, UniqueRule) else (rule.column,)
        missing = [column for column in wanted if column is not None and column not in frame.columns]
        if missing and not isinstance(rule, RowRule):
            return f"there is no column {', '.join(missing)}"
        return f"cannot be asked: {refused.getMessage()}"
    return None


def _passed(judged: DataFrame, name: str, rules: Sequence[Rule], *, few: bool) -> dict[str, bool]:
    """Whether each rule holds, by name. The type of a column is no matter of its rows: the frame tells it."""
    types = {field.name: type(field.dataType).__name__ for field in judged.schema}
    passed = {
        rule.name: types[_place(rule.name)] in rule.classes for rule in rules if isinstance(rule, TypeRule)
    }
    of_rows = [rule for rule in rules if not isinstance(rule, TypeRule)]
    if of_rows:
        passed |= _validate(_values(judged, of_rows) if few else judged, name, of_rows)
    return passed


def _values(judged: DataFrame, rules: Sequence[Rule]) -> pd.DataFrame:
    """What Great Expectations looks at, as values: true, false and missing, and keys as text."""
    types = {field.name: field.dataType for field in judged.schema}
    names = [
        _key(place, types[place]) if isinstance(rule, UniqueRule) else quoted(place)
        for rule in rules
        for place in _asked(rule)
    ]
    return judged.selectExpr(*names).toArrow().to_pandas()


def _key(place: str, kind: DataType) -> str:
    """A column of a key as text, in which two values are one where Spark finds them equal: 0.0 and -0.0 are."""
    value = f"{quoted(place)} + 0.0D" if isinstance(kind, DoubleType | FloatType) else quoted(place)
    return f"CAST({value} AS STRING) AS {quoted(place)}"


def load() -> None:
    """Import Great Expectations, which takes seconds; it prints remarks, and uses a deprecated module. Threads take turns, and what
    others print meanwhile is printed.
    """
    with _loading, _quiet(), warnings.catch_warnings(), _main_file(), _asleep():
        warnings.simplefilter("ignore", DeprecationWarning)
        importlib.import_module("great_expectations.data_context.types.base")


_UNASKED = ("altair", "scipy.stats")
"""What Great Expectations imports for rules that nobody asks here, a third of the time that it takes to import."""


class _Asleep(MetaPathFinder):
    """Finds modules that are imported when somebody looks into them."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As Python finds it, but asleep; nothing where Python is to find it alone."""
        spec = PathFinder.find_spec(name, path, target) if name in _UNASKED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextlib.contextmanager
def _asleep() -> Iterator[None]:
    """Modules that nobody looks into are not imported."""
    finder = _Asleep()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Quiet:
    """Stdout without what one thread prints; mutable: None stands for no thread."""

    def __init__(self, stdout: Any) -> None:
        self.thread: int | None = threading.get_ident()
        self._stdout = stdout

    def write(self, text: str) -> int:
        """Of this thread nothing."""
        written: int = len(text) if threading.get_ident() == self.thread else self._stdout.write(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stdout, name)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what this thread prints."""
    quiet: Any = _Quiet(sys.stdout)
    with contextlib.redirect_stdout(quiet):
        try:
            yield
        finally:
            # Whoever keeps it prints from now on, and so does a thread that gets this one's number.
            quiet.thread = None


def _validate(frame: DataFrame | pd.DataFrame, name: str, rules: Sequence[Rule]) -> dict[str, bool]:
    """Whether each rule holds, by name, as Great Expectations finds it."""
    load()
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    if isinstance(frame, DataFrame):
        asset = context.data_sources.add_spark("warehouse", persist=False).add_dataframe_asset(name)
    else:
        asset = context.data_sources.add_pandas("warehouse").add_dataframe_asset(name)
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    suite = gx.ExpectationSuite(name, expectations=[_expectation(rule) for rule in rules])
    result = batch.validate(suite, result_format="BOOLEAN_ONLY")
    return {one.expectation_config.meta["rule"]: bool(one.success) for one in result.results}


@contextlib.contextmanager
def _main_file() -> Iterator[None]:
    """PySpark takes a process whose main module has no file, as that of a run from Dagster's pages, for doctests of
    its own, and ends it when Great Expectations asks for Spark Connect.
    """
    main = sys.modules["__main__"]
    if hasattr(main, "__file__"):
        yield
        return
    main.__file__ = __file__
    try:
        yield
    finally:
        del main.__file__


def _expectation(rule: Rule) -> Any:
    from great_expectations import expectations as gxe

    known = {"meta": {"rule": rule.name}}
    places = list(_asked(rule))
    match rule:
        case RowRule():
            return gxe.ExpectColumnValuesToBeInSet(
                column=places[0], value_set=[True], mostly=rule.mostly, **known
            )
        case NotNullRule():
            return gxe.ExpectColumnValuesToNotBeNull(column=places[0], **known)
        case UniqueRule() if len(places) == 1:
            return gxe.ExpectColumnValuesToBeUnique(column=places[0], **known)
        case UniqueRule():
            return gxe.ExpectCompoundColumnsToBeUnique(column_list=places, **known)
    raise AssertionError(rule)


def _counts(frame: DataFrame, broken: Sequence[Rule]) -> dict[str, int]:
    """How many rows are against each of these rules; one pass for all that are about single rows."""
    against = {rule.name: _against(rule) for rule in broken if isinstance(rule, RowRule | NotNullRule)}
    sums = [count_if(condition).alias(_place(name)) for name, condition in against.items()]
    row = frame.agg(*sums).first() if sums else None
    found = {name: int(row[_place(name)]) for name in against} if row is not None else {}
    for rule in broken:
        if isinstance(rule, UniqueRule):
            found[rule.name] = _twice(frame, rule).count()
    return {rule.name: found.get(rule.name, 0) for rule in broken}


def _against(rule: RowRule | NotNullRule) -> Column:
    return ~col(_place(rule.name)) if isinstance(rule, RowRule) else col(quoted(rule.column)).isNull()


def _twice(frame: DataFrame, rule: UniqueRule) -> DataFrame:
    keys = [quoted(column) for column in rule.columns]
    return frame.groupBy(*keys).agg(count("*").alias("rows")).where("rows > 1")


def _examples(frame: DataFrame, rule: Rule, columns: Sequence[str]) -> tuple[str, ...]:
    """The first rows against a broken rule; the column that it is about comes first."""
    match rule:
        case RowRule(column=column) | NotNullRule(column=column):
            ordered = sorted(columns, key=lambda name: name != column)
            rows = frame.where(_against(rule)).select(_as_text(ordered))
        case UniqueRule():
            rows = _twice(frame, rule)
        case TypeRule(column):
            return (f"the type is {frame.schema[column].dataType.simpleString()}",)
        case _:
            assert_never(rule)
    return tuple(_shown(row) for row in rows.take(SHOWN_ROWS))


def _as_text(columns: Sequence[str]) -> list[Column]:
    """Columns as Spark writes them: it knows years that Python's datetime does not."""
    return [col(quoted(name)).cast("string").alias(name) for name in columns]


def _shown(row: Row) -> str:
    return ", ".join(f"{name}={value}" for name, value in row.asDict().items() if value is not None)
