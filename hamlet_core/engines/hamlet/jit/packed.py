"""Tables one behind the other in one array of integers, which begins with where each of them begins.

One array costs a compiled function a fraction of what dozens cost, to compile and to call.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.jit.decorators import compiled_inline

Packed: TypeAlias = npt.NDArray[np.int64]
"""Such an array; `tables[TABLE]` is where a table begins."""


@compiled_inline
def get(tables: Packed, table: int, place: Any) -> Any:
    """An entry of one of the tables."""
    return tables[tables[table] + place]


@compiled_inline
def put(tables: Packed, table: int, place: Any, value: Any) -> None:
    """Write an entry of one of the tables."""
    tables[tables[table] + place] = value
