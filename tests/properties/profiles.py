"""How long a property runs here: engines are slow beside what Hypothesis expects of a function."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def quick(examples: int) -> settings:
    """So many examples, each as long as it takes."""
    return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
