"""Great Expectations, in code only: a frame and rules in, one outcome per rule out, with the rows that break it.

Great Expectations puts all rules of a suite into a handful of scans; only a broken one costs more, to find the rows to
show. Nothing of a large table is cached here: reading Parquet again is faster than keeping its events in memory.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql.functions import coalesce, col, count, count_if, expr, lit

from pipelines.checks.rules import NotNullRule, Outcome, RowRule, Rule, TypeRule, UniqueRule
from resources.sql import quoted

SHOWN_ROWS = 5
FEW = 50_000
"""Rows of which what the rules look at passes this process."""

_loading = threading.Lock()


def run_rules(
    frame: DataFrame, name: str, rules: Sequence[Rule], *, few: bool = False
) -> tuple[Outcome, ...]:
    """Validate a Spark frame as one suite; outcomes in the order of the rules.

    A rule about columns that the frame has not is broken, and says so. Of `few` rows, what Great Expectations looks at is
    computed once and handed over as values: it asks Spark a dozen things, each of which would plan all of it again.
    """
    impossible = _all_impossible(frame, rules)
    possible = [rule for rule in rules if rule.name not in impossible]
    judged = frame.withColumns({name: column for rule in possible for name, column in _judged(rule).items()})
    passed = _validate(_values(judged, possible) if few else judged, name, possible) if possible else {}
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


def _judged(rule: Rule) -> dict[str, Column]:
    """What a rule looks at, in columns whose names hold a blank: no column of a Delta table is called so."""
    match rule:
        case RowRule(name):
            return {_place(name): _condition(rule)}
        case UniqueRule(name, _, columns):
            return {_place(name, column): col(quoted(column)) for column in columns}
    return {}


def _values(judged: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """The columns that the rules look at, as values."""
    names = {name: None for rule in rules for name in _judged(rule) or [quoted(_column(rule))]}
    return judged.sparkSession.createDataFrame(judged.select(*names).toArrow())


def _column(rule: Rule) -> str:
    assert isinstance(rule, NotNullRule | TypeRule)  # noqa: S101 - all others are judged in columns of their own
    return rule.column


def _place(rule: str, column: str = "") -> str:
    """A name without what Great Expectations or Spark would take for syntax."""
    return f"rule {(rule + chr(0) + column).encode().hex()}"


def _condition(rule: RowRule) -> Column:
    return coalesce(expr(rule.holds), lit(False))


def _all_impossible(frame: DataFrame, rules: Sequence[Rule]) -> dict[str, str]:
    """By name, the rules that cannot be asked of this frame, and why; conditions are analysed together if they can be."""
    conditions = [_condition(rule) for rule in rules if isinstance(rule, RowRule)]
    with contextlib.suppress(AnalysisException):
        frame.select(*conditions).schema  # noqa: B018 - Spark analyses it here
        rules = [rule for rule in rules if not isinstance(rule, RowRule)]
    return {rule.name: why for rule in rules if (why := _impossible(frame, rule)) is not None}


def _impossible(frame: DataFrame, rule: Rule) -> str | None:
    """Why a rule cannot be asked of this frame."""
    match rule:
        case RowRule():
            try:
                frame.select(_condition(rule)).schema  # noqa: B018 - Spark analyses it here
            except AnalysisException as refused:
                return f"cannot be asked: {refused.getMessage()}"
            return None
        case NotNullRule(column) | TypeRule(column):
            missing = [column] if column not in frame.columns else []
        case UniqueRule():
            missing = [column for column in rule.columns if column not in frame.columns]
        case _:
            assert_never(rule)
    return f"there is no column {', '.join(missing)}" if missing else None


def load() -> None:
    """Import Great Expectations, which takes seconds; it prints remarks, and uses a deprecated module. Threads take turns."""
    with _loading, contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), _main_file():
        warnings.simplefilter("ignore", DeprecationWarning)
        importlib.import_module("great_expectations.data_context.types.base")


def _validate(frame: DataFrame, name: str, rules: Sequence[Rule]) -> dict[str, bool]:
    """Whether each rule holds, by name, as Great Expectations finds it."""
    load()
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    source = context.data_sources.add_spark("warehouse", persist=False)
    batch = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all")
    suite = gx.ExpectationSuite(name, expectations=[_expectation(rule) for rule in rules])
    validation = gx.ValidationDefinition(name=name, data=batch, suite=context.suites.add(suite))
    result = validation.run(batch_parameters={"dataframe": frame}, result_format="BOOLEAN_ONLY")
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
    match rule:
        case RowRule(name):
            return gxe.ExpectColumnValuesToBeInSet(
                column=_place(name), value_set=[True], mostly=rule.mostly, **known
            )
        case NotNullRule(column):
            return gxe.ExpectColumnValuesToNotBeNull(column=column, **known)
        case TypeRule(column):
            return gxe.ExpectColumnValuesToBeInTypeList(column=column, type_list=list(rule.classes), **known)
        case UniqueRule(name, _, columns):
            places = [_place(name, column) for column in columns]
            if len(places) == 1:
                return gxe.ExpectColumnValuesToBeUnique(column=places[0], **known)
            return gxe.ExpectCompoundColumnsToBeUnique(column_list=places, **known)
    assert_never(rule)


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
