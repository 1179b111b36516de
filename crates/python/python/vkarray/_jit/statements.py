"""The translation of statements, and with it of functions."""

import ast

from . import arithmetic, types
from .expressions import Expressions
from .types import I32, Tuple
from .values import ArrayValue, Value, plus, times

_ENDS = ("return", "break;", "continue;")


class Translation(Expressions):
    """One function for given types of its arguments."""

    def __init__(self, program, source, key, is_kernel):
        super().__init__(program, source, key, is_kernel)
        arguments = source.tree.args
        if arguments.defaults or arguments.kwonlyargs or arguments.vararg or arguments.kwarg or arguments.posonlyargs:
            self.unsupported(source.tree, "functions in kernels have parameters without defaults and without stars")

    def function(self):
        """The body, with the declarations of its variables."""
        self.statements(self.source.tree.body)
        body = self.lines
        result = self.state.returns.get(self.key)
        if result is not None and not _ends(body):
            body.append(f"return {self.wgsl(result)}();")
        return [*(f"var {name}: {wgsl};" for name, wgsl in self.variables.items()), *body]

    def statements(self, nodes):
        for node in nodes:
            if _ends(self.lines):
                return
            if isinstance(node, (ast.For, ast.While)) and node.orelse:
                self.unsupported(node, "loops in kernels have no else")
            self.visit(node)

    def visit_Pass(self, node):
        pass

    def visit_Break(self, node):
        self.emit("break;")

    def visit_Continue(self, node):
        self.emit("continue;")

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call):
            self.expression(node.value)
        elif not isinstance(node.value, ast.Constant):
            self.unsupported(node, "this expression has no effect")

    # Assignments.

    def visit_Assign(self, node):
        targets = node.targets
        if len(targets) == 1 and isinstance(targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            self.unpack(targets[0], self.operands(node.value.elts))
            return
        value = self.expression(node.value)
        if len(targets) > 1 or not isinstance(targets[0], ast.Name):
            value = value if getattr(value, "items", None) else self.hoist(value)
        for target in targets:
            self.assign(target, value)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.assign(node.target, self.expression(node.value))

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            a, b = self.operands([node.target, node.value])
            self.assign_name(node.target.id, arithmetic.binary(self, type(node.op), a, b, node), node)
            return
        if not isinstance(node.target, ast.Subscript):
            self.unsupported(node, "names and elements of arrays are assigned")
        found = self.element(node.target)
        place = self.hoist(Value(found[1], I32)).text
        with self.nested() as lines:
            value = self.expression(node.value)
        before = self.load((found[0], place))
        before = self.hoist(before) if lines else before
        self.lines.extend(lines)
        result = arithmetic.binary(self, type(node.op), before, value, node)
        self.store((found[0], place), self.convert(result, found[0].element, node), node)

    def assign(self, target, value):
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value, target)
        elif isinstance(target, ast.Subscript):
            found = self.element(target)
            self.store(found, self.convert(value, found[0].element, target), target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if not (isinstance(value, Value) and isinstance(value.kind, Tuple)):
                self.mistyped(target, "only a tuple is assigned to several names")
            self.unpack(target, self.items(value))
        else:
            self.unsupported(target, "names and elements of arrays are assigned")

    def unpack(self, target, values):
        if len(values) != len(target.elts):
            self.mistyped(target, f"{len(values)} values for {len(target.elts)} names")
        for each, value in zip(target.elts, [self.hoist(value) for value in values]):
            self.assign(each, value)

    def element(self, target):
        array = self.expression(target.value)
        if not isinstance(array, ArrayValue):
            self.mistyped(target, "only elements of arrays are assigned")
        found = self.index(array, target.slice, target)
        if not isinstance(found, tuple):
            self.unsupported(target, "one element is assigned at a time; write a loop over the others")
        return found

    def assign_name(self, name, value, node):
        if isinstance(value, ArrayValue):
            if self.arrays.get(name, value) != value or (self.key, name) in self.state.kinds:
                self.unsupported(node, f"{name!r} stands for another value already; an array needs a name of its own")
            self.arrays[name] = value
            return
        if name in self.arrays:
            self.unsupported(node, f"{name!r} is an array; a number needs another name")
        if value.kind is None:
            self.mistyped(node, "the call has no result")
        before = self.state.kinds.get((self.key, name))
        kind = self.state.widen(self.state.kinds, (self.key, name), value.kind)
        if kind is None:
            self.mistyped(node, f"{name!r} is {before}, and cannot be {value.kind} too")
        if not value.natural:
            self.state.note("negative", self.key, name)
        if value.const is not None and self.source.assigned[name] == 1 and name not in self.source.parameters:
            self.once[name] = value.const
        self.variables[f"v_{name}"] = self.wgsl(kind)
        self.emit(f"v_{name} = {self.convert(value, types.concrete(kind), node)};")

    # Branches and loops.

    def visit_If(self, node):
        condition = self.truth(node.test)
        if condition.const is not None:
            self.statements(node.body if condition.const else node.orelse)
            return
        with self.nested() as body:
            self.statements(node.body)
        with self.nested() as other:
            self.statements(node.orelse)
        parts = ["} else {", other] if other else []
        self.block(f"if {condition.text} {{", body, *parts)

    def visit_While(self, node):
        with self.nested() as body:
            condition = self.truth(node.test)
            if condition.const is not True:
                self.emit(f"if !{condition.text} {{ break; }}")
            self.statements(node.body)
        self.block("loop {", body)

    def visit_For(self, node):
        call = node.iter
        if not (isinstance(call, ast.Call) and self.static(call.func) is range):
            length, element = self.sequence(call)
            self.loop(node, I32, [length], element)
            return
        if call.keywords or not 1 <= len(call.args) <= 3:
            self.mistyped(call, "range takes one to three integers")
        values = self.operands(call.args)
        kind = types.concrete(self.common(values, call))
        if kind.kind not in "iu":
            self.mistyped(call, f"range takes integers, not {kind}")
        self.loop(node, kind, values, lambda place: place)

    def sequence(self, node):
        """The length of what a loop is over, and the function of a place that gives its element."""
        function = self.static(node.func) if isinstance(node, ast.Call) and not node.keywords else None
        if function is enumerate and len(node.args) == 1:
            length, element = self.sequence(node.args[0])
            return length, lambda place: self.tuple((place, self.number_or_tuple(element(place), node)))
        if function is zip and node.args:
            lengths, elements = zip(*map(self.sequence, node.args))
            shortest = lengths[0].text
            for length in lengths[1:]:
                shortest = f"min({shortest}, {length.text})"
            return Value(shortest, I32, natural=True), lambda place: self.tuple(
                tuple(self.number_or_tuple(element(place), node) for element in elements)
            )
        value = self.expression(node)
        if isinstance(value, Value) and isinstance(value.kind, Tuple):
            value = self.listed(self.items(value), node)
        if not isinstance(value, ArrayValue):
            self.mistyped(node, "kernels loop over range(…), arrays and tuples, and over enumerate and zip of them")
        first, shape, strides = value.first, value.shape, value.strides
        return shape[0], lambda place: self.load(
            self.part(value, plus(first, times(place, strides[0])), shape[1:], strides[1:])
        )

    def listed(self, items, node):
        """Numbers in an array of the invocation."""
        if not items:
            self.unsupported(node, "a loop over nothing has no type")
        kind = types.concrete(self.common(items, node))
        array = self.array(self.fresh("l"), kind, "function", (len(items),))
        for i, item in enumerate(items):
            self.store((array, f"{i}i"), self.convert(item, kind, node), node)
        return array

    def loop(self, node, kind, values, element):
        """Counts from the first number to the last, whatever the body does to the name."""
        start = values[0] if len(values) > 1 else self.constant(0)
        stop = self.hoist(values[1] if len(values) > 1 else values[0])
        step = self.hoist(values[2]) if len(values) > 2 else self.constant(1)
        if step.const == 0:
            self.unsupported(node.iter, "range() has a step of zero")
        at, last, by = self.fresh(), self.convert(stop, kind, node.iter), self.convert(step, kind, node.iter)
        up, down = f"({at} < {last})", f"({at} > {last})"
        if step.const is None and not step.natural:
            more = f"select({down}, {up}, ({by} > {types.literal(0, kind)}))"
        else:
            more = up if step.natural else down
        with self.nested() as body:
            self.emit(f"if !{more} {{ break; }}")
            counted = Value(at, kind, natural=start.natural and step.natural)
            self.assign(node.target, element(counted))
            self.statements(node.body)
        self.emit(f"var {at} = {self.convert(start, kind, node.iter)};")
        self.block("loop {", [*body, "continuing {", f"    {at} += {by};", "}"])

    def visit_Return(self, node):
        if node.value is None or self.static(node.value) is None:
            self.emit("return;")
            return
        if self.is_kernel:
            self.unsupported(node, "a kernel returns nothing; write to an array")
        value = self.number_or_tuple(self.expression(node.value), node)
        kind = self.state.widen(self.state.returns, self.key, value.kind)
        if kind is None:
            before = self.state.returns[self.key]
            self.mistyped(node, f"{self.source.name!r} returns {before} elsewhere, {value.kind} here")
        self.emit(f"return {self.convert(value, types.concrete(kind), node)};")


def _ends(lines):
    return bool(lines) and lines[-1].startswith(_ENDS)
