"""What kernels in Python call, which does nothing outside of them but say so, and what their translation raises.

| name | in a kernel |
|---|---|
| `grid(n)`, `gridsize(n)` | the place of the invocation among all, and their number; a tuple for `n` of 2 or 3 |
| `threadIdx`, `blockIdx`, `blockDim`, `gridDim` | places in the workgroup and among them, and numbers of each |
| `shared.array(shape, dtype)` | memory of the workgroup; `shape` 0 takes the bytes that the launch gives |
| `local.array(shape, dtype)` | memory of the invocation |
| `const.array_like(x)` | an array of NumPy, with its elements at the first launch |
| `syncthreads()`, `_count`, `_and`, `_or` | a barrier of the workgroup, and with a condition what its invocations say |
| `atomic.add(x, i, v)` and others | an atomic operation, which returns the old value |
"""


class JitSyntaxError(SyntaxError):
    """A statement or an expression that kernels do not have. It carries file, line and column."""


class JitTypeError(TypeError):
    """A value of a type that does not fit. The text begins with file, line and column."""


class Name:
    """A name with a meaning in kernels only."""

    def __init__(self, name, members=()):
        self.path = name
        for member in members:
            setattr(self, member, Name(f"{name}.{member}"))

    def __call__(self, *_args, **_named):
        raise TypeError(f"vk.{self.path} is for functions under @vk.jit")

    def __repr__(self):
        return f"<vk.{self.path}, for kernels>"


_AXES = ("x", "y", "z")
grid, gridsize = Name("grid"), Name("gridsize")
threadIdx, blockIdx = Name("threadIdx", _AXES), Name("blockIdx", _AXES)
blockDim, gridDim = Name("blockDim", _AXES), Name("gridDim", _AXES)
shared, local = Name("shared", ["array"]), Name("local", ["array"])
const = Name("const", ["array_like"])
syncthreads = Name("syncthreads")
syncthreads_count, syncthreads_and, syncthreads_or = (Name(f"syncthreads_{each}") for each in ("count", "and", "or"))
ATOMIC = "add sub max min nanmax nanmin and_ or_ xor inc dec exch cas compare_and_swap".split()
atomic = Name("atomic", ATOMIC)

__all__ = [
    "JitSyntaxError", "JitTypeError", "atomic", "blockDim", "blockIdx", "const", "grid", "gridDim", "gridsize", "local",
    "shared", "syncthreads", "syncthreads_and", "syncthreads_count", "syncthreads_or", "threadIdx",
]
