"""How long a property runs here: engines are slow beside what Hypothesis expects of a function."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def quick(examples: int) -> settings:
    """So many examples in CI and a third of them elsewhere, each as long as it takes."""
    thorough = settings.get_current_profile_name() == "ci"
    return settings(
        max_examples=examples if thorough else examples // 3,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
