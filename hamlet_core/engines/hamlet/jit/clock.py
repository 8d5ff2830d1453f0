"""The cycle counter of the processor, for kernels that say how long a part of them took."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hamlet_core.engines.hamlet.jit.decorators import compiled


@intrinsic
def cycles(typing_context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, ARG001 - numba's protocol
    """Cycles of a constant rate since some moment (0 where the processor tells none)."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
        kind = ir.FunctionType(ir.IntType(64), ())
        counter: Any = builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=kind)
        return builder.call(counter, ())

    return types.int64(), generate


@compiled
def _now() -> Any:
    return cycles()


@cache
def seconds_per_cycle() -> float:
    """How long a cycle takes, measured once a process over a few milliseconds."""
    _now()
    begin, first = time.perf_counter(), _now()
    while time.perf_counter() - begin < _MEASURED:
        pass
    passed = _now() - first
    return (time.perf_counter() - begin) / passed if passed > 0 else 0.0


_MEASURED = 0.005
