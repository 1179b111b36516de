"""The whole program in WGSL: bindings, numbers, helpers, device functions and the entry point."""

import re
from dataclasses import dataclass, replace

from .. import _core
from . import types
from .arithmetic import HELPERS
from .statements import Translation
from .types import F16, F32, F64, I32, Scalar, Tuple
from .values import ArrayValue, Known, State, Value, integer, is_known, packed_strides, times

_PASSES = 50
_INPUTS = {
    "threadIdx": "local_invocation_id", "blockIdx": "workgroup_id", "grid": "global_invocation_id",
    "gridDim": "num_workgroups",
}


@dataclass(frozen=True)
class Argument:
    """The type of an argument: a number, a tuple of numbers, or an array of so many axes, which may have gaps."""

    element: Scalar | Tuple
    ndim: int | None = None
    has_gaps: bool = False

    def __str__(self):
        if self.ndim is None:
            return str(self.element)
        return f"{self.element}[{', '.join(':' * self.ndim)}]{' with gaps' if self.has_gaps else ''}"


@dataclass(frozen=True)
class Launched:
    """What a program is translated for: types of arguments, the workgroup, and bytes of shared memory."""

    arguments: tuple
    workgroup: tuple
    shared_bytes: int = 0


def translate(source, launched):
    """Translates a kernel. A pass may widen the type of a variable that an earlier line used; then another follows."""
    state = State()
    for _ in range(_PASSES):
        state.changed = False
        program = Program(state, source, launched)
        if not state.changed:
            return program
    raise TypeError(f"the types of {source.name!r} do not come to rest")


class Program:
    """One pass over a kernel and the functions that it calls."""

    def __init__(self, state, source, launched):
        self.state, self.launched = state, launched
        self.structs, self.helpers, self.functions, self.shared, self.captures = {}, {}, {}, {}, {}
        self.inputs, self.fields, self.layouts, self.bindings, self.active = set(), [], [], [], []
        self.entry, self.has_float_atomics = f"{source.name}_kernel", _core.device_has_float_atomics()
        translation = Translation(self, source, ("kernel",), is_kernel=True)
        for name, argument in zip(source.parameters, launched.arguments):
            self.argument(translation, name, argument)
        self.body = translation.function()
        # What is not used has no place in the signature of the shader, and is not passed.
        self.used = set(re.findall(r"\w+", "\n".join([*self.functions.values(), *self.body])))

    def argument(self, translation, name, argument):
        """Declares an argument of the kernel."""
        element = argument.element
        if argument.ndim is None:
            translation.assign_name(name, self.passed(translation, f"p_{name}", element), None)
            return
        shape = [f"n{axis}_{name}" for axis in range(argument.ndim)]
        self.fields += [(length, I32) for length in shape]
        shape = tuple(Value(f"given.{length}", I32, natural=True) for length in shape)
        first, strides = integer(0), packed_strides(shape)
        if argument.has_gaps:
            # By their names the library knows what to pass.
            first, steps = Value(f"given.a_{name}_first", I32, natural=True), f"given.a_{name}_strides"
            strides = tuple(Value(f"{steps}{f'[{axis}]' * (argument.ndim > 1)}", I32) for axis in range(argument.ndim))
            self.layouts.append((f"a_{name}", argument.ndim))
        array = ArrayValue(f"a_{name}", element, "storage", shape, strides, first)
        translation.assign_name(name, array, None)
        self.bindings.append((array.name, element))

    def passed(self, translation, name, element):
        """A number or a tuple of numbers that the launch gives."""
        if isinstance(element, Tuple):
            items = (self.passed(translation, f"{name}_{i}", each) for i, each in enumerate(element.items))
            return translation.tuple(tuple(items))
        passed = F32 if element == F16 else types.in_memory(types.concrete(element))
        self.fields.append((name, passed))
        return Value(types.converted(f"given.{name}", passed, element), element, natural=element == types.INT)

    # What translations ask for.

    def in_memory(self, name, element):
        """The type of an array's elements in memory: integers for floats, if atomic operations need these."""
        bits = {F32: types.U32, F64: types.U64}.get(element) if ("bits", name) in self.state.facts else None
        return bits or types.in_memory(element)

    def helper(self, name, kind):
        """A function of the helpers for a type."""
        full = f"{name}_{kind.wgsl}"
        words = {"NAME": full, "T": kind.wgsl, "ONE": types.literal(1, kind)}
        self.helpers[full] = re.sub(r"\b(NAME|T|ONE)\b", lambda word: words[word[0]], HELPERS[name])
        return full

    def axis(self, name, axis):
        """A place or a number of places along an axis."""
        size = Value(f"{self.launched.workgroup[axis]}i", I32, const=self.launched.workgroup[axis], natural=True)
        if name == "blockDim":
            return size
        if name == "gridsize":
            return times(self.axis("gridDim", axis), size)
        self.inputs.add(name)
        return Value(f"i32({_INPUTS[name]}.{'xyz'[axis]})", I32, natural=True)

    def place(self, translation, name, node):
        """The value of a name such as `threadIdx.x`."""
        kind, _, axis = name.path.partition(".")
        if axis not in ("x", "y", "z"):
            translation.unsupported(node, f"{name!r} is no number: call it, or take .x, .y or .z")
        return self.axis(kind, "xyz".index(axis))

    def captured(self, translation, array, node):
        """An array of the host or of the device that the function names. It is read only."""
        try:
            element = types.of_elements(array.dtype)
        except (AttributeError, TypeError) as error:
            translation.mistyped(node, f"an array is needed whose elements kernels have: {error}")
        name = self.state.name("c", "captured", id(array))
        self.captures[name] = (array, element)
        shape = tuple(map(integer, array.shape))
        return ArrayValue(name, element, "read", shape, packed_strides(shape), integer(0))

    def function(self, translation, source, values, node):
        """A call of a device function for these arguments: its text, and the type of the result."""
        if len(values) != len(source.parameters):
            translation.mistyped(node, f"{source.name!r} takes {len(source.parameters)} arguments, not {len(values)}")
        for own, each in zip(source.parameters, values):
            if isinstance(each, Known) and own in source.assigned:
                translation.mistyped(node, f"{source.name!r} assigns {own!r}, which is {each.found!r} here")
        if source in self.active:
            translation.unsupported(node, f"{source.name!r} calls itself, which kernels cannot; write a loop")
        passed = []
        seen = tuple(
            self.seen(translation, value, own in source.assigned, f"p{i}", passed, node)
            for i, (own, value) in enumerate(zip(source.parameters, values))
        )
        key = ("function", source, seen)
        name = self.state.name(f"{source.name}_", *key)
        if name not in self.functions:
            inner = Translation(self, source, key, is_kernel=False)
            for own, value in zip(source.parameters, seen):
                if is_known(value):
                    inner.fixed[own] = value
                else:
                    inner.assign_name(own, value, None)
            self.active.append(source)
            body = inner.function()
            self.active.pop()
            result = self.state.returns.get(key)
            arrow = "" if result is None else f" -> {inner.wgsl(result)}"
            parameters = ", ".join(declaration for declaration, _ in passed)
            self.functions[name] = f"fn {name}({parameters}){arrow} {{\n{_indented(body)}\n}}"
        return f"{name}({', '.join(text for _, text in passed)})", self.state.returns.get(key)

    def seen(self, translation, value, is_assigned, name, passed, node):
        """An argument as a device function sees it, which is what it is translated for.

        Adds what is passed for it: declarations of parameters with their arguments. A parameter that the function
        assigns is a variable, also where its first value is known.
        """
        if is_known(value) and not is_assigned:
            return value
        if not isinstance(value, ArrayValue):
            kind = types.concrete(translation.number_or_tuple(value, node).kind)
            passed.append((f"{name}: {translation.wgsl(kind)}", translation.convert(value, kind, node)))
            return Value(name, kind)
        numbers, own = [], value.name
        if value.space == "function":
            elements = f"array<{self.stored(name, value.element)}, {value.length}>"
            passed.append((f"{name}: ptr<function, {elements}>", f"&{value.name}"))
            own = f"(*{name})"
        for j, number in enumerate((value.first, *value.shape, *value.strides)):
            if not number.is_global:
                passed.append((f"{name}_{j}: i32", number.text))
                number = Value(f"{name}_{j}", I32, natural=number.natural)
            numbers.append(number)
        ndim = len(value.shape)
        shape, strides = tuple(numbers[1 : 1 + ndim]), tuple(numbers[1 + ndim :])
        return replace(value, name=own, shape=shape, strides=strides, first=numbers[0])

    # The text.

    def wgsl(self):
        """The program as a text."""
        parts = [*self.structs.values()]
        fields = [f"{name}: {kind.wgsl}" for name, kind in self.fields if name in self.used]
        for name, ndim in self.layouts:
            # Behind the numbers, which are passed by their places.
            if name in self.used:
                fields += [f"{name}_first: i32", f"{name}_strides: {f'vec{ndim}<i32>' if ndim > 1 else 'i32'}"]
        if fields:
            parts.append(f"struct Given {{ {', '.join(fields)} }}\nvar<immediate> given: Given;")
        captures = [(name, element) for name, (_, element) in self.captures.items()]
        bindings = [each for each in [*self.bindings, *captures] if each[0] in self.used]
        for binding, (name, element) in enumerate(bindings):
            access = "storage, read_write" if self.is_written(name) else "storage"
            parts.append(f"@group(0) @binding({binding}) var<{access}> {name}: array<{self.stored(name, element)}>;")
        for name, array in self.shared.items():
            parts.append(f"var<workgroup> {name}: array<{self.stored(name, array.element)}, {array.length}>;")
        names = [_INPUTS[name] for name in sorted(self.inputs)]
        parts += [f"var<private> {name}: vec3<u32>;" for name in names]
        parts += [*self.helpers.values(), *self.functions.values(), self.entry_point(names)]
        text = _core.with_functions("\n".join(parts) + "\n")
        return f"enable f16;\n{text}" if re.search(r"\bf16\b", text) else text

    def stored(self, name, element):
        """The elements of an array as they lie in memory."""
        text = self.in_memory(name, element).wgsl
        return f"atomic<{text}>" if ("atomic", name) in self.state.facts else text

    def entry_point(self, names):
        inputs = ", ".join(f"@builtin({name}) {name}_in: vec3<u32>" for name in names)
        body = _indented([*(f"{name} = {name}_in;" for name in names), *self.body])
        size = ", ".join(map(str, self.launched.workgroup))
        return f"@compute @workgroup_size({size})\nfn {self.entry}({inputs}) {{\n{body}\n}}"

    def is_written(self, name):
        return ("written", name) in self.state.facts


def _indented(lines):
    return "\n".join(f"    {line}" for line in lines)
