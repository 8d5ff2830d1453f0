"""Lines on stderr about work that takes a while: how far it is, how long it still takes, and a warning if that is long."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pipelines.showing.gauge import Gauge

if TYPE_CHECKING:
    from pipelines.reading import SourceFile

_LOG = logging.getLogger("hamlet")
BEAT = 4.0
"""Seconds from one line to the next."""


@contextlib.contextmanager
def going_on() -> Iterator[Gauge]:
    """While the block runs, a line about what the gauge says, every few seconds."""
    from hamlet_core.progress import COMPILE_TIME

    gauge, ended = Gauge(apart=lambda: COMPILE_TIME.seconds), threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT):
            _LOG.warning(gauge.line())
            if warning := gauge.warning():
                _LOG.warning("Warning: %s; Ctrl-C ends it.", warning)

    beating = threading.Thread(target=beat, name="progress", daemon=True)
    beating.start()
    try:
        yield gauge
    finally:
        ended.set()
        beating.join()


@contextlib.contextmanager
def reading(gauge: Gauge, files: Sequence[SourceFile], what: str) -> Iterator[None]:
    """While the block runs, the gauge looks how many bytes of the files are read."""
    from pipelines.reading import Position

    sizes = {file.path: file.size for file in files}
    with Position(sizes).watching() as position:
        gauge.begin(what, "bytes", sum(sizes.values()), position.bytes)
        yield
