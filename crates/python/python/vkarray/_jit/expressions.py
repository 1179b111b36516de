"""The translation of expressions."""

import ast
import math
import operator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from . import arithmetic, types
from .library import call
from .names import JitSyntaxError, JitTypeError, Name
from .types import BOOL, I32, Scalar, Tuple
from .values import ArrayValue, Known, Value, integer, is_known, packed_strides, plus, times

_MISSING = object()


class Expressions(ast.NodeVisitor):
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
        return Value(types.literal(number, kind), kind, const=number, natural=kind.kind != "f" and number >= 0)

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
            found = self.source.names.get(node.id, _MISSING)
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
        if not isinstance(value, Value) or not is_known(value):
            self.unsupported(node, "this has to be a constant: a literal, a global number, or computed of such")
        return value.known

    # Expressions.

    def expression(self, node):
        """Translates an expression to a `Value` or an `ArrayValue`."""
        found = self.static(node)
        if found is not _MISSING:
            return self.object(found, node)
        return self.visit(node)

    def generic_visit(self, node):
        what = "statement" if isinstance(node, ast.stmt) else "expression"
        self.unsupported(node, f"kernels have no {what} of the kind {type(node).__name__}")

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
        except (OverflowError, TypeError) as error:
            self.mistyped(node, str(error))
        if value is not None:
            return value
        if hasattr(found, "__array__") and hasattr(found, "ndim"):
            return self.program.captured(self, found, node)
        self.unsupported(node, f"{found!r} is no value in a kernel; numbers, tuples of numbers and arrays are")

    def visit_Name(self, node):
        known = self.arrays.get(node.id) or self.fixed.get(node.id)
        if known is not None:
            return known
        kind = self.state.kinds.get((self.key, node.id))
        if kind is None:
            self.unsupported(node, f"{node.id!r} is used before it has a value")
        natural = ("negative", self.key, node.id) not in self.state.facts
        kind = kind if self.is_kernel and node.id in self.source.parameters else types.concrete(kind)
        return Value(f"v_{node.id}", kind, const=self.once.get(node.id), natural=natural)

    def visit_Tuple(self, node):
        values = [self.number_or_tuple(value, part) for value, part in zip(self.operands(node.elts), node.elts)]
        return self.tuple(tuple(values))

    visit_List = visit_Tuple

    def number_or_tuple(self, value, node):
        return value if isinstance(value, Value) and isinstance(value.kind, Tuple) else self.number(value, node)

    def visit_Attribute(self, node):
        value = self.expression(node.value)
        if isinstance(value, ArrayValue):
            if node.attr == "shape":
                return self.tuple(value.shape)
            if node.attr == "ndim":
                return self.constant(len(value.shape))
            if node.attr == "size":
                return reduce(times, value.shape, integer(1))
            self.unsupported(node, f"arrays in kernels have shape, ndim and size, not {node.attr!r}")
        self.unsupported(node, f"there is no {node.attr!r} here")

    def visit_BinOp(self, node):
        a, b = self.operands([node.left, node.right])
        return arithmetic.binary(self, type(node.op), a, b, node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            value = self.truth(node.operand)
            return self.folded(operator.not_, [value], node) or Value(f"(!{value.text})", BOOL)
        return arithmetic.unary(self, type(node.op), self.number(self.expression(node.operand), node), node)

    def visit_Compare(self, node):
        """`a < b < c` is `a < b and b < c` with one computation of `b`."""
        values = self.operands([node.left, node.comparators[0]])

        def part(i):
            if i:
                values.append(self.expression(node.comparators[i]))
            if i + 1 < len(node.ops):
                values[-1] = self.hoist(values[-1])
            return arithmetic.compared(self, type(node.ops[i]), *values[i : i + 2], node)

        return self.logical(True, [partial(part, i) for i in range(len(node.ops))], node)

    def visit_BoolOp(self, node):
        parts = [lambda part=part: self.number(self.expression(part), part) for part in node.values]
        return self.logical(isinstance(node.op, ast.And), parts, node)

    def logical(self, is_and, parts, node):
        """`first and rest`, or `first or rest`, of parts that are translated where Python computes them."""
        first, rest = self.number(parts[0](), node), parts[1:]
        if not rest:
            return first
        known = self.as_truth(first, node).const
        if known is not None:
            return first if known != is_and else self.logical(is_and, rest, node)
        first = self.hoist(first) if first.kind != BOOL else first
        condition = self.as_truth(first, node)
        with self.nested() as lines:
            other = self.logical(is_and, rest, node)
        if not lines and first.kind == BOOL and other.kind == BOOL:
            return Value(f"({condition.text} {'&&' if is_and else '||'} {other.text})", BOOL)
        branches = (other, lines, first, []) if is_and else (first, [], other, lines)
        return self.select(condition, *branches, node)

    def visit_IfExp(self, node):
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

    def visit_Subscript(self, node):
        value = self.expression(node.value)
        if isinstance(value, ArrayValue):
            return self.load(self.index(value, node.slice, node))
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
        return self.part(array, first, [*shape, *array.shape[len(places) :]], [*strides, *array.strides[len(places) :]])

    def part(self, array, first, shape, strides):
        """An element as (array, WGSL), or a view."""
        if not shape:
            return array, first.text
        shape, strides = (tuple(map(self.kept, each)) for each in (shape, strides))
        return replace(array, shape=shape, strides=strides, first=self.kept(first))

    def section(self, key, ends, length, node):
        """The begin, the length and the step of a slice."""
        step = 1 if key.step is None else self.known(key.step)
        if not isinstance(step, int) or step == 0:
            self.unsupported(key, "the step of a slice is a constant integer that is not 0")
        # The ends that are left out, and the limits of both.
        outer = (integer(0), length) if step > 0 else (plus(length, integer(-1)), integer(-1))
        low, high = outer[:: 1 if step > 0 else -1]
        places = [each and self.wrapped(each, length, node).text for each in ends]
        begin, end = (
            Value(f"clamp({place}, {low.text}, {high.text})", I32, natural=low.const == 0) if place else default
            for place, default in zip(places, outer)
        )
        if begin.const == 0 and step == 1:
            return begin, end, integer(step)
        reach = f"{end.text} - {begin.text}" if step > 0 else f"{begin.text} - {end.text}"
        count = Value(f"((max({reach}, 0i) + {abs(step) - 1}i) / {abs(step)}i)", I32, natural=True)
        return begin, count, integer(step)

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
            return plus(length, integer(value.const))
        text = self.convert(value, I32, node)
        if value.natural or value.kind.kind == "u" or value.const is not None:
            return Value(text, I32, const=value.const, natural=True)
        helper = self.program.helper("from_end", I32)
        return Value(f"{helper}({text}, {length.text})", I32, natural=True)

    def load(self, found):
        """The element at a place, or the view that `index` has found."""
        if isinstance(found, ArrayValue):
            return found
        (array, place), kind = found, found[0].element
        text = f"{array.name}[{place}]"
        if ("atomic", array.name) in self.state.facts:
            text = f"atomicLoad(&{text})"
        return Value(types.stored(text, self.program.in_memory(array.name, kind), kind), kind)

    def store(self, found, text, node):
        array, place = found
        if array.space == "read":
            self.mistyped(node, "captured arrays and those of const.array_like are not written")
        self.state.note("written", array.name)
        text = types.stored(text, array.element, self.program.in_memory(array.name, array.element))
        if ("atomic", array.name) in self.state.facts:
            self.emit(f"atomicStore(&{array.name}[{place}], {text});")
        else:
            self.emit(f"{array.name}[{place}] = {text};")

    # Calls.

    def visit_Call(self, node):
        found = self.static(node.func)
        if found is _MISSING:
            self.unsupported(node, "kernels call functions that are known before the launch, and no methods")
        return call(self, found, node)

    def arguments(self, node, names):
        """The expressions of a call by the names of its parameters."""
        given = dict(zip(names, node.args)) | {keyword.arg: keyword.value for keyword in node.keywords}
        if len(node.args) > len(names) or set(given) != set(names):
            self.mistyped(node, f"this takes ({', '.join(names)})")
        return [given[name] for name in names]

    def dtype(self, node):
        """The type of elements that an expression names."""
        found = self.static(node)
        if found is _MISSING:
            self.unsupported(node, "a type has to be known before the launch, such as vk.float32")
        try:
            return types.F32 if found is float else I32 if found is int else types.of_dtype(found)
        except TypeError as error:
            self.mistyped(node, str(error))

    def array(self, name, element, space, shape):
        """A new array of the invocation or of the workgroup."""
        lengths, length = tuple(map(integer, shape)), math.prod(shape)
        array = ArrayValue(name, element, space, lengths, packed_strides(lengths), integer(0), length)
        if space == "function":
            self.variables[name] = f"array<{self.program.stored(name, element)}, {length}>"
        else:
            self.program.shared[name] = array
        return array
