"""The translation of expressions."""

import ast
import builtins
import operator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from . import arithmetic, types
from .library import call
from .names import JitSyntaxError, JitTypeError, Name
from .types import BOOL, I32, Scalar, Tuple
from .values import ArrayValue, Known, Value, integer, packed_strides, plus, times

_MISSING = object()
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Expressions:
    """Translates the expressions of one function. Statements that an expression needs go to `lines` before it."""

    def __init__(self, program, source, key, is_kernel):
        self.program, self.source, self.key, self.is_kernel = program, source, key, is_kernel
        self.state = program.state
        self.lines, self.variables, self.arrays = [], {}, {}
        self.held = set()  # Variables of the numbers of views, which do not change while the view has a name.
        self.once = {}  # Numbers of names that are assigned once.
        self.fixed = {}  # Parameters whose arguments are known: `Known` objects and constants.
        self.count = 0

    # Errors, and lines of WGSL.

    def unsupported(self, node, text):
        path, line, column, code = self.source.place(node)
        raise JitSyntaxError(text, (path, line, column, code))

    def mistyped(self, node, text):
        path, line, column, _ = self.source.place(node)
        raise JitTypeError(f"{path}:{line}:{column}: {text}")

    def emit(self, line):
        self.lines.append(line)

    @contextmanager
    def nested(self):
        outer, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = outer

    def block(self, *parts):
        """Emits `if c {`, its lines, `} else {`, its lines, and so on, with a brace at the end."""
        for part in parts:
            if isinstance(part, str):
                self.emit(part)
            else:
                self.lines.extend(f"    {line}" for line in part)
        self.emit("}")

    def fresh(self, prefix="t"):
        self.count += 1
        return f"{prefix}{self.count}"

    def variable(self, kind):
        """A new variable of the function."""
        name = self.fresh()
        self.variables[name] = self.wgsl(kind)
        return name

    def hoist(self, value):
        """Computes a value here, before what follows changes what it was made of."""
        if not isinstance(value, Value) or value.const is not None:
            return value
        kind, name = types.concrete(value.kind), self.fresh()
        self.emit(f"let {name} = {value.text};")
        return Value(name, kind, natural=value.natural)

    # Types and conversions.

    def wgsl(self, kind):
        if isinstance(kind, Tuple):
            members = ", ".join(f"m{i}: {self.wgsl(item)}" for i, item in enumerate(kind.items))
            self.program.structs[kind.wgsl] = f"struct {kind.wgsl} {{ {members} }}"
        return types.concrete(kind).wgsl

    def convert(self, value, target, node):
        """The WGSL of a value as another type, converted as NumPy's `astype` does."""
        if isinstance(target, Tuple) and isinstance(getattr(value, "kind", None), Tuple):
            parts = [self.convert(item, kind, node) for item, kind in zip(self.items(value), target.items)]
            return f"{self.wgsl(target)}({', '.join(parts)})"
        value = self.number(value, node)
        if value.const is None:
            return types.converted(value.text, value.kind, target)
        try:
            return types.literal(value.const, target)
        except (OverflowError, ValueError) as error:
            self.mistyped(node, str(error))

    def number(self, value, node):
        """The value, which has to be one number."""
        if isinstance(value, Value) and isinstance(value.kind, Scalar):
            return value
        if isinstance(value, ArrayValue):
            self.mistyped(node, f"an array of {len(value.shape)} axes stands here for a number; index all axes")
        self.mistyped(node, "a tuple or a call without a result stands here for a number")

    def common(self, values, node):
        """The common type of numbers."""
        kind = self.number(values[0], node).kind
        for value in values[1:]:
            after = types.join(kind, self.number(value, node).kind)
            if after is None:
                self.mistyped(node, f"{kind} and {value.kind} have no common type; convert one of them")
            kind = after
        return kind

    def constant(self, number):
        """A known number, or a tuple of them; None for another object. `OverflowError` for what 64 bits do not have."""
        if isinstance(number, tuple):
            items = tuple(map(self.constant, number))
            return None if None in items else self.tuple(items)
        kind = types.of_number(number)
        if kind is None:
            return None
        number = number.item() if isinstance(number, np.generic) else number
        try:
            text = types.literal(number, kind)
        except OverflowError:
            kind = types.I64 if number < 2**63 else types.U64
            text = types.literal(number, kind)
        return Value(text, kind, const=number, natural=kind.kind != "f" and number >= 0)

    def folded(self, compute, values, node):
        """What Python computes of numbers that are known; None if one of them is not."""
        if any(value.const is None for value in values):
            return None
        try:
            result = self.constant(compute(*(value.const for value in values)))
        except (ArithmeticError, TypeError, ValueError) as error:
            self.unsupported(node, str(error))
        if result is None:
            self.unsupported(node, "the result is no number that kernels have")
        return result

    def tuple(self, items):
        kind = Tuple(tuple(types.concrete(item.kind) for item in items))
        texts = (self.convert(item, each, None) for item, each in zip(items, kind.items))
        return Value(f"{self.wgsl(kind)}({', '.join(texts)})", kind, items=items)

    def items(self, value):
        """The parts of a tuple."""
        if value.items is not None:
            return value.items
        return tuple(Value(f"{value.text}.m{i}", kind) for i, kind in enumerate(value.kind.items))

    def truth(self, node):
        """A condition."""
        return self.as_truth(self.expression(node), node)

    def as_truth(self, value, node):
        value = self.number(value, node)
        const = None if value.const is None else bool(value.const)
        return Value(self.convert(value, BOOL, node), BOOL, const=const)

    # Names that are known while the function is translated.

    def static(self, node):
        """The object that a name means outside of the kernel, or `_MISSING`."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id in self.fixed:
            return getattr(self.fixed[node.id], "found", _MISSING)
        if isinstance(node, ast.Name) and node.id not in {*self.source.assigned, *self.source.parameters}:
            found = self.source.names.get(node.id, getattr(builtins, node.id, _MISSING))
            if found is _MISSING:
                self.unsupported(node, f"the name {node.id!r} is not defined")
            return found
        if isinstance(node, ast.Attribute):
            root = self.static(node.value)
            if root is not _MISSING:
                found = getattr(root, node.attr, _MISSING)
                if found is _MISSING:
                    self.unsupported(node, f"{root!r} has no {node.attr!r}")
                return found
        return _MISSING

    def known(self, node):
        """The number or the tuple of numbers of an expression, which has to be known before the launch."""
        value = self.expression(node)
        known = self.constant_of(value)
        if known is None:
            self.unsupported(node, "this has to be a constant: a literal, a global number, or computed of such")
        return known

    def constant_of(self, value):
        if isinstance(value, Value) and value.items is not None:
            parts = tuple(map(self.constant_of, value.items))
            return None if None in parts else parts
        return getattr(value, "const", None)

    # Expressions.

    def expression(self, node):
        """Translates an expression to a `Value` or an `ArrayValue`."""
        found = self.static(node)
        if found is not _MISSING:
            return self.object(found, node)
        handler = getattr(self, f"on_{type(node).__name__.lower()}", None)
        if handler is None:
            self.unsupported(node, f"kernels have no expression of the kind {type(node).__name__}")
        return handler(node)

    def operands(self, nodes, takes_objects=False):
        """Translates expressions that are computed from left to right."""
        values, marks = [], []
        for node in nodes:
            marks.append(len(self.lines))
            found = self.static(node) if takes_objects else None
            is_object = callable(found) or isinstance(found, np.dtype)
            values.append(Known(found) if is_object else self.expression(node))
        for at in reversed(range(len(values) - 1)):
            if len(self.lines) > marks[at + 1]:
                with self.nested() as spilled:
                    values[at] = self.hoist(values[at])
                self.lines[marks[at + 1] : marks[at + 1]] = spilled
        return values

    def object(self, found, node):
        if isinstance(found, Name):
            return self.program.place(self, found, node)
        try:
            value = self.constant(found)
        except OverflowError as error:
            self.mistyped(node, str(error))
        if value is not None:
            return value
        if hasattr(found, "__array__") and hasattr(found, "ndim"):
            return self.program.captured(self, found, node)
        self.unsupported(node, f"{found!r} is no value in a kernel; numbers, tuples of numbers and arrays are")

    def on_name(self, node):
        known = self.arrays.get(node.id) or self.fixed.get(node.id)
        if known is not None:
            return known
        kind = self.state.kinds.get((self.key, node.id))
        if kind is None:
            self.unsupported(node, f"{node.id!r} is used before it has a value")
        natural = ("negative", self.key, node.id) not in self.state.facts
        kind = kind if self.is_kernel and node.id in self.source.parameters else types.concrete(kind)
        return Value(f"v_{node.id}", kind, const=self.once.get(node.id), natural=natural)

    def on_tuple(self, node):
        values = [self.number_or_tuple(value, part) for value, part in zip(self.operands(node.elts), node.elts)]
        return self.tuple(tuple(values))

    on_list = on_tuple

    def number_or_tuple(self, value, node):
        return value if isinstance(value, Value) and isinstance(value.kind, Tuple) else self.number(value, node)

    def on_attribute(self, node):
        value = self.expression(node.value)
        if isinstance(value, ArrayValue):
            if node.attr == "shape":
                return self.tuple(value.shape)
            if node.attr in ("ndim", "size"):
                size = Value("1i", I32, const=1, natural=True)
                for length in value.shape:
                    size = times(size, length)
                return size if node.attr == "size" else self.constant(len(value.shape))
            self.unsupported(node, f"arrays in kernels have shape, ndim and size, not {node.attr!r}")
        self.unsupported(node, f"there is no {node.attr!r} here")

    def on_binop(self, node):
        a, b = self.operands([node.left, node.right])
        return arithmetic.binary(self, type(node.op), a, b, node)

    def on_unaryop(self, node):
        if isinstance(node.op, ast.Not):
            value = self.truth(node.operand)
            return self.folded(operator.not_, [value], node) or Value(f"(!{value.text})", BOOL)
        return arithmetic.unary(self, type(node.op), self.number(self.expression(node.operand), node), node)

    def on_compare(self, node):
        left, right = self.operands([node.left, node.comparators[0]])
        return self.chain(left, right, node.ops, node.comparators[1:], node)

    def chain(self, left, right, ops, rest, node):
        """`left < right`, and where it is true the comparisons behind it."""
        right = self.hoist(right) if rest else right
        result = self.compared(type(ops[0]), left, right, node)
        if not rest or result.const is False:
            return result

        def behind():
            return self.chain(right, self.expression(rest[0]), ops[1:], rest[1:], node)

        return behind() if result.const else self.choose(result, behind, result, True, node)

    def compared(self, op, a, b, node):
        if op not in _COMPARE:
            self.unsupported(node, "kernels compare numbers by ==, !=, <, <=, > and >= only")
        kind = self.common([a, b], node)
        kind = I32 if kind == BOOL else kind
        if known := self.folded(arithmetic.COMPARED[op], [a, b], node):
            return known
        return Value(f"({self.convert(a, kind, node)} {_COMPARE[op]} {self.convert(b, kind, node)})", BOOL)

    def on_boolop(self, node):
        is_and = isinstance(node.op, ast.And)
        result = self.number(self.expression(node.values[0]), node)
        for part in node.values[1:]:
            condition = self.as_truth(result, node)
            if condition.const is not None:
                result = result if condition.const != is_and else self.number(self.expression(part), part)
                continue
            result = self.hoist(result) if result.kind != BOOL else result
            result = self.choose(self.as_truth(result, node), lambda: self.expression(part), result, is_and, part)
        return result

    def choose(self, condition, translate, result, is_and, node):
        """`result and part`, or `result or part`, of a part that is translated where Python computes it."""
        with self.nested() as lines:
            other = self.number(translate(), node)
        if not lines and result.kind == BOOL and other.kind == BOOL:
            return Value(f"({condition.text} {'&&' if is_and else '||'} {other.text})", BOOL)
        branches = (other, lines, result, []) if is_and else (result, [], other, lines)
        return self.select(condition, *branches, node)

    def on_ifexp(self, node):
        condition = self.truth(node.test)
        if condition.const is not None:
            return self.expression(node.body if condition.const else node.orelse)
        with self.nested() as first:
            yes = self.expression(node.body)
        with self.nested() as second:
            no = self.expression(node.orelse)
        return self.select(condition, yes, first, no, second, node)

    def select(self, condition, yes, first, no, second, node):
        """One of two values, each with the statements that it needs."""
        kind = self.common([yes, no], node)
        texts = self.convert(yes, kind, node), self.convert(no, kind, node)
        if not first and not second:
            return Value(f"select({texts[1]}, {texts[0]}, {condition.text})", types.concrete(kind))
        name = self.variable(kind)
        branches = [*first, f"{name} = {texts[0]};"], [*second, f"{name} = {texts[1]};"]
        self.block(f"if {condition.text} {{", branches[0], "} else {", branches[1])
        return Value(name, types.concrete(kind))

    # Elements of arrays and of tuples.

    def on_subscript(self, node):
        value = self.expression(node.value)
        if isinstance(value, ArrayValue):
            found = self.index(value, node.slice, node)
            return self.load(found) if isinstance(found, tuple) else found
        if isinstance(value, Value) and isinstance(value.kind, Tuple):
            items, place = self.items(value), self.known(node.slice)
            if isinstance(place, int) and -len(items) <= place < len(items):
                return items[place]
            self.unsupported(node, f"a tuple of {len(items)} is indexed by a constant in its range")
        self.mistyped(node, "a number cannot be indexed")

    def index(self, array, key, node):
        """The place of an element as (array, WGSL), or a view if there are fewer indices than axes."""
        keys = key.elts if isinstance(key, ast.Tuple) else [key]
        parts = [(each.lower, each.upper) if isinstance(each, ast.Slice) else (each,) for each in keys]
        values = iter(self.operands([part for ends in parts for part in ends if part is not None]))
        places = [tuple(None if part is None else next(values) for part in ends) for ends in parts]
        if len(keys) == 1 and isinstance(getattr(places[0][0], "kind", None), Tuple):
            places = [(each,) for each in self.items(places[0][0])]
            keys = [key] * len(places)
        if len(places) > len(array.shape):
            self.mistyped(node, f"{len(places)} indices for an array of {len(array.shape)} axes")
        first, shape, strides = array.first, [], []
        for each, place, length, stride in zip(keys, places, array.shape, array.strides):
            if isinstance(each, ast.Slice):
                begin, length, step = self.section(each, place, length, node)
                shape.append(length)
                strides.append(times(stride, step))
            else:
                begin = self.wrapped(place[0], length, node)
            first = plus(first, times(begin, stride))
        if len(places) == len(array.shape) and not shape:
            return array, first.text
        shape += array.shape[len(places) :]
        strides += array.strides[len(places) :]
        shape, strides = (tuple(map(self.kept, each)) for each in (shape, strides))
        return replace(array, shape=shape, strides=strides, first=self.kept(first))

    def item(self, array, place):
        """An element along the first axis: a number, or a view."""
        first = plus(array.first, times(place, array.strides[0]))
        if len(array.shape) == 1:
            return self.load((array, first.text))
        return replace(array, shape=array.shape[1:], strides=array.strides[1:], first=self.kept(first))

    def section(self, key, ends, length, node):
        """The begin, the length and the step of a slice."""
        step = 1 if key.step is None else self.known(key.step)
        if not isinstance(step, int) or step == 0:
            self.unsupported(key, "the step of a slice is a constant integer that is not 0")
        # The ends that are left out, and the limits of both.
        outer = (integer(0), length) if step > 0 else (plus(length, integer(-1)), integer(-1))
        low, high = outer[:: 1 if step > 0 else -1]
        given = (None if each is None else self.clipped(each, length, low, high, node) for each in ends)
        begin, end = (each or default for each, default in zip(given, outer))
        if begin.const == 0 and step == 1:
            return begin, end, integer(step)
        reach = f"{end.text} - {begin.text}" if step > 0 else f"{begin.text} - {end.text}"
        count = Value(f"((max({reach}, 0i) + {abs(step) - 1}i) / {abs(step)}i)", I32, natural=True)
        return begin, count, integer(step)

    def clipped(self, value, length, low, high, node):
        """An end of a slice, within the axis."""
        place = self.wrapped(value, length, node)
        return Value(f"clamp({place.text}, {low.text}, {high.text})", I32, natural=low.const == 0)

    def kept(self, value):
        """A number of a view, which outlives the block that it is computed in."""
        if value.is_global or value.text in self.held:
            return value
        name = self.variable(I32)
        self.held.add(name)
        self.emit(f"{name} = {value.text};")
        return Value(name, I32, natural=value.natural)

    def wrapped(self, value, length, node):
        """An index, with the length added if it is negative."""
        value = self.number(value, node)
        if value.kind.kind not in "iu":
            self.mistyped(node, f"an index is an integer, not {value.kind}; convert it with int()")
        if value.const is not None and value.const < 0:
            return plus(length, Value(f"({value.const}i)", I32, const=value.const))
        text = self.convert(value, I32, node)
        if value.natural or value.kind.kind == "u" or value.const is not None:
            return Value(text, I32, const=value.const, natural=True)
        helper = self.program.helper("from_end", I32)
        return Value(f"{helper}({text}, {length.text})", I32, natural=True)

    def load(self, found):
        array, place = found
        text = f"{array.name}[{place}]"
        if ("atomic", array.name) in self.state.facts:
            text = f"atomicLoad(&{text})"
        return Value(self.program.loaded(array, text), array.element)

    def store(self, found, text, node):
        array, place = found
        if array.space == "read":
            self.mistyped(node, "captured arrays and those of const.array_like are not written")
        self.state.note("written", array.name)
        text = self.program.in_memory(array, text)
        if ("atomic", array.name) in self.state.facts:
            self.emit(f"atomicStore(&{array.name}[{place}], {text});")
        else:
            self.emit(f"{array.name}[{place}] = {text};")

    # Calls.

    def on_call(self, node):
        found = self.static(node.func)
        if found is _MISSING:
            self.unsupported(node, "kernels call functions that are known before the launch, and no methods")
        return call(self, found, node)

    def arguments(self, node, names, optional=0):
        """The expressions of a call by the names of its parameters; None for those that are left out."""
        given = dict(zip(names, node.args))
        given |= {keyword.arg: keyword.value for keyword in node.keywords}
        required = names[: len(names) - optional]
        if len(node.args) > len(names) or not set(given) <= set(names) or not set(required) <= set(given):
            self.mistyped(node, f"this takes ({', '.join(names)})")
        return [given.get(name) for name in names]

    def dtype(self, node):
        """The type of elements that an expression names."""
        found = self.static(node)
        if found is _MISSING:
            self.unsupported(node, "a type has to be known before the launch, such as vk.float32")
        try:
            return types.F32 if found is float else I32 if found is int else types.of_dtype(found)
        except TypeError as error:
            self.mistyped(node, str(error))

    def array(self, node, name, space):
        """An array of constant shape, such as `shared.array`."""
        shape, dtype = self.arguments(node, ["shape", "dtype"])
        element, shape = self.dtype(dtype), self.known(shape)
        shape = shape if isinstance(shape, tuple) else (shape,)
        if not all(type(length) is int and length >= 0 for length in shape):
            self.mistyped(node, "a shape is an integer or a tuple of them")
        if space == "workgroup" and shape == (0,):
            shape = (self.program.launched.shared_bytes // np.dtype(element.name).itemsize,)
            if shape == (0,):
                self.mistyped(node, "the launch gives its bytes: kernel[groups, workgroup, stream, bytes]")
        length = int(np.prod(shape, dtype=int))
        if length == 0:
            self.mistyped(node, "an array needs at least one element")
        lengths = tuple(map(integer, shape))
        return ArrayValue(name, element, space, lengths, packed_strides(lengths), self.constant(0), length)
