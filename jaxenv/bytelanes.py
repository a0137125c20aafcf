"""32 bytes as one value in code that numba compiles, because its loops over bytes are not vectorised by themselves.

A value of 32 bytes is made by `load` or `splat`, and is a vector register (or several, where they are smaller) to the
compiler. Sums wrap at 256. A comparison gives bytes of all ones where it holds, and of zeros. For use in `njit`
functions only.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

WIDTH = 32
_HALF = 16  # no instruction for bytes crosses this at little cost

_BYTE, _WORD = ir.IntType(8), ir.IntType(32)
_VECTOR = ir.VectorType(_BYTE, WIDTH)


class _Bytes(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Bytes")


BYTES = _Bytes()


@register_model(_Bytes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


def _declared(builder: Any, kind: ir.FunctionType, name: str) -> Any:
    """One of LLVM's own functions."""
    return cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]


def _place(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    data = builder.bitcast(context.make_array(kind)(context, builder, array).data, _BYTE.as_pointer())
    return builder.bitcast(builder.gep(data, [offset]), _VECTOR.as_pointer())


@intrinsic
def load(typing: Any, array: Any, offset: Any) -> Any:
    """Bytes `offset` and following of a contiguous array. Nobody checks that the array has them."""

    def make(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load(_place(context, builder, signature.args[0], *given), align=1)

    return BYTES(array, types.intp), make


@intrinsic
def store(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Overwrite bytes `offset` and following of a contiguous array. Nobody checks that the array has them."""

    def make(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.store(given[2], _place(context, builder, signature.args[0], *given[:2]), align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, BYTES), make


@intrinsic
def fetch(typing: Any, array: Any, offset: Any) -> Any:
    """Ask for the cache line with byte `offset` of an array, which need not have it."""

    def make(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = builder.bitcast(_place(context, builder, signature.args[0], *given), _BYTE.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), (_BYTE.as_pointer(), _WORD, _WORD, _WORD))
        ask = _declared(builder, kind, "llvm.prefetch.p0")
        builder.call(ask, [place, *(ir.Constant(_WORD, how) for how in (0, 3, 1))])  # to read, to stay, data
        return context.get_dummy_value()

    return types.void(array, types.intp), make


def _unary(build: Callable[..., Any], given: Any, result: Any) -> Any:
    @intrinsic
    def function(typing: Any, value: Any) -> Any:
        return result(given), lambda context, builder, signature, values: build(builder, *values)

    return function


def _binary(build: Callable[..., Any]) -> Any:
    @intrinsic
    def function(typing: Any, left: Any, right: Any) -> Any:
        if (left, right) != (BYTES, BYTES):
            return None
        return BYTES(BYTES, BYTES), lambda context, builder, signature, values: build(builder, *values)

    return function


def _splat(builder: Any, byte: Any) -> Any:
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), byte, ir.Constant(_WORD, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_WORD, WIDTH), [0] * WIDTH))


def _running_sum(builder: Any, value: Any) -> Any:
    zeros = ir.Constant(_VECTOR, [0] * WIDTH)

    def plus(value: Any, sources: list[int | None]) -> Any:
        """The value with byte `sources[k]` added to byte k, or nothing."""
        chosen = [WIDTH if source is None else source for source in sources]
        return builder.add(
            value, builder.shuffle_vector(value, zeros, ir.Constant(ir.VectorType(_WORD, WIDTH), chosen))
        )

    for step in (1, 2, 4, 8):
        value = plus(value, [k - step if k % _HALF >= step else None for k in range(WIDTH)])
    return plus(value, [None if k < _HALF else _HALF - 1 for k in range(WIDTH)])


def _chosen_by_halves(builder: Any, table: Any, index: Any) -> Any:
    """The bits of an index, the highest first, choose half of the table, then half of a byte."""
    zeros = ir.Constant(_VECTOR, [0] * WIDTH)
    left = [_splat(builder, builder.extract_element(table, ir.Constant(_WORD, k))) for k in range(table.type.count)]
    index = builder.add(index, index)
    while (half := len(left) // 2) > 0:
        upper = builder.icmp_signed("<", index, zeros)
        left = [builder.select(upper, left[k + half], left[k]) for k in range(half)]
        index = builder.add(index, index)
    found = left[0]
    for shift in (4, 2, 1):
        lower = builder.shl(found, ir.Constant(_VECTOR, [shift] * WIDTH))
        found = builder.select(builder.icmp_signed("<", index, zeros), found, lower)
        index = builder.add(index, index)
    return found


def _chosen_at_once(builder: Any, table: Any, index: Any) -> Any:
    """The same by the one instruction of x86 that reads 32 bytes from a table of 16."""
    kind = ir.FunctionType(_VECTOR, (_VECTOR, _VECTOR))
    choose = _declared(builder, kind, "llvm.x86.avx2.pshuf.b")
    twice = ir.Constant(ir.VectorType(_WORD, WIDTH), [*range(_HALF), *range(_HALF)])
    byte = builder.and_(builder.lshr(index, ir.Constant(_VECTOR, [3] * WIDTH)), ir.Constant(_VECTOR, [15] * WIDTH))
    bit = builder.and_(index, ir.Constant(_VECTOR, [7] * WIDTH))
    masks = ir.Constant(_VECTOR, [1 << k % 8 for k in range(WIDTH)])
    mask = builder.call(choose, [masks, bit])
    found = builder.call(choose, [builder.shuffle_vector(table, table, twice), byte])
    return builder.sext(builder.icmp_unsigned("==", builder.and_(found, mask), mask), _VECTOR)


def _look_up(at_once: bool | None) -> Any:
    @intrinsic
    def function(typing: Any, low: Any, high: Any, indices: Any) -> Any:
        def make(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            words = ir.Constant(ir.VectorType(ir.IntType(64), 2), ir.Undefined)
            for k in range(2):
                words = builder.insert_element(words, given[k], ir.Constant(_WORD, k))
            table = builder.bitcast(words, ir.VectorType(_BYTE, _HALF))
            fast = "+avx2" in context.codegen().magic_tuple()[2] if at_once is None else at_once
            return (_chosen_at_once if fast else _chosen_by_halves)(builder, table, given[2])

        return BYTES(types.uint64, types.uint64, BYTES), make

    return function


# The highest bit of each byte is bit `index` (0 to 127, each of 32) of a table given as two u64, the lower first.
look_up = _look_up(None)
look_up_anywhere = _look_up(False)  # as it is compiled for processors without such an instruction


@intrinsic
def choose(typing: Any, by: Any, one: Any, other: Any) -> Any:
    """Bytes of `one` where the highest bit of `by` is set, else of `other`."""

    def make(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        zeros = ir.Constant(_VECTOR, [0] * WIDTH)
        return builder.select(builder.icmp_signed("<", given[0], zeros), given[1], given[2])

    return BYTES(BYTES, BYTES, BYTES), make


plus, minus, both, either = map(_binary, (ir.IRBuilder.add, ir.IRBuilder.sub, ir.IRBuilder.and_, ir.IRBuilder.or_))
splat = _unary(_splat, types.uint8, BYTES)
running_sum = _unary(_running_sum, BYTES, BYTES)
equal = _binary(lambda b, left, right: b.sext(b.icmp_unsigned("==", left, right), _VECTOR))
below = _binary(lambda b, left, right: b.sext(b.icmp_unsigned("<", left, right), _VECTOR))
top_bits = _unary(  # u32, bit k is the highest of byte k
    lambda b, value: b.bitcast(b.icmp_signed("<", value, ir.Constant(_VECTOR, [0] * WIDTH)), _WORD), BYTES, types.uint32
)
zeros_below = _unary(lambda b, bits: b.cttz(bits, ir.Constant(ir.IntType(1), 0)), types.uint32, types.uint32)
zeros_above = _unary(lambda b, bits: b.ctlz(bits, ir.Constant(ir.IntType(1), 0)), types.uint32, types.uint32)


@intrinsic
def counting(typing: Any) -> Any:
    """Bytes 0 to 31."""
    return BYTES(), lambda context, builder, signature, values: ir.Constant(_VECTOR, list(range(WIDTH)))
