"""From text and events to results: analyse, check against the columns, encode once, evaluate each query, merge.

`run` is `merge_partials(partials(...))`, and stays so for every split of the events by partition key: that is what
lets the pipeline run the same code in many tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from threading import Lock
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hamlet_core.algebra.aggregates import DURATION, Component, Shape, algebra_of, components
from hamlet_core.algebra.arithmetic import ARITHMETICS, Arithmetic, Unit, unit_of_durations
from hamlet_core.engines.partitions import alike, fold_together
from hamlet_core.engines.prepared import prepare
from hamlet_core.engines.registry import DEFAULT_ENGINE, TOGETHER, Options, check_queries, evaluator
from hamlet_core.errors import QueryMeaningError, StreamError
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import Attribute, Workload
from hamlet_core.pattern.meaning import AnalysedQuery, analyse_workload
from hamlet_core.predicates.typing import check
from hamlet_core.progress import Progress
from hamlet_core.results.counters import Counters, Work
from hamlet_core.results.folded import Folded, Part, shapes_of
from hamlet_core.results.joining import Halves, joined_halves
from hamlet_core.results.rows import (
    PartialRow,
    check_partials,
    decision_table,
    merged_rows,
    result_table,
)
from hamlet_core.results.totals import Totals
from hamlet_core.sharing.adapting import PlanChange, PlansInUse
from hamlet_core.table.columns import INT64_MAX
from hamlet_core.table.encode import TIMESTAMP_TYPE, EventSchema, Stream, encode, table_kinds, ticks
from hamlet_core.table.frames import Events, opened, read
from hamlet_core.table.kinds import NUMBERS, Kind
from hamlet_core.template.plan import QueryPlan, plan_query, types_read
from hamlet_core.template.sharable import halves_of
from hamlet_core.template.workload import LANES, Path, path_of
from hamlet_core.windows import Wanted, WindowSpec

if TYPE_CHECKING:
    from hamlet_core.engines.hamlet.accumulators import WindowedQuery
    from hamlet_core.engines.hamlet.chains.chain import Chain
    from hamlet_core.engines.hamlet.input.query_class import QueryClass
    from hamlet_core.engines.hamlet.prefixes.fold import Alike

MOST_WINDOWS = 100_000_000
"""Of one query in one run."""

_LOADING = Lock()

_SUMMABLE = NUMBERS | {Kind.TICK, Kind.NULL}


@dataclass(frozen=True, slots=True)
class Execution:
    """What `execute` returns: the table of `run`, the decision log, and counters."""

    results: pa.Table
    decisions: pa.Table
    counters: Counters
    plan_changes: tuple[PlanChange, ...] = ()
    """Where an optimizer that plans before events are folded has planned anew, because rates had changed."""


def parse(text: str) -> Workload:
    """Read a workload; all that needs no table is checked.

    Raises QuerySyntaxError or QueryMeaningError, with line, column and a hint.

    >>> [query.name for query in parse("RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 min").queries]
    ['q1']
    """
    workload = workload_of(text)
    analyse_workload(workload)
    return workload


def plan(workload: Workload | str) -> tuple[QueryPlan, ...]:
    """What each query reads: types, columns, partition attributes, window (see `QueryPlan`)."""
    return meaning_of(workload).plans


def run(
    workload: Workload | str,
    events: Events,
    *,
    schema: EventSchema = EventSchema(),
    engine: str = DEFAULT_ENGINE,
    policy: str = "dynamic",
    cost_model: str = "measured",
    choice: str = "guarded",
    optimizer: str = "auto",
    arithmetic: str = "scaled",
    threads: int | None = None,
) -> pa.Table:
    """The aggregates of every query, group and window: one row each, in the columns of `result_schema`.

    `events` are an Arrow table, record batch, reader or data set; a frame of Polars or pandas, a relation of DuckDB, or
    whatever else hands out Arrow's C stream; or the path of a Parquet file, or of a folder of them.

    `optimizer`, `policy`, `cost_model` and `choice` say how the engine hamlet decides which queries share (`Sharing`): they
    change what a run costs, never its answer. The optimizer `auto` shares whatever is equal and decides about all else burst
    by burst; `hamlet`, `gloria`, `greedy` and `sharon` keep to the rules of one paper; `none` shares nothing.

    `threads`: how many fold at once (None: as HAMLET_THREADS says, else one for each core that the process may use). Their
    number changes no bit of the answer. Engines other than hamlet have one.

    Raises QuerySyntaxError, QueryMeaningError or StreamError; never returns a partial answer.
    """
    options = Options(engine, policy, cost_model, arithmetic, choice, threads=threads, optimizer=optimizer)
    return _fold(meaning_of(workload), _text(workload), events, schema, options).results()


def execute(
    workload: Workload | str,
    events: Events,
    *,
    schema: EventSchema = EventSchema(),
    engine: str = DEFAULT_ENGINE,
    policy: str = "dynamic",
    cost_model: str = "measured",
    choice: str = "guarded",
    optimizer: str = "auto",
    arithmetic: str = "scaled",
    threads: int | None = None,
    log: bool = True,
) -> Execution:
    """As `run`, with the decision log and counters beside the results; without `log` the log is empty, and costs nothing."""
    options = Options(
        engine, policy, cost_model, arithmetic, choice, log=log, threads=threads, optimizer=optimizer
    )
    folded = _fold(meaning_of(workload), _text(workload), events, schema, options)
    results = folded.results()
    work = folded.work
    done = {name: getattr(work, name) for name in Counters.__slots__ if hasattr(work, name)}
    counters = Counters(events=len(folded.stream), result_rows=results.num_rows, **done)
    return Execution(results, decision_table(work.decisions), counters, tuple(work.plan_changes))


def partials(
    workload: Workload | str,
    events: Events,
    *,
    schema: EventSchema = EventSchema(),
    engine: str = DEFAULT_ENGINE,
    policy: str = "dynamic",
    cost_model: str = "measured",
    choice: str = "guarded",
    optimizer: str = "auto",
    arithmetic: str = "scaled",
    threads: int | None = None,
) -> pa.Table:
    """Results before they are shown, as rows of `PARTIAL_SCHEMA`: for events split by partition key into tasks.

    Every partition (equivalence and GROUP-BY values) must be whole in one call.
    """
    options = Options(engine, policy, cost_model, arithmetic, choice, threads=threads, optimizer=optimizer)
    return _fold(meaning_of(workload), _text(workload), events, schema, options).part(frozenset()).partials


def run_part(
    workload: Workload | str,
    events: Events,
    finished: Collection[str],
    *,
    schema: EventSchema = EventSchema(),
    engine: str = DEFAULT_ENGINE,
    policy: str = "dynamic",
    cost_model: str = "measured",
    choice: str = "guarded",
    optimizer: str = "auto",
    arithmetic: str = "scaled",
    threads: int | None = None,
) -> Part:
    """As `partials`, but result rows at once of the queries `finished`: those whose groups are whole in this call."""
    options = Options(
        engine, policy, cost_model, arithmetic, choice, log=True, threads=threads, optimizer=optimizer
    )
    return _fold(meaning_of(workload), _text(workload), events, schema, options).part(frozenset(finished))


def merge_partials(
    workload: Workload | str, partials: pa.Table, *, time_type: pa.DataType, arithmetic: str = "scaled"
) -> pa.Table:
    """Result rows from partial rows of any number of calls; `time_type` is int64 or timestamp[us, UTC].

    Raises StreamError: E210 unknown arithmetic, E214 another time type, E215 rows that are no partial results of
    this workload in this arithmetic.
    """
    numbers = ARITHMETICS[Options(arithmetic=arithmetic).arithmetic]
    if time_type not in (pa.int64(), TIMESTAMP_TYPE):
        hint = "use int64, or timestamp[us, UTC] for timestamps and dates"
        raise StreamError(f"window bounds cannot be {time_type}", code="E214", hint=hint)
    shapes = shapes_of(meaning_of(workload).queries, numbers)
    check_partials(partials, shapes)
    return result_table(merged_rows(partials, shapes, numbers), shapes, numbers, time_type)


def check_columns(workload: Workload | str, table: pa.Schema, schema: EventSchema) -> None:
    """Raise the error that running on a table of these columns would raise (types, units), without any event."""
    if not isinstance(table, pa.Schema):
        hint = "give the schema of the table, as in table.schema"
        raise StreamError(f"columns cannot be of class {_class_name(table)}", code="E209", hint=hint)
    nothing = pa.Table.from_batches([], table)
    _fold(meaning_of(workload), _text(workload), nothing, schema, Options("greta"))  # compiles nothing


def check_engine(workload: Workload | str, engine: str) -> None:
    """Raise QueryMeaningError E302, as running would, if the engine's paper has no rule for one of the queries."""
    check_queries(engine, meaning_of(workload).queries, _text(workload))


@dataclass(frozen=True)
class Meaning:
    """The queries of a workload, and what follows from them before any event."""

    queries: tuple[AnalysedQuery, ...]

    @cached_property
    def plans(self) -> tuple[QueryPlan, ...]:
        """By query: what it reads."""
        return tuple(plan_query(one) for one in self.queries)

    @cached_property
    def columns(self) -> list[str]:
        """The attributes that some query reads, sorted."""
        return sorted({name for one in self.plans for name in one.columns})

    @cached_property
    def types(self) -> frozenset[str] | None:
        """The types whose events some query reads (None: all)."""
        return types_read(self.plans)

    @cached_property
    def windows(self) -> list[tuple[int, int]]:
        """By query: microseconds of its window and of its slide."""
        return [(one.within, one.slide) for one in self.plans]

    def check_types(self, kinds: Mapping[str, Kind], text: str) -> None:
        """Raise QueryMeaningError, as `check_types`, for the first query that columns of these kinds do not fit."""
        known = frozenset(kinds.items())
        if known not in self._fitting:
            for one in self.queries:
                check_types(one, kinds, text)
            self._fitting.add(known)

    @cached_property
    def _fitting(self) -> set[frozenset[tuple[str, Kind]]]:
        return set()

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """By query: how the compiled engine folds it."""
        return tuple(path_of(one) for one in self.queries)

    @cached_property
    def classes(self) -> list[QueryClass]:
        """Of the queries that the compiled engine folds together; what it makes for one run is there for the next."""
        lanes = [one for one, path in zip(self.queries, self.paths, strict=True) if path in LANES]
        classes: list[QueryClass] = _compiled_engine().classes_of(lanes)
        return classes

    def shapes(self, arithmetic: Arithmetic) -> Mapping[str, Shape]:
        """What each query adds up in an arithmetic, by its label."""
        if arithmetic.name not in self._shapes:
            self._shapes[arithmetic.name] = shapes_of(self.queries, arithmetic)
        return self._shapes[arithmetic.name]

    @cached_property
    def _shapes(self) -> dict[str, Mapping[str, Shape]]:
        return {}

    @cached_property
    def halves(self) -> tuple[tuple[AnalysedQuery, AnalysedQuery] | None, ...]:
        """Of each query that the compiled engine folds by prefixes; see `halves_of`."""
        pairs = zip(self.queries, self.paths, strict=True)
        return tuple(halves_of(one) for one, path in pairs if path is Path.PREFIXES)

    @cached_property
    def of_prefixes(self) -> tuple[AnalysedQuery, ...]:
        """The same queries, with what is asked of their prefixes."""
        pairs = zip(self.queries, self.paths, strict=True)
        chosen = [one for one, path in pairs if path is Path.PREFIXES]
        return tuple(one if both is None else both[1] for one, both in zip(chosen, self.halves, strict=True))

    @cached_property
    def alike(self) -> Sequence[Alike]:
        """What the compiled engine knows of them before any event."""
        _compiled_engine()
        from hamlet_core.engines.hamlet.prefixes.fold import alike_of

        return alike_of(self.of_prefixes)


def meaning_of(workload: object) -> Meaning:
    """The analysed queries; a text that was read before is not read again."""
    if isinstance(workload, str):
        return _meaning_of_text(workload)
    return Meaning(analyse_workload(workload_of(workload)))


@lru_cache(maxsize=32)
def _meaning_of_text(text: str) -> Meaning:
    return Meaning(analyse_workload(_syntax_of_text(text)))


@lru_cache(maxsize=32)
def _syntax_of_text(text: str) -> Workload:
    return parse_syntax(text)


def workload_of(workload: object) -> Workload:
    """A text as a tree, which must not mean anything yet."""
    if isinstance(workload, str):
        return _syntax_of_text(workload)
    if isinstance(workload, Workload):
        return workload
    hint = "give the text of the queries, or what parse() made of it"
    raise StreamError(f"a workload cannot be of class {_class_name(workload)}", code="E213", hint=hint)


def _class_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def check_schema(schema: object) -> None:
    """Raise StreamError E201 for what is no event schema."""
    if not isinstance(schema, EventSchema):
        hint = "give EventSchema(time=..., type=...)"
        raise StreamError(f"a schema cannot be of class {_class_name(schema)}", code="E201", hint=hint)


def _text(workload: Workload | str) -> str:
    return workload if isinstance(workload, str) else workload.text


def _fold(
    meaning: Meaning,
    text: str,
    events: Events,
    schema: EventSchema,
    options: Options,
) -> Folded:
    check_queries(options.engine, meaning.queries, text)
    stream, specs = _encoded(meaning, text, events, schema, options.at_once)
    return fold_stream(meaning, text, stream, specs, options)


def fold_stream(
    meaning: Meaning,
    text: str,
    stream: Stream,
    specs: Sequence[WindowSpec],
    options: Options,
    only: Wanted | None = None,
    in_use: PlansInUse[Any] | None = None,
) -> Folded:
    """Encoded events folded; `specs` by query, of each of which only the windows `only` are wanted (None: all).

    `in_use`: the plans of an optimizer that earlier events had.
    """
    analysed = meaning.queries
    numbers = ARITHMETICS[options.arithmetic]
    shapes = meaning.shapes(numbers)
    work, progress = Work(), Progress.over(len(stream))
    chunks: Iterator[list[Totals]] = iter(())
    others = list(range(len(analysed)))
    if options.engine == DEFAULT_ENGINE:
        paths = meaning.paths
        by_lanes = [place for place in others if paths[place] in LANES]
        by_prefixes = [place for place in others if paths[place] is Path.PREFIXES]
        others = [place for place in others if paths[place] is Path.REFERENCE]
        folding = _Folding(stream, numbers, work, text, options, only)
        if by_prefixes:
            totals, left = folding.by_prefixes(meaning, [specs[place] for place in by_prefixes], progress)
            others += [by_prefixes[place] for place in left]
            chunks = chain.from_iterable(totals)
        if by_lanes:
            lanes = [analysed[place] for place in by_lanes]
            windows = [specs[place] for place in by_lanes]
            windowed = _windowed(lanes, windows, shapes)
            chunks = chain(chunks, folding.by_lanes(windowed, meaning.classes, in_use))
    rows: list[PartialRow] = []
    sets = [(place,) for place in others] if options.engine not in TOGETHER else alike(analysed, specs)
    for number, own in enumerate(sets):
        part = progress.part(number, len(sets))
        queries = [analysed[place] for place in own]
        spec = specs[own[0]]
        wanted = None if only is None else only[spec]
        rows.extend(_fold_set(queries, spec, text, stream, options, work, part, wanted))
    return Folded(stream, shapes, numbers, work, chunks, rows)


@dataclass(frozen=True, slots=True)
class _Folding:
    """What the compiled engine folds of a stream, and how."""

    stream: Stream
    numbers: Arithmetic
    work: Work
    text: str
    options: Options
    only: Wanted | None

    def by_lanes(
        self,
        windowed: Sequence[WindowedQuery],
        classes: Sequence[QueryClass] = (),
        in_use: PlansInUse[Any] | None = None,
    ) -> Iterator[list[Totals]]:
        """All of them together; `classes` are theirs, if they are known, and `in_use` plans that they had."""
        chunks: Iterator[list[Totals]] = _compiled_engine().fold_workload(
            windowed,
            self.stream,
            self.numbers.name,
            self.work,
            self.text,
            sharing=self.options.sharing,
            threads=self.options.at_once,
            classes=classes,
            only=self.only,
            in_use=in_use,
        )
        return chunks

    def by_prefixes(
        self, meaning: Meaning, specs: Sequence[WindowSpec], progress: Progress
    ) -> tuple[list[Iterator[list[Totals]]], list[int]]:
        """The chunks of each query of this path, and the places among them of those with a number beyond the kernel's."""
        asked = meaning.of_prefixes
        shapes = shapes_of(asked, self.numbers) if any(meaning.halves) else meaning.shapes(self.numbers)
        windowed = _windowed(asked, specs, shapes)
        totals, left = _compiled_engine().fold_prefixes(
            windowed,
            self.stream,
            self.numbers.name,
            self.work,
            self.text,
            progress,
            self.options.at_once,
            only=self.only,
            alike=meaning.alike,
        )
        queries = [
            one for one, path in zip(meaning.queries, meaning.paths, strict=True) if path is Path.PREFIXES
        ]
        found: list[Iterator[list[Totals]]] = []
        for place, one in totals.items():
            both, whole = meaning.halves[place], queries[place]
            if both is None:
                found.append(iter([[one]]))
                continue
            parts = (*(self._parts(half) for half in both), self._parts(whole))
            first = _windowed([both[0]], [specs[place]], shapes_of((both[0],), self.numbers))
            found.append(joined_halves(self.by_lanes(first), Halves(one, *parts)))
        return found, left

    def _parts(self, analysed: AnalysedQuery) -> tuple[Component, ...]:
        return components(analysed.query.aggregates, analysed.operands, self.numbers)


def _encoded(
    meaning: Meaning,
    text: str,
    events: Events,
    schema: EventSchema,
    threads: int = 1,
) -> tuple[Stream, list[WindowSpec]]:
    """The events that the queries read, their columns checked, and the window of each query in ticks."""
    check_schema(schema)
    columns = meaning.columns
    found = opened(events, schema.type)
    kinds = {name: kind for name, (kind, _) in table_kinds(found.schema, schema, columns).items()}
    meaning.check_types(kinds, text)
    table = read(found, [*columns, schema.time, *filter(None, (schema.type, schema.sequence))])
    stream = encode(table, schema, columns, meaning.types, threads)
    specs: dict[tuple[int, int], WindowSpec] = {}
    for window, one in zip(meaning.windows, meaning.queries, strict=True):
        if window not in specs:
            specs[window] = window_spec(one, stream, text)
    return stream, [specs[window] for window in meaning.windows]


def _compiled_engine() -> ModuleType:
    """The module of the compiled engine, which only those load who use it, one thread at a time."""
    with _LOADING:
        from hamlet_core.engines.hamlet import engine
    return engine


def _windowed(
    analysed: Sequence[AnalysedQuery], specs: Sequence[WindowSpec], shapes: Mapping[str, Shape]
) -> list[WindowedQuery]:
    engine = _compiled_engine()
    return [
        engine.WindowedQuery(one, spec, shapes[one.query.name].parts)
        for one, spec in zip(analysed, specs, strict=True)
    ]


def chain_of_panes(queries: Sequence[AnalysedQuery], spec: WindowSpec, options: Options, text: str) -> Chain:
    """Panes of queries that have pane maps and the same partitions and windows, from which windows are joined."""
    numbers = ARITHMETICS[options.arithmetic]
    windowed = _windowed(queries, [spec] * len(queries), shapes_of(tuple(queries), numbers))
    with _LOADING:
        from hamlet_core.engines.hamlet.chains.chain import Chain
    return Chain(windowed, numbers.name, text)


def windowed_queries(
    workload: Workload | str, events: pa.Table, schema: EventSchema, arithmetic: str
) -> tuple[list[WindowedQuery], Stream]:
    """What the compiled engine folds: for benchmarks that time its kernels alone."""
    meaning = meaning_of(workload)
    stream, specs = _encoded(meaning, _text(workload), events, schema)
    return _windowed(meaning.queries, specs, shapes_of(meaning.queries, ARITHMETICS[arithmetic])), stream


def window_spec(analysed: AnalysedQuery, stream: Stream, text: str) -> WindowSpec:
    """The window of a query in ticks; raises QueryMeaningError E220, and StreamError E211 or E212 for such events."""
    query = analysed.query
    within = ticks(query.within.microseconds, stream.unit, span=query.within_span, text=text, what="WITHIN")
    slide = ticks(query.slide.microseconds, stream.unit, span=query.slide_span, text=text, what="SLIDE")
    spec = WindowSpec(within, slide, stream.origin)
    check_windows(spec, stream, query.name)
    return spec


def check_windows(spec: WindowSpec, stream: Stream, name: str) -> None:
    """Raise StreamError E211 or E212 where the windows of a query are too many for these events, or too far away."""
    _check_bounds(spec, stream, name)
    _check_count(spec, stream, name)


def _fold_set(
    queries: Sequence[AnalysedQuery],
    spec: WindowSpec,
    text: str,
    stream: Stream,
    options: Options,
    work: Work,
    progress: Progress,
    only: range | None,
) -> list[PartialRow]:
    """The rows of one query, or of some that are `alike`."""
    numbers = ARITHMETICS[options.arithmetic]
    by_name, lasting = shapes_of(tuple(queries), numbers), unit_of_durations(stream.time_type)
    shapes = [by_name[one.query.name] for one in queries]
    prepared = []
    for one, shape in zip(queries, shapes, strict=True):
        positions = one.automaton.positions
        algebra = algebra_of(numbers, shape.parts, positions, stream.columns, stream.times, lasting)
        prepared.append(prepare(one, stream, algebra, text))
    known = {name: Unit(column.kind, column.scale) for name, column in stream.columns.items()}
    known[DURATION] = lasting
    begun = perf_counter()
    evaluate = evaluator(options.engine, prepared, spec, numbers, options.optimizer)
    if options.engine in TOGETHER:
        work.planning_seconds += perf_counter() - begun
    rows: list[PartialRow] = []
    folded = fold_together(prepared, spec, shapes, numbers, evaluate, progress, only)
    for one, shape, groups in zip(queries, shapes, folded, strict=True):
        units = tuple((name, known[name].kind.name, known[name].scale) for name in shape.attributes)
        labels = tuple(aggregate.label for aggregate in one.query.aggregates)
        rows += [
            PartialRow(one.query.name, *spec.bounds(index), group, element, units, numbers.name, labels)
            for (index, group), element in groups.items()
        ]
    work.matched_events += sum(one.root.binds(row) for one in prepared for row in range(len(stream)))
    return rows


def _check_bounds(spec: WindowSpec, stream: Stream, name: str) -> None:
    """Every window that holds an event must begin and end within int64."""
    for time in (*stream.time[:1].tolist(), *stream.time[-1:].tolist()):
        for index in (*spec.indices(time)[:1], *spec.indices(time)[-1:]):
            start, end = spec.bounds(index)
            if not -INT64_MAX <= start < end <= INT64_MAX:
                hint = "such a time is hardly meant: correct it, or drop the row"
                message = (
                    f"query {name}: the event at time {time} lies in windows whose bounds int64 cannot hold"
                )
                raise StreamError(message, code="E212", hint=hint)


def _check_count(spec: WindowSpec, stream: Stream, name: str) -> None:
    """Windows are results, and each takes memory: a slide far shorter than the window is a slip of the pen."""
    if not len(stream):
        return
    span = int(stream.time[-1]) - int(stream.time[0])
    in_each, in_all = -(-spec.within // spec.slide), (span + spec.within) // spec.slide + 1
    if (count := min(len(stream) * in_each, in_all)) > MOST_WINDOWS:
        raise StreamError(
            f"query {name}: the events may lie in {count:,} windows, and {MOST_WINDOWS:,} are the most",
            code="E211",
            hint="choose a longer SLIDE, or run parts of the events on their own",
        )


def check_types(analysed: AnalysedQuery, kinds: Mapping[str, Kind], text: str) -> None:
    """Raise QueryMeaningError if columns of these kinds do not fit what the query does with them."""

    def kind_of(attribute: Attribute) -> Kind:
        return kinds[attribute.name]

    for expression in analysed.conditions():
        check(expression, kind_of, text=text)
    for aggregate in analysed.query.aggregates:
        if aggregate.attribute is not None and kinds[aggregate.attribute] not in _SUMMABLE:
            line, column = aggregate.span or (1, 1)
            raise QueryMeaningError(
                f"query {analysed.query.name}: {aggregate.label} needs numbers, and {aggregate.attribute} is "
                f"{kinds[aggregate.attribute].value}",
                code="E135",
                hint="aggregate a numeric attribute, or count events with COUNT(alias)",
                line=line,
                column=column,
                text=text,
            )
