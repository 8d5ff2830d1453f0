"""A few doubles in one register of the machine: what the compiler does not find by itself in loops over few lanes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic, register_model


class Vector(types.Type):  # type: ignore[misc]
    """So many doubles; a power of two."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"Vector({width})")


@register_model(Vector)
class _VectorModel(PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.DoubleType(), kind.width))


def _place(context: Any, builder: Any, array_type: Any, array: Any, index: Any, width: int) -> Any:
    """Where the vector at an index of an array is."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), ir.VectorType(ir.DoubleType(), width).as_pointer())


@intrinsic(prefer_literal=True)
def vector_at(context: Any, array: Any, index: Any, width: Any) -> Any:  # noqa: ARG001 - numba's protocol
    """The `width` doubles of an array of one dimension from an index on; no bounds are checked."""
    kind = Vector(width.literal_value)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, _ = arguments
        found = builder.load(_place(context, builder, signature.args[0], array, index, kind.width))
        found.align = 8
        return found

    return kind(array, types.uint64, width), code


@intrinsic
def put_vector(context: Any, array: Any, index: Any, vector: Any) -> Any:  # noqa: ARG001 - as above
    """Write the doubles of a vector to an array, from an index on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, found = arguments
        stored = builder.store(found, _place(context, builder, signature.args[0], array, index, vector.width))
        stored.align = 8
        return context.get_dummy_value()

    return types.void(array, types.uint64, vector), code


@intrinsic
def vector_sum(context: Any, left: Any, right: Any) -> Any:  # noqa: ARG001 - as above
    """Two vectors, added double by double."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001 - as above
        return builder.fadd(*arguments)

    return left(left, right), code
