"""Hypothesis strategies: the generators of this folder, drawing from Hypothesis so that failures shrink."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.properties import generation

_randoms = st.randoms(use_true_random=False, note_method_calls=False)

cases = _randoms.map(generation.case)
"""A legal query with a small stream."""

workload_cases = _randoms.map(generation.workload_case)
"""Two or three legal queries over one stream."""
