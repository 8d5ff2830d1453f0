"""Arguments and options that several commands share, and the values made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pipelines.commands.failures import DEBUG

if TYPE_CHECKING:
    from hamlet_core import EventSchema
    from pipelines.reading import ColumnOptions

Command = TypeVar("Command", bound=Callable[..., Any])


def _remember_debug(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        context.meta[DEBUG] = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_remember_debug,
    help="Show tracebacks of failures.",
)

workload_argument = click.argument("workload", metavar="WORKLOAD")

warehouse_option = click.option(
    "--warehouse",
    default="warehouse",
    show_default=True,
    metavar="DIR|URI",
    type=click.Path(file_okay=False),
    help="The folder of the Delta tables: a path, or a URI such as s3://bucket/folder.",
)


def column_options(command: Command) -> Command:
    """--time, --type, --type-value and --time-unit."""
    for option in (
        click.option(
            "--time-unit",
            default="s",
            show_default=True,
            metavar="U",
            help="Unit of an integer time column: us, ms, s, min, h or d.",
        ),
        click.option("--type-value", metavar="NAME", help="The one type of all events, if no column has it."),
        click.option(
            "--type", "type_", metavar="COL", help="The column with the event type.  [default: type]"
        ),
        click.option("--time", metavar="COL", help="The column with the event time.  [default: time]"),
    ):
        command = option(command)
    return command


def sharing_options(command: Command) -> Command:
    """--policy, --cost-model and --choice; their values are checked by the core."""
    for option in (
        click.option(
            "--choice",
            default="guarded",
            show_default=True,
            metavar="C",
            help="Who shares under `dynamic`: guarded (the best of several plans) or paper (its rules).",
        ),
        click.option(
            "--cost-model",
            default="measured",
            show_default=True,
            metavar="M",
            help="What prices sharing: measured (nanoseconds of our kernels) or paper (its formula).",
        ),
        click.option(
            "--policy",
            default="dynamic",
            show_default=True,
            metavar="P",
            help="When queries share: dynamic, always or never. Never changes an answer.",
        ),
    ):
        command = option(command)
    return command


arithmetic_option = click.option(
    "--arithmetic",
    default="scaled",
    show_default=True,
    metavar="A",
    help="scaled (any magnitude, 1e-9), exact (all digits) or modular (fingerprints).",
)


def evaluation_options(command: Command) -> Command:
    """--engine, those of sharing, and --arithmetic; their values are checked by the core."""
    for option in (
        arithmetic_option,
        sharing_options,
        click.option(
            "--engine",
            metavar="E",
            help="hamlet, greta or two_step. Never changes an answer.  [default: hamlet]",
        ),
    ):
        command = option(command)
    return command


def format_option(command: Command) -> Command:
    """--format."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(["table", "json", "csv", "parquet"]),
        default="table",
        show_default=True,
        help="table is for people; the others carry every column and row.",
    )(command)


def columns_of(time: str | None, type_: str | None, type_value: str | None, time_unit: str) -> ColumnOptions:
    """The column options as readers take them; --type and --type-value exclude each other."""
    from pipelines.reading import ColumnOptions

    if type_ is not None and type_value is not None:
        raise click.UsageError("--type names a column, --type-value the type itself: give one of them.")
    return ColumnOptions(time=time, type=type_, type_value=type_value, time_unit=time_unit)


def schema_of(options: ColumnOptions) -> EventSchema:
    """Where the engine finds time and type."""
    from hamlet_core import EventSchema

    column = options.type_column
    value = options.type_value if column is None else None
    return EventSchema(options.time_column, column, value, options.time_unit)
