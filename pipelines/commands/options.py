"""Arguments and options that several commands share, and the values made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

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
    """--time, --type and all else that says how files are read; the command gets them as one `columns`."""

    @functools.wraps(command)
    def with_columns(**given: Any) -> Any:
        return command(columns=_columns({name: given.pop(name) for name in _COLUMN_PARAMETERS}), **given)

    for option in reversed(
        (
            click.option("--time", metavar="COL", help="The column with the event time.  [default: time]"),
            click.option(
                "--type", "type_", metavar="COL", help="The column with the event type.  [default: type]"
            ),
            click.option(
                "--type-value", metavar="NAME", help="The one type of all events, if no column has it."
            ),
            click.option(
                "--time-unit",
                default="s",
                show_default=True,
                metavar="U",
                help="Unit of an integer time column: us, ms, s, min, h or d.",
            ),
            click.option(
                "--time-format", metavar="F", help="How times are written, such as '%d/%m/%Y %H:%M'."
            ),
            click.option(
                "--zone",
                default="UTC",
                show_default=True,
                metavar="Z",
                help="The zone of times that name none, such as Europe/Berlin.",
            ),
            click.option(
                "--column",
                "types",
                multiple=True,
                metavar="COL=TYPE",
                help="What a column holds, whatever its values look like: integer, double, string, boolean, date or "
                "timestamp; may be repeated.",
            ),
            click.option("--type-trim", is_flag=True, help="Blanks around event types do not count."),
            click.option("--type-case", metavar="C", help="Make event types lower or upper case."),
            click.option(
                "--unique",
                multiple=True,
                metavar="COL",
                help="A key: of events that agree in it the first is kept; repeated, a key of several columns.",
            ),
            click.option(
                "--strict",
                is_flag=True,
                help="A bad value makes a bad row also in columns that no query reads, where else it is left empty.",
            ),
        )
    ):
        option(with_columns)
    return cast(Command, with_columns)


_COLUMN_PARAMETERS = (
    *("time", "type_", "type_value", "time_unit", "time_format", "zone"),
    *("types", "type_trim", "type_case", "unique", "strict"),
)


def _columns(given: dict[str, Any]) -> ColumnOptions:
    """The column options as readers take them; --type and --type-value exclude each other."""
    from pipelines.reading import ColumnOptions, declaration

    column = given.pop("type_")
    if column is not None and given["type_value"] is not None:
        raise click.UsageError("--type names a column, --type-value the type itself: give one of them.")
    return ColumnOptions(type=column, **given | {"types": tuple(map(declaration, given["types"]))})


def sharing_options(command: Command) -> Command:
    """--optimizer, --policy, --cost-model and --choice; their values are checked by the core, and the command gets them as one `sharing`, as
    keywords of `run`.
    """

    @functools.wraps(command)
    def with_sharing(**given: Any) -> Any:
        return command(sharing={name: given.pop(name) for name in _SHARING}, **given)

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
        click.option(
            "--optimizer",
            default="auto",
            show_default=True,
            metavar="O",
            help="Whose rules say what may be shared: auto (all that pays), hamlet, gloria, sharon, greedy or none.",
        ),
    ):
        option(with_sharing)
    return cast(Command, with_sharing)


_SHARING = ("optimizer", "policy", "cost_model", "choice")


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
            help="hamlet, greta, two_step, shared_two_step, aseq, sharon or gloria. Never changes an answer.  [default: hamlet]",
        ),
    ):
        command = option(command)
    return command


def bad_rows_option(command: Command) -> Command:
    """--on-bad-rows."""
    return click.option(
        "--on-bad-rows",
        type=click.Choice(["error", "skip"]),
        default="error",
        show_default=True,
        help="What to do with rows that are no events.",
    )(command)


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


def schema_of(options: ColumnOptions) -> EventSchema:
    """Where the engine finds time and type."""
    from hamlet_core import EventSchema

    column = options.type_column
    value = options.type_value if column is None else None
    return EventSchema(options.time_column, column, value, options.time_unit)
