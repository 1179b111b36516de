"""The functions that kernels call: of `names`, of `math` and of Python, types as conversions, device functions."""

import ast
import builtins
import math

import numpy as np

from . import names, types
from .arithmetic import FOLDED, binary, of_library
from .source import Source
from .types import BOOL, F16, F32, F64, I32, I64, U32, Tuple
from .values import ArrayValue, Value, is_known

# Functions of one float, and of two. Those that WGSL has for `f32` are the device's; others are the library's.
_FLOATS = "exp log log2 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh log10 log1p expm1".split()
_FLOATS += ["exp2", "sqrt", "fabs", "degrees", "radians"]
_PAIRS = ["atan2", "hypot", "fmod", "pow", "copysign"]
_NOT_IN_WGSL = {"log10", "log1p", "expm1", *_PAIRS} - {"atan2"}
_IN_PLACE = {
    "sqrt": "sqrt({x})", "fabs": "abs({x})", "exp2": "exp2({x})", "degrees": "({x} * {t}(57.29577951308232))",
    "radians": "({x} * {t}(0.017453292519943295))",
}
_NUMPY_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh"}
_NUMPY_NAMES["arctanh"] = "atanh"
_WHOLE = ("floor", "ceil", "trunc")
_ATOMICS = {"add": "Add", "sub": "Sub", "max": "Max", "min": "Min", "and_": "And", "or_": "Or", "xor": "Xor"}
_ATOMICS["exch"] = "Exchange"
# Operations by compare and exchange of the old value. An extreme of a number and NaN is what is in memory; with `nan`
# it is the number. Compilers take a comparison and a selection alone for an operation that prefers the number.
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
    """The type of the integers that floats of a type become."""
    return I64 if kind == F64 else I32


def _int(f, node):
    [value] = _values(f, node, 1, "int")
    if value.const is not None:
        return f.constant(int(value.const))
    kind = types.concrete(value.kind) if value.kind.kind in "iu" else _whole(value.kind)
    return Value(f.convert(value, kind, node), kind, natural=value.natural)


def _float(f, node):
    [value] = _values(f, node, 1, "float")
    if value.const is not None:
        return f.constant(float(value.const))
    return Value(f.convert(value, types.floating(value.kind), node), types.floating(value.kind))


def _of_floats(name, count):
    def handler(f, node):
        values = _values(f, node, count, name)
        if all(value.const is not None for value in values) and hasattr(math, name):
            try:
                return f.constant(float(getattr(math, name)(*(value.const for value in values))))
            except (ArithmeticError, ValueError) as error:
                f.unsupported(node, f"{name}: {error}")
        kind = types.floating(f.common(values, node))
        texts = [f.convert(value, kind, node) for value in values]
        if name in _IN_PLACE and not (name == "exp2" and kind == F64):
            return Value(_IN_PLACE[name].format(x=texts[0], t=kind.wgsl), kind)
        if name in _NOT_IN_WGSL or kind == F64:
            return Value(of_library(kind, *(("pow", "2.0lf") if name == "exp2" else (name,)), *texts), kind)
        return Value(f"{name}({', '.join(texts)})", kind)

    return handler


def _to_whole(name, keeps_float):
    def handler(f, node):
        [value] = _values(f, node, 1, name)
        if value.kind.kind != "f":
            return value
        if value.const is not None:
            whole = getattr(math, name)(value.const)
            return f.constant(float(whole) if keeps_float else whole)
        kind = types.concrete(value.kind)
        text = f"{name}({value.text})"
        return Value(text, kind) if keeps_float else Value(types.converted(text, kind, _whole(kind)), _whole(kind))

    return handler


def _round(f, node):
    [value] = _values(f, node, 1, "round")
    if value.const is not None:
        return f.constant(round(value.const))
    if value.kind.kind != "f":
        return value
    kind = types.concrete(value.kind)
    return Value(types.converted(f"round({value.text})", kind, _whole(kind)), _whole(kind))


def _classified(name):
    def handler(f, node):
        [value] = _values(f, node, 1, name)
        if value.kind.kind != "f":
            return f.constant(name == "isfinite")
        if value.const is not None:
            return f.constant(getattr(math, name)(value.const))
        kind = F64 if value.kind == F64 else F32
        text = f.convert(value, kind, node)
        either = f"{kind.wgsl}_isnan({text}) || {kind.wgsl}_isinf({text})"
        return Value(f"(!({either}))" if name == "isfinite" else f"{kind.wgsl}_{name}({text})", BOOL)

    return handler


def _fma(f, node):
    values = _values(f, node, 3, "fma")
    kind = types.floating(f.common(values, node))
    return Value(f"fma({', '.join(f.convert(value, kind, node) for value in values)})", kind)


def _abs(f, node):
    [value] = _values(f, node, 1, "abs")
    if value.const is not None:
        return f.constant(abs(value.const))
    kind = types.concrete(value.kind) if value.kind != BOOL else I32
    return Value(f"abs({f.convert(value, kind, node)})", kind, natural=kind.kind in "iu")


def _extreme(name):
    def handler(f, node):
        values = _values(f, node, range(1, 100), name)
        if len(values) < 2:
            f.mistyped(node, f"{name} takes two numbers or more")
        kind = f.common(values, node)
        if all(value.const is not None for value in values):
            return f.constant(getattr(builtins, name)(value.const for value in values))
        kind = types.concrete(kind) if kind != BOOL else I32
        text = f.convert(values[0], kind, node)
        for value in values[1:]:
            text = f"{name}({text}, {f.convert(value, kind, node)})"
        return Value(text, kind, natural=all(value.natural for value in values))

    return handler


def _pow(f, node):
    return binary(f, ast.Pow, *_values(f, node, 2, "pow"), node)


def _operator(op):
    return lambda f, node: binary(f, op, *_values(f, node, 2, op.__name__.lower()), node)


def _len(f, node):
    [part] = f.arguments(node, ["x"])
    value = f.expression(part)
    if isinstance(value, ArrayValue):
        return value.shape[0]
    if isinstance(value.kind, Tuple):
        return f.constant(len(value.kind.items))
    f.mistyped(node, "a number has no length")


def _grid(name):
    def handler(f, node):
        [part] = f.arguments(node, ["ndim"])
        count = f.known(part)
        if count not in (1, 2, 3):
            f.mistyped(node, f"{name} takes 1, 2 or 3")
        places = [f.program.axis(name, axis) for axis in range(count)]
        return places[0] if count == 1 else f.tuple(tuple(places))

    return handler


def _array(space):
    def handler(f, node):
        name = f.program.array_name(f, node)
        array = f.array(node, name, space)
        if space == "function":
            f.variables[name] = f"array<{f.program.stored(name, array.element)}, {array.length}>"
        else:
            f.program.shared[name] = array
        return array

    return handler


def _array_like(f, node):
    [part] = f.arguments(node, ["x"])
    return f.program.captured(f, f.static(part), part)


def _barrier(f, node):
    f.arguments(node, [])
    f.emit("workgroupBarrier();")
    f.emit("storageBarrier();")
    return Value("", None)


def _vote(name):
    def handler(f, node):
        [part] = f.arguments(node, ["predicate"])
        truth = f.truth(part)
        return f.hoist(Value(f"{f.program.vote(name)}({truth.text})", I32, natural=True))

    return handler


def _atomic(name):
    def handler(f, node):
        wanted = {"cas": ["ary", "idx", "old", "val"], "compare_and_swap": ["ary", "old", "val"]}
        ary, *rest = f.arguments(node, wanted.get(name, ["ary", "idx", "val"]))
        array = f.expression(ary)
        if not isinstance(array, ArrayValue) or array.space not in ("storage", "workgroup"):
            f.mistyped(node, "an atomic operation is on an element of an argument or of a shared array")
        first = ast.copy_location(ast.Tuple([ast.copy_location(ast.Constant(0), node)] * len(array.shape)), node)
        found = f.index(array, first if name == "compare_and_swap" else rest.pop(0), node)
        if not isinstance(found, tuple):
            f.mistyped(node, f"an index of {len(array.shape)} axes is needed")
        values = [f.hoist(Value(f.convert(f.expression(part), array.element, part), array.element)) for part in rest]
        f.state.note("atomic", array.name)
        f.state.note("written", array.name)
        return _atomic_operation(f, name, found, [value.text for value in values], node)

    return handler


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
    bits = f.program.bits(array.name, kind)
    if name in ("cas", "compare_and_swap"):
        return _compare_and_swap(f, at, kind, bits, values)
    if bits or name not in _ATOMICS:
        return _by_exchange(f, name, at, kind, bits, values[0])
    if name == "sub" and kind == F32:
        return f.hoist(Value(f"atomicAdd({at}, -({values[0]}))", kind))
    return f.hoist(Value(f"atomic{_ATOMICS[name]}({at}, {values[0]})", kind))


def _compare_and_swap(f, at, kind, bits, values):
    """Repeats while the exchange fails though the element is the expected one, as it may."""
    expected, new = (f"bitcast<{bits.wgsl}>({each})" if bits else each for each in values)
    old = f.variable(bits or kind)
    lines = [f"let r = atomicCompareExchangeWeak({at}, {expected}, {new});", f"{old} = r.old_value;"]
    f.block("loop {", [*lines, f"if r.exchanged || {old} != {expected} {{ break; }}"])
    return f.hoist(Value(f"bitcast<{kind.wgsl}>({old})" if bits else old, kind))


def _by_exchange(f, name, at, kind, bits, by):
    """An operation by a loop that repeats until no other invocation came between."""
    raw = f.variable(bits or kind)
    old, zero, one = (f"bitcast<{kind.wgsl}>({raw})" if bits else raw), types.literal(0, kind), types.literal(1, kind)
    is_nan = f"{kind.wgsl}_isnan({old})" if kind.kind == "f" else "false"
    new = _BY_EXCHANGE[name].format(old=old, by=by, zero=zero, one=one, is_nan=is_nan)
    f.emit(f"{raw} = atomicLoad({at});")
    new = f"bitcast<{bits.wgsl}>({new})" if bits else new
    lines = [f"let r = atomicCompareExchangeWeak({at}, {raw}, {new});", "if r.exchanged { break; }"]
    f.block("loop {", [*lines, f"{raw} = r.old_value;"])
    return f.hoist(Value(old, kind))


def _device_function(f, source, node):
    """A call of a jitted function, which is translated for these types."""
    if node.keywords or any(isinstance(part, ast.Starred) for part in node.args):
        f.unsupported(node, "device functions are called with arguments in their order")
    values = f.operands(node.args, takes_objects=True)
    name, kind = f.program.function(f, source, values, node)
    texts = []
    for own, value in zip(source.parameters, values):
        if is_known(value) and own not in source.assigned:
            continue
        if isinstance(value, ArrayValue):
            if value.space == "function":
                texts.append(value.name[2:-1] if value.name.startswith("(*") else f"&{value.name}")
            texts += [each.text for each in value.numbers if not each.is_global]
        else:
            texts.append(f.convert(value, types.concrete(value.kind), node))
    text = f"{name}({', '.join(texts)})"
    if kind is None:
        f.emit(f"{text};")
        return Value("", None)
    return f.hoist(Value(text, kind))


_HANDLERS = {
    int: _int, float: _float, bool: lambda f, node: _cast(f, node, BOOL), abs: _abs, min: _extreme("min"),
    max: _extreme("max"), round: _round, len: _len, pow: _pow, np.abs: _abs, np.minimum: _extreme("min"),
    np.maximum: _extreme("max"), names.grid: _grid("grid"), names.gridsize: _grid("gridsize"),
    names.shared.array: _array("workgroup"), names.local.array: _array("function"),
    names.const.array_like: _array_like, names.syncthreads: _barrier,
    names.syncthreads_count: _vote("count"), names.syncthreads_and: _vote("and"), names.syncthreads_or: _vote("or"),
}
_HANDLERS |= {getattr(of, name): _classified(name) for of in (math, np) for name in ("isnan", "isinf", "isfinite")}
_HANDLERS |= {getattr(of, name): _of_floats(name, 1) for of in (math, np) for name in _FLOATS if hasattr(of, name)}
_HANDLERS |= {getattr(math, name): _of_floats(name, 2) for name in _PAIRS}
_HANDLERS |= {getattr(math, name): _to_whole(name, False) for name in _WHOLE}
_HANDLERS |= {getattr(np, name): _to_whole(name, True) for name in _WHOLE}
_HANDLERS |= {getattr(np, name): _of_floats(own, 1) for name, own in _NUMPY_NAMES.items()}
_HANDLERS |= {getattr(names.atomic, name): _atomic(name) for name in names.ATOMIC}
_HANDLERS |= {function: _operator(op) for op, function in FOLDED.items()}
if hasattr(math, "fma"):
    _HANDLERS[math.fma] = _fma
