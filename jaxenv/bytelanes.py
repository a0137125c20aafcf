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
HALF = 16  # no instruction for bytes crosses this at little cost

_BYTE, _WORD, _LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_VECTOR, _HALF_VECTOR = ir.VectorType(_BYTE, WIDTH), ir.VectorType(_BYTE, HALF)
_ZEROS = ir.Constant(_VECTOR, [0] * WIDTH)


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


def _has(context: Any, feature: str) -> bool:
    return f"+{feature}" in context.codegen().magic_tuple()[2].split(",")


def _place(context: Any, builder: Any, kind: Any, array: Any, offset: Any, vector: Any = _VECTOR) -> Any:
    data = builder.bitcast(context.make_array(kind)(context, builder, array).data, _BYTE.as_pointer())
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


def _shuffled(builder: Any, left: Any, right: Any, chosen: list[int]) -> Any:
    return builder.shuffle_vector(left, right, ir.Constant(ir.VectorType(_WORD, len(chosen)), chosen))


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
def transpose(typing: Any, array: Any, offset: Any, stride: Any, into: Any, place: Any) -> Any:
    """From 32 rows of 16 bytes, `stride` apart, make 16 rows of 32 bytes one after another, from byte `place` on.

    Row k of the result has byte k of all rows. Nobody checks that the arrays have them.
    """

    def make(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        source, offset, stride, target, place = given
        rows = []
        for k in range(WIDTH):
            at = builder.add(offset, builder.mul(stride, ir.Constant(stride.type, k)))
            rows.append(builder.load(_place(context, builder, signature.args[0], source, at, _HALF_VECTOR), align=1))
        whole = [_shuffled(builder, rows[k], rows[k + HALF], list(range(WIDTH))) for k in range(HALF)]
        low, high = (
            [base + k + half for base in (0, HALF) for k in range(start, start + HALF // 2) for half in (0, WIDTH)]
            for start in (0, HALF // 2)
        )
        for _ in range(4):  # as many times as 16 can be halved
            pairs = [(whole[k], whole[k + HALF // 2]) for k in range(HALF // 2)]
            whole = [_shuffled(builder, *pair, order) for pair in pairs for order in (low, high)]
        for k, row in enumerate(whole):
            at = builder.add(place, ir.Constant(place.type, k * WIDTH))
            builder.store(row, _place(context, builder, signature.args[3], target, at), align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, into, types.intp), make


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
    return _shuffled(builder, one, one, [0] * WIDTH)


def _by_halves(builder: Any, left: list[Any], index: Any) -> Any:
    """One of some values, byte for byte, by the highest bits of an index: each chooses half of what is left."""
    while (half := len(left) // 2) > 0:
        upper = builder.icmp_signed("<", index, _ZEROS)
        left = [builder.select(upper, left[k + half], left[k]) for k in range(half)]
        index = builder.add(index, index)
    return left[0]


def _picked_by_halves(builder: Any, table: Any, index: Any) -> Any:
    entries = [_splat(builder, builder.extract_element(table, ir.Constant(_WORD, k))) for k in range(HALF)]
    return _by_halves(builder, entries, builder.shl(index, ir.Constant(_VECTOR, [4] * WIDTH)))


def _picked_at_once(builder: Any, table: Any, index: Any) -> Any:
    """The same by the one instruction of x86 that reads 32 bytes from a table of 16."""
    kind = ir.FunctionType(_VECTOR, (_VECTOR, _VECTOR))
    low = builder.and_(index, ir.Constant(_VECTOR, [HALF - 1] * WIDTH))
    return builder.call(_declared(builder, kind, "llvm.x86.avx2.pshuf.b"), [table, low])


def _by_instruction(feature: str, kind: Any, at_once: Callable[..., Any], without_it: Callable[..., Any]) -> Any:
    """An operation on two values, as one instruction where the processor has it; and as it is compiled elsewhere."""

    def made(chosen: Callable[[Any], Callable[..., Any]]) -> Any:
        @intrinsic
        def function(typing: Any, one: Any, other: Any) -> Any:
            return kind(kind, kind), lambda context, builder, signature, given: chosen(context)(builder, *given)

        return function

    return made(lambda context: at_once if _has(context, feature) else without_it), made(lambda context: without_it)


# Byte `index` modulo 16 of a table of 16 bytes, which has to stand in both halves of a value.
pick, pick_anywhere = _by_instruction("avx2", BYTES, _picked_at_once, _picked_by_halves)


@intrinsic
def byte_of_16(typing: Any, array: Any, offset: Any, indices: Any) -> Any:
    """Of 16 values that stand in an array one after another, byte for byte the one that bits 3 to 6 of an index say."""

    def make(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        source, offset, index = given
        places = [builder.add(offset, ir.Constant(offset.type, k * WIDTH)) for k in range(HALF)]
        rows = [builder.load(_place(context, builder, signature.args[0], source, at), align=1) for at in places]
        return _by_halves(builder, rows, builder.add(index, index))

    return BYTES(array, types.intp, BYTES), make


@intrinsic
def choose(typing: Any, by: Any, one: Any, other: Any) -> Any:
    """Bytes of `one` where the highest bit of `by` is set, else of `other`."""

    def make(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.select(builder.icmp_signed("<", given[0], _ZEROS), given[1], given[2])

    return BYTES(BYTES, BYTES, BYTES), make


def _deposited_one_by_one(builder: Any, bits: Any, mask: Any) -> Any:
    found = ir.Constant(_LONG, 0)
    for _ in range(_LONG.width):
        lowest = builder.and_(mask, builder.neg(mask))
        is_set = builder.trunc(bits, ir.IntType(1))
        found = builder.or_(found, builder.select(is_set, lowest, ir.Constant(_LONG, 0)))
        bits = builder.lshr(bits, ir.Constant(_LONG, 1))
        mask = builder.xor(mask, lowest)
    return found


def _deposited_at_once(builder: Any, bits: Any, mask: Any) -> Any:
    kind = ir.FunctionType(_LONG, (_LONG, _LONG))
    return builder.call(_declared(builder, kind, "llvm.x86.bmi.pdep.64"), [bits, mask])


# u64: the lowest bits, one after another, in the places of the bits of a mask.
deposit, deposit_anywhere = _by_instruction("bmi2", types.uint64, _deposited_at_once, _deposited_one_by_one)


plus, both, either = map(_binary, (ir.IRBuilder.add, ir.IRBuilder.and_, ir.IRBuilder.or_))
without = _binary(lambda b, value, mask: b.and_(value, b.not_(mask)))
splat = _unary(_splat, types.uint8, BYTES)
equal = _binary(lambda b, left, right: b.sext(b.icmp_unsigned("==", left, right), _VECTOR))
below = _binary(lambda b, left, right: b.sext(b.icmp_unsigned("<", left, right), _VECTOR))
below_signed = _binary(lambda b, left, right: b.sext(b.icmp_signed("<", left, right), _VECTOR))
larger = _binary(lambda b, left, right: b.select(b.icmp_unsigned(">", left, right), left, right))
larger_signed = _binary(lambda b, left, right: b.select(b.icmp_signed(">", left, right), left, right))
top_bits = _unary(  # u32, bit k is the highest of byte k
    lambda b, value: b.bitcast(b.icmp_signed("<", value, _ZEROS), _WORD), BYTES, types.uint32
)
ones = _unary(lambda b, bits: b.ctpop(bits), types.uint64, types.uint64)
zeros_below = _unary(lambda b, bits: b.cttz(bits, ir.Constant(ir.IntType(1), 0)), types.uint32, types.uint32)
