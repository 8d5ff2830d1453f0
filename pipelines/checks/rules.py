"""Great Expectations, in code only: rules in, one outcome per rule out, with the rows that break it.

All rules of a suite are looked at in one pass; only a broken one costs another, to find the rows to show.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql.functions import coalesce, col, expr, lit

from resources.sql import quoted

SHOWN_ROWS = 5


@dataclass(frozen=True, slots=True)
class RowRule:
    """`holds`, a condition in Spark SQL, is true for every row; NULL is not true. `says` is the rule for people."""

    name: str
    says: str
    holds: str


@dataclass(frozen=True, slots=True)
class NotNullRule:
    """A column has no NULL."""

    column: str

    @property
    def name(self) -> str:
        """A stable name."""
        return f"{self.column} is known"

    @property
    def says(self) -> str:
        """The rule for people."""
        return f"every row has a value in {self.column}"


@dataclass(frozen=True, slots=True)
class RowCountRule:
    """The table has exactly so many rows."""

    name: str
    says: str
    rows: int


@dataclass(frozen=True, slots=True)
class UniqueRule:
    """No two rows agree on these columns."""

    name: str
    says: str
    columns: tuple[str, ...]


Rule = RowRule | NotNullRule | RowCountRule | UniqueRule


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a rule came out; `broken` counts the rows against it and `examples` shows the first of them."""

    rule: str
    says: str
    passed: bool
    broken: int = 0
    examples: str = ""


def run_rules(frame: DataFrame, name: str, rules: Sequence[Rule]) -> tuple[Outcome, ...]:
    """Validate a Spark frame as one suite; outcomes in the order of the rules."""
    conditions = {
        rule.name: coalesce(expr(rule.holds), lit(False)) for rule in rules if isinstance(rule, RowRule)
    }
    judged = frame.withColumns(conditions).persist()
    try:
        passed = _validate(judged, name, rules)
        return tuple(
            Outcome(rule.name, rule.says, True) if passed[rule.name] else _broken(judged, rule, frame.columns)
            for rule in rules
        )
    finally:
        judged.unpersist()


def _validate(frame: DataFrame, name: str, rules: Sequence[Rule]) -> dict[str, bool]:
    """Whether each rule holds, by name, as Great Expectations finds it."""
    # Its import prints remarks, and uses a deprecated module.
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), _main_file():
        warnings.simplefilter("ignore", DeprecationWarning)
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
            return gxe.ExpectColumnValuesToBeInSet(column=name, value_set=[True], **known)
        case NotNullRule(column):
            return gxe.ExpectColumnValuesToNotBeNull(column=column, **known)
        case RowCountRule():
            return gxe.ExpectTableRowCountToEqual(value=rule.rows, **known)
        case UniqueRule():
            return gxe.ExpectCompoundColumnsToBeUnique(column_list=list(rule.columns), **known)
    assert_never(rule)


def _broken(frame: DataFrame, rule: Rule, columns: Sequence[str]) -> Outcome:
    """The outcome of a broken rule: how many rows are against it, and the first of them."""
    match rule:
        case RowRule(name):
            rows = frame.where(~col(name)).select(_as_text(columns))
        case NotNullRule(column):
            rows = frame.where(col(column).isNull()).select(_as_text(columns))
        case UniqueRule():
            rows = frame.groupBy(*rule.columns).count().where("count > 1")
        case RowCountRule():
            found = frame.count()
            return Outcome(
                rule.name, rule.says, False, abs(found - rule.rows), f"{found} rows, not {rule.rows}"
            )
        case _:
            assert_never(rule)
    return Outcome(
        rule.name, rule.says, False, rows.count(), "; ".join(_shown(row) for row in rows.take(SHOWN_ROWS))
    )


def _as_text(columns: Sequence[str]) -> list[Column]:
    """Columns as Spark writes them: it knows years that Python's datetime does not."""
    return [col(quoted(name)).cast("string").alias(name) for name in columns]


def _shown(row: Row) -> str:
    return ", ".join(f"{name}={value}" for name, value in row.asDict().items() if value is not None)


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a Markdown table."""
    head = "| rule | what it says | passed | rows against it | such as |\n|---|---|---|---|---|\n"
    return head + "\n".join(
        f"| {cell(one.rule)} | {cell(one.says)} | {'yes' if one.passed else '**no**'} "
        f"| {one.broken} | {cell(one.examples)} |"
        for one in outcomes
    )


def cell(text: object) -> str:
    """Text that stays in its cell of a Markdown table, whatever is in it."""
    shown = str(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(shown.split())[:500]
