"""The functions that kernels call: of `names`, of `math` and of Python, types as conversions, device functions."""

import ast
import builtins
import math
from dataclasses import replace
from functools import partial

import numpy as np

from . import names, types
from .arithmetic import COMPUTED, binary, of_library
from .source import Source
from .types import BOOL, F16, F32, F64, I32, I64, U32, Tuple
from .values import ArrayValue, Value

# Functions of one float, and of two. Those that WGSL has for `f32` are the device's; others are the library's.
_FLOATS = "exp log log2 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh log10 log1p expm1".split()
_FLOATS += ["exp2", "sqrt", "fabs", "degrees", "radians"]
_PAIRS = ["atan2", "hypot", "fmod", "pow", "copysign"]
_NOT_IN_WGSL = {"log10", "log1p", "expm1", *_PAIRS} - {"atan2"}
_IN_PLACE = {
    "sqrt": "sqrt({x})", "fabs": "abs({x})", "exp2": "exp2({x})", "degrees": "({x} * {t}(57.29577951308232))",
    "radians": "({x} * {t}(0.017453292519943295))",
}
_NUMPY_NAMES = {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
_WHOLE = ("floor", "ceil", "trunc")
_ATOMICS = {"add": "Add", "sub": "Sub", "max": "Max", "min": "Min", "and_": "And", "or_": "Or", "xor": "Xor"}
_ATOMICS["exch"] = "Exchange"
# Operations by compare and exchange of the old value. An extreme of a number and NaN is what is in memory; with `nan`
# it is the number. Compilers take a comparison and a selection alone for an operation that prefers the number.
_VOTES = {"count": "{count}", "and": "select(0i, 1i, {count} == {size})", "or": "min({count}, 1i)"}
_BY_EXCHANGE = {
    "inc": "select({old} + {one}, {zero}, {old} >= {by})",
    "dec": "select({old} - {one}, {by}, {old} == {zero} || {old} > {by})",
    "add": "({old} + {by})", "sub": "({old} - {by})", "exch": "{by}",
    "max": "select({old}, {by}, {by} > {old} && !{is_nan})",
    "min": "select({old}, {by}, {by} < {old} && !{is_nan})", "nanmax": "select({old}, {by}, {by} > {old} || {is_nan})",
    "nanmin": "select({old}, {by}, {by} < {old} || {is_nan})",
}


def call(f, found, node):
    """Translates a call of a known object."""
    source = getattr(found, "_source", None)
    if isinstance(source, Source):
        return _device_function(f, source, node)
    handler = _HANDLERS.get(found) if type(found).__hash__ else None
    if handler is not None:
        return handler(f, node)
    is_dtype = isinstance(found, np.dtype) or isinstance(getattr(found, "dtype", None), np.dtype)
    if is_dtype or (isinstance(found, type) and issubclass(found, np.generic)):
        name = np.dtype(found).name
        return _short(f, node, name) if name in types.SHORT else _cast(f, node, f.dtype(node.func))
    if callable(found):
        name = getattr(found, "__name__", repr(found))
        f.unsupported(node, f"kernels have no function {name!r}; a function of your own needs @vk.jit")
    f.unsupported(node, f"{found!r} is not a function")


def _values(f, node, count, name):
    """The numbers of a call."""
    if node.keywords or len(node.args) not in (count if isinstance(count, range) else (count,)):
        f.mistyped(node, f"{name} takes other arguments")
    return [f.number(value, part) for value, part in zip(f.operands(node.args), node.args)]


def _cast(f, node, kind):
    [value] = _values(f, node, 1, kind.name)
    text = f.convert(value, kind, node)
    if value.const is None:
        return Value(text, kind, natural=value.natural and kind.kind in "iu")
    known = np.dtype(kind.name).type(value.const).item()
    return Value(text, kind, const=known, natural=kind.kind in "iu" and known >= 0)


def _short(f, node, name):
    """An integer of 8 or 16 bits, which is computed with in 32."""
    [value] = _values(f, node, 1, name)
    of, bits = (U32 if name[0] == "u" else I32), 8 * np.dtype(name).itemsize
    text = f"extractBits({types.converted(f.convert(value, I32, node), I32, of)}, 0u, {bits}u)"
    return Value(types.converted(text, of, I32), I32, natural=of == U32)


def _whole(kind):
    """The type of the integers that numbers of a type become."""
    return types.computed(kind) if kind.kind != "f" else I64 if kind == F64 else I32


def _of_python(function, kind_of, form, f, node):
    """`int`, `float` and `abs`, with the type of the result and the WGSL of it."""
    [value] = _values(f, node, 1, function.__name__)
    kind = kind_of(value.kind)
    natural = kind.kind in "iu" and (value.natural or function is abs)
    return f.folded(function, [value], node) or Value(form.format(f.convert(value, kind, node)), kind, natural=natural)


def _of_floats(name, count, f, node):
    values = _values(f, node, count, name)
    if known := f.folded(getattr(math, name), values, node):
        return known
    kind = types.floating(f.common(values, node))
    texts = [f.convert(value, kind, node) for value in values]
    if name in _IN_PLACE and not (name == "exp2" and kind == F64):
        return Value(_IN_PLACE[name].format(x=texts[0], t=kind.wgsl), kind)
    if name in _NOT_IN_WGSL or (kind == F64 and name != "fma"):
        return Value(of_library(kind, *(("pow", "2.0lf") if name == "exp2" else (name,)), *texts), kind)
    return Value(f"{name}({', '.join(texts)})", kind)


def _to_whole(name, whole, keeps_float, f, node):
    [value] = _values(f, node, 1, name)
    if value.kind.kind != "f":
        return value
    if known := f.folded((lambda number: float(whole(number))) if keeps_float else whole, [value], node):
        return known
    kind = types.concrete(value.kind)
    text = f"{name}({value.text})"
    return Value(text, kind) if keeps_float else Value(types.converted(text, kind, _whole(kind)), _whole(kind))


def _classified(name, f, node):
    [value] = _values(f, node, 1, name)
    if value.kind.kind != "f":
        return f.constant(name == "isfinite")
    kind = F64 if value.kind == F64 else F32
    text = f.convert(value, kind, node)
    either = f"{kind.wgsl}_isnan({text}) || {kind.wgsl}_isinf({text})"
    text = f"(!({either}))" if name == "isfinite" else f"{kind.wgsl}_{name}({text})"
    return f.folded(getattr(math, name), [value], node) or Value(text, BOOL)


def _extreme(name, f, node):
    values = _values(f, node, range(1, 100), name)
    if len(values) < 2:
        f.mistyped(node, f"{name} takes two numbers or more")
    kind = types.computed(f.common(values, node))
    if known := f.folded(getattr(builtins, name), values, node):
        return known
    text = f.convert(values[0], kind, node)
    for value in values[1:]:
        text = f"{name}({text}, {f.convert(value, kind, node)})"
    return Value(text, kind, natural=all(value.natural for value in values))


def _operator(op, f, node):
    return binary(f, op, *_values(f, node, 2, op.__name__.lower()), node)


def _len(f, node):
    [part] = f.arguments(node, ["x"])
    value = f.expression(part)
    if isinstance(value, ArrayValue):
        return value.shape[0]
    if isinstance(value.kind, Tuple):
        return f.constant(len(value.kind.items))
    f.mistyped(node, "a number has no length")


def _grid(name, f, node):
    [part] = f.arguments(node, ["ndim"])
    count = f.known(part)
    if count not in (1, 2, 3):
        f.mistyped(node, f"{name} takes 1, 2 or 3")
    places = [f.program.axis(name, axis) for axis in range(count)]
    return places[0] if count == 1 else f.tuple(tuple(places))


def _array(space, f, node):
    """An array of constant shape: `shared.array` and `local.array`."""
    shape, dtype = f.arguments(node, ["shape", "dtype"])
    element, shape = f.dtype(dtype), f.known(shape)
    shape = shape if isinstance(shape, tuple) else (shape,)
    if not all(type(length) is int and length >= 0 for length in shape):
        f.mistyped(node, "a shape is an integer or a tuple of them")
    if space == "workgroup" and shape == (0,):
        shape = (f.program.launched.shared_bytes // np.dtype(element.name).itemsize,)
        if shape == (0,):
            f.mistyped(node, "the launch gives its bytes: kernel[groups, workgroup, stream, bytes]")
    if 0 in shape:
        f.mistyped(node, "an array needs at least one element")
    return f.array(f.state.name("s", f.key, node.lineno, node.col_offset), element, space, shape)


def _array_like(f, node):
    [part] = f.arguments(node, ["x"])
    return f.program.captured(f, f.static(part), part)


def _barrier(f, node):
    f.arguments(node, [])
    f.emit("workgroupBarrier();")
    f.emit("storageBarrier();")
    return Value("", None)


def _vote(name, f, node):
    [part] = f.arguments(node, ["predicate"])
    truth, size = f.truth(part), math.prod(f.program.launched.workgroup)
    f.program.inputs.add("threadIdx")
    count = f.hoist(Value(f"{f.program.helper('votes', I32)}({truth.text})", I32, natural=True))
    return replace(count, text=_VOTES[name].format(count=count.text, size=size))


def _atomic(name, f, node):
    wanted = {"cas": ["ary", "idx", "old", "val"], "compare_and_swap": ["ary", "old", "val"]}
    ary, *rest = f.arguments(node, wanted.get(name, ["ary", "idx", "val"]))
    array = f.expression(ary)
    if not isinstance(array, ArrayValue) or array.space not in ("storage", "workgroup"):
        f.mistyped(node, "an atomic operation is on an element of an argument or of a shared array")
    found = (array, array.first.text) if name == "compare_and_swap" else f.index(array, rest.pop(0), node)
    if not isinstance(found, tuple):
        f.mistyped(node, f"an index of {len(array.shape)} axes is needed")
    values = [f.hoist(Value(f.convert(f.expression(part), array.element, part), array.element)) for part in rest]
    f.state.note("atomic", array.name)
    f.state.note("written", array.name)
    return _atomic_operation(f, name, found, [value.text for value in values], node)


def _atomic_operation(f, name, found, values, node):
    (array, place), kind = found, found[0].element
    at = f"&{array.name}[{place}]"
    if kind in (BOOL, F16):
        f.mistyped(node, f"there are no atomic operations on {kind}")
    if kind.kind == "f" and name in ("and_", "or_", "xor", "inc", "dec"):
        f.mistyped(node, f"atomic.{name} is for integers")
    is_plain = name in ("add", "sub", "exch") and array.space == "storage" and f.program.has_float_atomics
    if kind == F64 or (kind == F32 and not is_plain):
        f.state.note("bits", array.name)
    if kind.kind != "f":
        name = {"nanmax": "max", "nanmin": "min"}.get(name, name)
    memory = f.program.in_memory(array.name, kind)
    if name in ("cas", "compare_and_swap"):
        return _compare_and_swap(f, at, kind, memory, values)
    if memory != kind or name not in _ATOMICS:
        return _by_exchange(f, name, at, kind, memory, values[0])
    if name == "sub" and kind == F32:
        return f.hoist(Value(f"atomicAdd({at}, -({values[0]}))", kind))
    return f.hoist(Value(f"atomic{_ATOMICS[name]}({at}, {values[0]})", kind))


def _compare_and_swap(f, at, kind, memory, values):
    """Repeats while the exchange fails though the element is the expected one, as it may."""
    expected, new = (types.stored(each, kind, memory) for each in values)
    old = f.variable(memory)
    lines = [f"let r = atomicCompareExchangeWeak({at}, {expected}, {new});", f"{old} = r.old_value;"]
    f.block("loop {", [*lines, f"if r.exchanged || {old} != {expected} {{ break; }}"])
    return f.hoist(Value(types.stored(old, memory, kind), kind))


def _by_exchange(f, name, at, kind, memory, by):
    """An operation by a loop that repeats until no other invocation came between."""
    raw = f.variable(memory)
    old, zero, one = types.stored(raw, memory, kind), types.literal(0, kind), types.literal(1, kind)
    is_nan = f"{kind.wgsl}_isnan({old})" if kind.kind == "f" else "false"
    new = types.stored(_BY_EXCHANGE[name].format(old=old, by=by, zero=zero, one=one, is_nan=is_nan), kind, memory)
    f.emit(f"{raw} = atomicLoad({at});")
    lines = [f"let r = atomicCompareExchangeWeak({at}, {raw}, {new});", "if r.exchanged { break; }"]
    f.block("loop {", [*lines, f"{raw} = r.old_value;"])
    return f.hoist(Value(old, kind))


def _device_function(f, source, node):
    """A call of a jitted function, which is translated for these types."""
    if node.keywords or any(isinstance(part, ast.Starred) for part in node.args):
        f.unsupported(node, "device functions are called with arguments in their order")
    text, kind = f.program.function(f, source, f.operands(node.args, takes_objects=True), node)
    if kind is None:
        f.emit(f"{text};")
        return Value("", None)
    return f.hoist(Value(text, kind))


_LEAST, _MOST = partial(_extreme, "min"), partial(_extreme, "max")
_ABS = partial(_of_python, abs, types.computed, "abs({})")
_HANDLERS = {
    int: partial(_of_python, int, _whole, "{}"), float: partial(_of_python, float, types.floating, "{}"),
    bool: lambda f, node: _cast(f, node, BOOL), len: _len, abs: _ABS, np.abs: _ABS,
    min: _LEAST, max: _MOST, np.minimum: _LEAST, np.maximum: _MOST, round: partial(_to_whole, "round", round, False),
    pow: partial(_operator, ast.Pow), names.grid: partial(_grid, "grid"), names.gridsize: partial(_grid, "gridsize"),
    names.shared.array: partial(_array, "workgroup"), names.local.array: partial(_array, "function"),
    names.const.array_like: _array_like, names.syncthreads: _barrier,
}
_HANDLERS |= {getattr(names, f"syncthreads_{name}"): partial(_vote, name) for name in ("count", "and", "or")}
_HANDLERS |= {getattr(names.atomic, name): partial(_atomic, name) for name in names.ATOMIC}
_HANDLERS |= {function: partial(_operator, op) for op, (function, _) in COMPUTED.items()}
for _of in (math, np):
    _HANDLERS |= {getattr(_of, name): partial(_classified, name) for name in ("isnan", "isinf", "isfinite")}
    _HANDLERS |= {getattr(_of, name): partial(_of_floats, name, 1) for name in _FLOATS if hasattr(_of, name)}
    _HANDLERS |= {getattr(_of, name): partial(_to_whole, name, getattr(_of, name), _of is np) for name in _WHOLE}
_HANDLERS |= {getattr(math, name): partial(_of_floats, name, 2) for name in _PAIRS}
_HANDLERS |= {getattr(np, name): partial(_of_floats, own, 1) for name, own in _NUMPY_NAMES.items()}
if hasattr(math, "fma"):
    _HANDLERS[math.fma] = partial(_of_floats, "fma", 3)
