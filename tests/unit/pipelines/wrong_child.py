"""A run as `pipelines.comparing.child` has it, for tests: gloria answers something else, aseq is killed, sharon fails."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pyarrow as pa

from pipelines.comparing import child


def main(folder: Path) -> None:
    engine = json.loads((folder / child.REQUEST).read_text("utf-8"))["options"]["engine"]
    if engine == "aseq":
        os.kill(os.getpid(), signal.SIGKILL)
    if engine == "sharon":
        raise RuntimeError("the kernels are gone")
    child.main(folder)
    if engine == "gloria":
        with pa.OSFile(str(folder / child.RESULTS)) as source:
            right = pa.ipc.open_file(source).read_all()
        place = right.column_names.index("value")
        wrong = right.set_column(place, "value", pa.array([one + 1 for one in right["value"].to_pylist()]))
        with (
            pa.OSFile(str(folder / child.RESULTS), "wb") as target,
            pa.ipc.new_file(target, wrong.schema) as writer,
        ):
            writer.write_table(wrong)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
