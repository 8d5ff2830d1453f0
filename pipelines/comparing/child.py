"""One run in a process of its own: a folder with events and a request in, results, time and memory into it.

What is imported, read and compiled before is not measured: on stdout a line says when the run begins, and one when it has ended. The peak of memory is that
of the process from then on, events and interpreter included.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import hamlet_core
from hamlet_core import EventSchema, HamletError
from hamlet_core.bench.memory import forget_peak, peak
from hamlet_core.engines.registry import DEFAULT_ENGINE

EVENTS, REQUEST, RESULTS, ANSWER = "events.arrow", "request.json", "results.arrow", "answer.json"
WARM_EVENTS, FEW_EVENTS = (0, 1_000), (10,)
"""What is run beforehand. The compiled engine loads or compiles all kernels that events might need if there are none, and those
that these events do need; the others import what they need."""


def main(folder: Path) -> None:
    """Run what is asked for, once."""
    request = json.loads((folder / REQUEST).read_text("utf-8"))
    text, how = request["text"], request["options"]
    schema = EventSchema(**request["schema"])
    with pa.OSFile(str(folder / EVENTS)) as source:
        events = pa.ipc.open_file(source).read_all()
    try:
        for few in WARM_EVENTS if how["engine"] == DEFAULT_ENGINE else FEW_EVENTS:
            hamlet_core.run(text, events.slice(0, few), schema=schema, **how)
        forget_peak()
        _say("ready")
        begun = time.perf_counter()
        done = hamlet_core.execute(text, events, schema=schema, log=False, **how)
        answer: dict[str, Any] = {
            "seconds": time.perf_counter() - begun,
            "planning_seconds": done.counters.planning_seconds + done.counters.decision_seconds,
            "peak_bytes": peak(),
        }
        _say("done")
        with (
            pa.OSFile(str(folder / RESULTS), "wb") as target,
            pa.ipc.new_file(target, done.results.schema) as writer,
        ):
            writer.write_table(done.results)
    except HamletError as error:
        answer = {"refused": f"[{error.code}] {error.message}"}
    except MemoryError:
        answer = {"refused": "out of memory"}
    (folder / ANSWER).write_text(json.dumps(answer), "utf-8")


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
