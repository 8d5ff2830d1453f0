"""COUNT, SUM, AVG, MIN, MAX over all event trends that match a pattern, per query, group and sliding window.

>>> import pyarrow as pa
>>> from hamlet_core import EventSchema, run
>>> events = pa.table({"time": [1, 2, 3], "type": ["A", "B", "B"]})
>>> rows = run("RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s", events, arithmetic="exact")
>>> rows.select(["query", "window_start", "aggregate", "exact"]).to_pylist()
[{'query': 'q1', 'window_start': 0, 'aggregate': 'COUNT(*)', 'exact': '3'}]

The three trends are A B2, A B3 and A B2 B3. Text is parsed (`language`), given a meaning (`pattern`), planned
(`template`) and evaluated (`engines`) over encoded events (`table`, `predicates`) in one of three arithmetics
(`algebra`).
"""

from hamlet_core.describe.queries import explain
from hamlet_core.describe.why import BoundEvent, BoundTrend, Why, why
from hamlet_core.errors import HamletError, InvariantError, QueryMeaningError, QuerySyntaxError, StreamError
from hamlet_core.execution import (
    Execution,
    check_columns,
    execute,
    merge_partials,
    parse,
    partials,
    plan,
    run,
    run_part,
)
from hamlet_core.language.syntax import Query, Workload
from hamlet_core.language.writer import write_query, write_workload
from hamlet_core.online.session import Session, SessionStats, stream
from hamlet_core.results.counters import Counters
from hamlet_core.results.rows import DECISION_SCHEMA, PARTIAL_SCHEMA, result_schema
from hamlet_core.sharing.adapting import PlanChange
from hamlet_core.table.encode import EventSchema
from hamlet_core.template.plan import QueryPlan

__all__ = [
    "DECISION_SCHEMA",
    "PARTIAL_SCHEMA",
    "BoundEvent",
    "BoundTrend",
    "Counters",
    "EventSchema",
    "Execution",
    "HamletError",
    "InvariantError",
    "PlanChange",
    "Query",
    "QueryMeaningError",
    "QueryPlan",
    "QuerySyntaxError",
    "Session",
    "SessionStats",
    "StreamError",
    "Why",
    "Workload",
    "check_columns",
    "execute",
    "explain",
    "merge_partials",
    "parse",
    "partials",
    "plan",
    "result_schema",
    "run",
    "run_part",
    "stream",
    "why",
    "write_query",
    "write_workload",
]
