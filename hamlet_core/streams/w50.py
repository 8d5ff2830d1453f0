"""The benchmark workload: texts of queries over the `bursty` stream that all share the Kleene sub-pattern B+."""

from __future__ import annotations


def w50(
    *,
    queries: int = 50,
    types: int = 10,
    within: int = 10_000,
    slide: int | None = None,
    adjacent: bool = False,
    local: bool = False,
    equivalence: bool = False,
) -> str:
    """Queries `SEQ(P_i, B+)` and `SEQ(P_i, B+, S_j)` in turn, the same number for each P, that count trends.

    `within` and `slide` are seconds (ticks of the stream); `adjacent` adds `b.x < NEXT(b).x`, `equivalence` adds
    `[key]`, and `local` a condition on `b.v` of another selectivity for each query, from 10 to 90 percent.

    >>> print(w50(queries=2, types=2, within=60, slide=20, local=True))
    q1: RETURN COUNT(*) PATTERN SEQ(P0 p, B b+) WHERE b.v < 10 WITHIN 60 s SLIDE 20 s
    q2: RETURN COUNT(*) PATTERN SEQ(P1 p, B b+, S1 s) WHERE b.v < 90 WITHIN 60 s SLIDE 20 s
    """
    window = f"WITHIN {within} s" + (f" SLIDE {slide} s" if slide is not None else "")
    lines = []
    for query in range(queries):
        prefix, suffix = query * types // queries, (query * 3 + query // types) % types
        pattern = f"P{prefix} p, B b+" + (f", S{suffix} s" if query % 2 else "")
        conditions = [
            *(["[key]"] if equivalence else []),
            *([f"b.v < {10 + round(80 * query / max(queries - 1, 1))}"] if local else []),
            *(["b.x < NEXT(b).x"] if adjacent else []),
        ]
        where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
        lines.append(f"q{query + 1}: RETURN COUNT(*) PATTERN SEQ({pattern}) {where}{window}")
    return "\n".join(lines)
