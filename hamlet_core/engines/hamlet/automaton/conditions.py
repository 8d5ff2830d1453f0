"""Conditions on pairs of events, compiled: the programs of `predicates.pair_tables`, run on a stack.

Most conditions are comparisons of two columns of keys and never touch the stack. Everything else has the meaning
that `predicates.arithmetic` and `predicates.logic` give it: what has no answer is NULL.
"""

from __future__ import annotations

import math
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hamlet_core.engines.hamlet.automaton.condition_arithmetic import (
    compared,
    difference_fits,
    divided,
    order_with_double,
    product_fits,
    rest,
    rest_of_doubles,
    sum_fits,
)
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed
from hamlet_core.predicates.pair_tables import STACK, Operation


@compiled_inline  # counting references would cost far more than the comparison
def holds(tables: Any, condition: int, left_row: int, right_row: int) -> bool:
    """Whether a condition of the `PairTables` is TRUE for the event at `left_row` and the NEXT one at `right_row`."""
    stop = tables.starts[condition + 1]
    for at in range(tables.starts[condition], stop):
        operation = tables.code[at, 0]
        if operation >= Operation.REQUIRE:
            return bool(
                _run(
                    (_data(tables.code), at, stop),
                    (_data(tables.integers), _data(tables.integer_valid)),
                    (_data(tables.doubles), _data(tables.double_valid)),
                    (_data(tables.integer_constants), _data(tables.double_constants)),
                    (_data(tables.table_codes), _data(tables.table_starts), _data(tables.table_values)),
                    tables.integers.shape[1],
                    left_row,
                    right_row,
                )
            )
        left, right = tables.code[at, 1], tables.code[at, 2]
        if not (tables.integer_valid[left, left_row] and tables.integer_valid[right, right_row]):
            return False
        if not compared(operation, tables.integers[left, left_row], tables.integers[right, right_row]):
            return False
    return True


@intrinsic
def _data(_context: Any, array: Any) -> Any:
    """A pointer to the values of a contiguous array; Booleans are bytes."""
    kind = types.uint8 if array.dtype == types.boolean else array.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, value=arguments[0]).data

    return types.CPointer(kind)(array), generate


@intrinsic
def _integer_cells(_context: Any) -> Any:
    """A pointer to the integers of a stack, in the frame of the function."""
    return _cells(types.int64)


@intrinsic
def _double_cells(_context: Any) -> Any:
    """The same for doubles."""
    return _cells(types.float64)


def _cells(kind: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        builder.function.attributes.add("noinline")  # so that `holds` is small enough to be inlined itself
        return cgutils.alloca_once(builder, context.get_value_type(kind), size=STACK)

    return types.CPointer(kind)(), generate


@intrinsic
def _get(_context: Any, cells: Any, index: Any) -> Any:
    """`cells[index]`."""

    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.load(builder.gep(arguments[0], [arguments[1]]))

    return cells.dtype(cells, index), generate


@intrinsic
def _put(_context: Any, cells: Any, index: Any, value: Any) -> Any:
    """`cells[index] = value`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stored = context.cast(builder, arguments[2], signature.args[2], cells.dtype)
        builder.store(stored, builder.gep(arguments[0], [arguments[1]]))
        return context.get_dummy_value()

    return types.void(cells, index, value), generate


@compiled_part
def _run(  # noqa: C901, PLR0912, PLR0915 - a case for each operation
    program: Packed,
    integer_columns: Any,
    double_columns: Any,
    constants: Any,
    look_up: Any,
    rows: int,
    left_row: int,
    right_row: int,
) -> bool:
    """The steps that need a stack; `known` is 0 where a value is NULL, and truth is the integer 1 or 0."""
    code, start, stop = program
    columns, valid = integer_columns
    integers = _integer_cells()
    doubles = _double_cells()
    known = _integer_cells()
    top = -1  # the place of the uppermost value
    for at in range(start, stop):
        operation, operand = _get(code, 3 * at), _get(code, 3 * at + 1)
        if operation == Operation.REQUIRE:
            if _get(known, top) == 0 or _get(integers, top) == 0:
                return False
            top -= 1
        elif operation < Operation.PUSH_INTEGER:  # KEYS_
            other = _get(code, 3 * at + 2)
            top += 1
            _put(known, top, _get(valid, operand * rows + left_row) and _get(valid, other * rows + right_row))
            _put(
                integers,
                top,
                compared(
                    operation - Operation.KEYS_EQUAL,
                    _get(columns, operand * rows + left_row),
                    _get(columns, other * rows + right_row),
                ),
            )
        elif operation < Operation.TO_DOUBLE:
            top += 1
            _put(known, top, 1)
            row = left_row if _get(code, 3 * at + 2) == 0 else right_row
            if operation == Operation.PUSH_INTEGER:
                _put(known, top, _get(valid, operand * rows + row))
                _put(integers, top, _get(columns, operand * rows + row))
            elif operation == Operation.PUSH_DOUBLE:
                _put(known, top, _get(double_columns[1], operand * rows + row))
                _put(doubles, top, _get(double_columns[0], operand * rows + row))
            elif operation == Operation.INTEGER_CONSTANT:
                _put(integers, top, _get(constants[0], operand))
            elif operation == Operation.DOUBLE_CONSTANT:
                _put(doubles, top, _get(constants[1], operand))
            elif operation == Operation.NULL:
                _put(known, top, 0)
            else:
                number = _get(look_up[0], 2 * operand * rows + left_row)
                other_number = _get(look_up[0], (2 * operand + 1) * rows + right_row)
                start_of, width = _get(look_up[1], 2 * operand), _get(look_up[1], 2 * operand + 1)
                truth = _get(look_up[2], start_of + number * width + other_number)
                _put(known, top, truth >= 0)
                _put(integers, top, truth == 1)
        elif operation == Operation.IS_NULL:
            _put(integers, top, _get(known, top) == 0)
            _put(known, top, 1)
        elif operation == Operation.AND:
            top -= 1
            no = (_get(known, top) and _get(integers, top) == 0) or (
                _get(known, top + 1) and _get(integers, top + 1) == 0
            )
            _put(integers, top, 0 if no else 1)
            _put(known, top, 1 if no else (_get(known, top) and _get(known, top + 1)))
        elif operation == Operation.OR:
            top -= 1
            yes = (_get(known, top) and _get(integers, top) == 1) or (
                _get(known, top + 1) and _get(integers, top + 1) == 1
            )
            _put(integers, top, 1 if yes else 0)
            _put(known, top, 1 if yes else (_get(known, top) and _get(known, top + 1)))
        elif operation < Operation.ADD_INTEGERS or operation == Operation.NOT:
            if _get(known, top) == 0:
                continue
            if operation == Operation.NOT:
                _put(integers, top, 1 - _get(integers, top))
            elif operation == Operation.TO_DOUBLE:
                _put(doubles, top, float(_get(integers, top)))
            elif operation == Operation.NEGATE_DOUBLE:
                _put(doubles, top, -_get(doubles, top))
            else:
                _put(known, top, _get(integers, top) != -(2**63))
                _put(integers, top, -_get(integers, top) if _get(known, top) else 0)
        else:
            top -= 1
            _put(known, top, _get(known, top) and _get(known, top + 1))
            if _get(known, top) == 0:
                continue
            x, y = _get(integers, top), _get(integers, top + 1)
            u, v = _get(doubles, top), _get(doubles, top + 1)
            if operation == Operation.ADD_INTEGERS:
                _put(known, top, sum_fits(x, y))
                _put(integers, top, x + y if _get(known, top) else 0)
            elif operation == Operation.SUBTRACT_INTEGERS:
                _put(known, top, difference_fits(x, y))
                _put(integers, top, x - y if _get(known, top) else 0)
            elif operation == Operation.MULTIPLY_INTEGERS:
                _put(known, top, product_fits(x, y))
                _put(integers, top, x * y if _get(known, top) else 0)
            elif operation == Operation.MODULO_INTEGERS:
                _put(known, top, y != 0)
                _put(integers, top, rest(x, y))
            elif operation == Operation.COMPARE_INTEGERS:
                _put(integers, top, compared(operand, x, y))
            elif operation == Operation.COMPARE_DOUBLES:
                _put(integers, top, compared(operand, u, v))
            elif operation == Operation.COMPARE_INTEGER_WITH_DOUBLE:
                _put(integers, top, compared(operand, order_with_double(x, v), 0))
            elif operation == Operation.COMPARE_DOUBLE_WITH_INTEGER:
                _put(integers, top, compared(operand, 0, order_with_double(y, u)))
            else:
                if operation == Operation.ADD_DOUBLES:
                    result = u + v
                elif operation == Operation.SUBTRACT_DOUBLES:
                    result = u - v
                elif operation == Operation.MULTIPLY_DOUBLES:
                    result = u * v
                elif operation == Operation.MODULO_DOUBLES:
                    result = rest_of_doubles(u, v)
                elif operation == Operation.DIVIDE_INTEGERS:
                    result = divided(x, y)
                else:
                    result = u / v if v != 0.0 else math.nan
                _put(doubles, top, result)
                _put(known, top, math.isfinite(result))
    return True
