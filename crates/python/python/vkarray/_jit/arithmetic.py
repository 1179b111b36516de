"""Operators with Python's meaning: `//` and `%` round down, `/` gives floats, `**` has whole exponents of any sign."""

import ast
import operator

from . import types
from .types import BOOL, F16, F32, FLOAT, I32, INT
from .values import Value

# The operators: the function that computes one of known numbers, and its sign in WGSL.
COMPARED = {
    ast.Eq: (operator.eq, "=="), ast.NotEq: (operator.ne, "!="), ast.Lt: (operator.lt, "<"),
    ast.LtE: (operator.le, "<="), ast.Gt: (operator.gt, ">"), ast.GtE: (operator.ge, ">="),
}
COMPUTED = {
    ast.Add: (operator.add, "+"), ast.Sub: (operator.sub, "-"), ast.Mult: (operator.mul, "*"),
    ast.Div: (operator.truediv, "/"), ast.FloorDiv: (operator.floordiv, "/"), ast.Mod: (operator.mod, "%"),
    ast.Pow: (operator.pow, None), ast.LShift: (operator.lshift, "<<"), ast.RShift: (operator.rshift, ">>"),
    ast.BitAnd: (operator.and_, "&"), ast.BitOr: (operator.or_, "|"), ast.BitXor: (operator.xor, "^"),
}
_BITS, _SHIFTS = (ast.BitAnd, ast.BitOr, ast.BitXor), (ast.LShift, ast.RShift)
_NOT_NATURAL = (ast.Sub, ast.Div, ast.LShift)  # Of natural numbers these make others too.

# Functions that the library of WGSL does not have, with T for the type and ONE for its one.
HELPERS = {
    "votes": """var<workgroup> said: atomic<T>;
fn NAME(condition: bool) -> T {
    workgroupBarrier();
    if all(local_invocation_id == vec3<u32>()) { atomicStore(&said, 0); }
    workgroupBarrier();
    if condition { atomicAdd(&said, ONE); }
    workgroupBarrier();
    storageBarrier();
    return atomicLoad(&said);
}""",
    "from_end": "fn NAME(i: T, length: T) -> T { return select(i, i + length, i < 0); }",
    "whole_power": """fn NAME(base: T, exponent: i32) -> T {
    var result = ONE;
    var factor = base;
    var left = abs(exponent);
    loop {
        if left == 0 { break; }
        if (left & 1) == 1 { result *= factor; }
        factor *= factor;
        left >>= 1u;
    }
    if exponent < 0 { return ONE / result; }
    return result;
}""",
}


def of_library(kind, name, *texts):
    """A call of the library's function for a type: exact where WGSL leaves the error to the driver."""
    of = F32 if kind == F16 else kind
    text = ", ".join(types.converted(text, kind, of) for text in texts)
    return types.converted(f"{of.wgsl}_{name}({text})", of, kind)


def binary(f, op, a, b, node):
    """Translates `a op b`."""
    kind = f.common([a, b], node)
    if op not in COMPUTED:
        f.unsupported(node, f"kernels have no operator {op.__name__}")
    compute, sign = COMPUTED[op]
    if known := f.folded(compute, [a, b], node):
        return known if kind.weak or kind == BOOL or known.kind.kind != kind.kind else _of_kind(f, known, kind, node)
    if op is ast.Pow:
        return _power(f, a, b, kind, node)
    if kind.kind == "f" and op in _BITS + _SHIFTS:
        f.mistyped(node, f"floats have no {'shifts' if op in _SHIFTS else 'operators of bits'}")
    if kind == BOOL and op in _BITS:
        return Value(f"({a.text} {'!=' if op is ast.BitXor else sign} {b.text})", BOOL)
    kind = F32 if op is ast.Div and kind.kind != "f" else types.computed(kind)
    x, y = f.convert(a, kind, node), f.convert(b, types.U32 if op in _SHIFTS else kind, node)
    natural = a.natural and b.natural and op not in _NOT_NATURAL
    if op in (ast.FloorDiv, ast.Mod) and kind.kind != "u" and not natural:
        return Value(of_library(kind, "floor_divide" if op is ast.FloorDiv else "remainder", x, y), kind)
    return Value(f"({x} {sign} {y})", kind, natural=natural)


def compared(f, op, a, b, node):
    """Translates `a op b` for comparisons."""
    if op not in COMPARED:
        f.unsupported(node, "kernels compare numbers by ==, !=, <, <=, > and >= only")
    (compute, sign), kind = COMPARED[op], types.computed(f.common([a, b], node))
    if known := f.folded(compute, [a, b], node):
        return known
    return Value(f"({f.convert(a, kind, node)} {sign} {f.convert(b, kind, node)})", BOOL)


def _of_kind(f, value, kind, node):
    """A known number in a type that is not weak."""
    return Value(f.convert(value, kind, node), kind, const=value.const, natural=value.natural)


def _power(f, a, b, kind, node):
    """Whole exponents multiply; others go by logarithms."""
    base = types.computed(a.kind)
    base = types.concrete(types.join(base, kind) if b.const is None or base.kind == "f" else base)
    if b.kind.kind != "f":
        base = F32 if b.const is not None and b.const < 0 and base.kind != "f" else base
        name = f.program.helper("whole_power", base)
        return Value(f"{name}({f.convert(a, base, node)}, {f.convert(b, I32, node)})", base, natural=a.natural)
    kind = types.concrete(types.join(a.kind, b.kind) if a.kind.kind == "f" else types.join(b.kind, FLOAT))
    return Value(of_library(kind, "pow", f.convert(a, kind, node), f.convert(b, kind, node)), kind)


def unary(f, op, value, node):
    """Translates `-x`, `+x` and `~x`."""
    kind = INT if value.kind == BOOL else value.kind
    known = None if op is ast.Invert else f.folded(operator.neg if op is ast.USub else operator.pos, [value], node)
    if known is not None:
        return known if kind.weak else _of_kind(f, known, kind, node)
    kind = types.concrete(kind)
    if op is ast.Invert:
        if kind.kind == "f":
            f.mistyped(node, "floats have no operators of bits")
        return Value(f"(~{f.convert(value, kind, node)})", kind)
    text = f.convert(value, kind, node)
    if op is ast.UAdd:
        return Value(text, kind, natural=value.natural)
    return Value(f"({types.literal(0, kind)} - {text})" if kind.kind == "u" else f"(-{text})", kind)
