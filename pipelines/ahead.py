"""What a run needs later, begun beside what it does now: Spark starts while Dagster is imported, and what checks and
engines import is imported while Spark works. Whoever needs it waits for what is left, and sees what went wrong.
"""

from __future__ import annotations

import contextlib
import threading


def start_spark() -> None:
    """Start the session of this process; `spark_session` waits for it and raises what keeps Spark from starting."""
    from resources.spark import begin_session

    begin_session()


def load_checks_and_engines() -> None:
    """Import what the steps after the ingest import."""
    threading.Thread(target=_load, name="imports", daemon=True).start()


def _load() -> None:
    # A module that cannot be imported says so where it is needed.
    with contextlib.suppress(ImportError):
        import hamlet_core.engines.hamlet.engine  # noqa: F401
        import pipelines.showing.template_picture  # noqa: F401
        from pipelines.checks.suites import load

        load()
