"""The cycle counter of the processor, for kernels that say how long a part of them took."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def cycles(typing_context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, ARG001 - numba's protocol
    """Cycles of a constant rate since some moment (0 where the processor tells none)."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
        kind = ir.FunctionType(ir.IntType(64), ())
        counter: Any = builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=kind)
        return builder.call(counter, ())

    return types.int64(), generate
