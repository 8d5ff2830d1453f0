"""Hypothesis strategies: the generators of this folder, drawing from Hypothesis so that failures shrink."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.properties import generation, matching
from tests.properties.streams import strangers

randoms = st.randoms(use_true_random=False, note_method_calls=False)


@st.composite
def _drawn(draw: Callable[..., Any], generate: Callable[[Random], Any]) -> Any:
    return generate(draw(randoms))


cases = _drawn(generation.case)
"""A legal query with a small stream."""

workload_cases = _drawn(generation.workload_case)
"""Two or three legal queries over one stream."""

matching_cases = _drawn(matching.case)
"""A legal query of any mode and with any aggregates, with a small stream."""

matching_workload_cases = _drawn(matching.workload_case)
"""Two or three of them over one stream."""

streams = _drawn(strangers)
"""A few events with every attribute, for queries that do not read their type."""
