#!/usr/bin/env python3
"""The figures of `bench arrays` with other libraries: `arrays.py cupy|torch|jax`.

Prints JSON lines for `compare --also`. Work is timed ten times in a row with events of the device; a figure is the median
of nine rounds. JAX has no events: its calls and the wait for the last one are timed by the host's clock. Data is random,
and bytes are counted as `bench/arrays.rs` does. Expressions are also compiled as a whole (`…_compiled_…`), by
`torch.compile` and `jax.jit`; CuPy's `fuse` is in its plain figures.
"""

import importlib
import json
import statistics
import sys
import time

N = 1 << 28
IN_A_ROW = 10
ROWS = [64, 1 << 10, 1 << 15, 1 << 20]


class Cupy:
    compile = None

    def __init__(self, xp):
        self.xp = xp

        @xp.fuse
        def fused(a, b, c, d, e):
            return (a * b + c - d) * e

        @xp.fuse
        def saxpy(x, y):
            return x * xp.float32(0.5) + y

        self.fused, self.saxpy = fused, saxpy

    def full(self, n, value):
        return self.xp.full(n, value, dtype="float32")

    def between(self, low, high, n):
        return self.xp.random.randint(low, high, n, dtype="int64")

    def half(self, x):
        return x.astype(self.xp.float16)

    def event(self):
        event = self.xp.cuda.Event()
        event.record()
        return event

    def micros(self, begin, end):
        end.synchronize()
        return 1e3 * self.xp.cuda.get_elapsed_time(begin, end)

    def uniform(self, x):
        return self.xp.random.random(x.shape, dtype=self.xp.float32)

    def compact(self, x, mask):
        return x[mask]

    def scan(self, x):
        return self.xp.cumsum(x, axis=0)


class Torch:
    def __init__(self, torch):
        self.xp, self.compile = torch, torch.compile
        self.fused = lambda a, b, c, d, e: (a * b + c - d) * e
        self.saxpy = lambda x, y: self.xp.add(y, x, alpha=0.5)

    def full(self, n, value):
        return self.xp.full((n,), value, device="cuda")

    def between(self, low, high, n):
        return self.xp.randint(low, high, (n,), device="cuda")

    def half(self, x):
        return x.half()

    def bfloat16(self, x):
        return x.bfloat16()

    def event(self):
        event = self.xp.cuda.Event(enable_timing=True)
        event.record()
        return event

    def micros(self, begin, end):
        end.synchronize()
        return 1e3 * begin.elapsed_time(end)

    def uniform(self, x):
        return x.uniform_()

    def compact(self, x, mask):
        return x[mask]

    def scan(self, x):
        return self.xp.cumsum(x, 0)


class Jax:
    def __init__(self, jax):
        import jax.numpy

        jax.config.update("jax_enable_x64", True)
        self.jax, self.xp, self.compile = jax, jax.numpy, jax.jit
        self.key = jax.random.key(2)
        self.fused = lambda a, b, c, d, e: (a * b + c - d) * e
        self.saxpy = lambda x, y: x * 0.5 + y

    def event(self):
        self.xp.zeros(()).block_until_ready()  # Its stream runs in order.
        return time.perf_counter()

    def micros(self, begin, end):
        return 1e6 * (end - begin)

    def full(self, n, value):
        return self.xp.full(n, value, dtype="float32")

    def between(self, low, high, n):
        return self.jax.random.randint(self.key, (n,), low, high, dtype="int64")

    def uniform(self, x):
        return self.jax.random.uniform(self.key, x.shape, dtype="float32")

    def half(self, x):
        return x.astype("float16")

    def bfloat16(self, x):
        return x.astype("bfloat16")

    def compact(self, x, mask):
        return x[mask]

    def scan(self, x):
        return self.xp.cumsum(x, 0, dtype="uint64" if x.dtype == "uint32" else None)


def times(library, work, count=IN_A_ROW):
    """Microseconds of one of `count` calls in a row, ascending."""
    results = []
    for _ in range(10):
        begin = library.event()
        for _ in range(count):
            work()
        results.append(library.micros(begin, library.event()) / count)
    return sorted(results[1:])  # The first round is a warm-up.


def figure(name, values, unit):
    line = {"name": name, "value": statistics.median(values), "min": min(values), "max": max(values), "unit": unit}
    print(json.dumps(line), flush=True)


def measure(library):
    def rate(name, nbytes, work):
        figure(f"arrays_{name}", [nbytes / time / 1e3 for time in times(library, work)], "GB/s")

    def expression(name, extent, nbytes, work, *operands):
        rate(f"{name}_{extent}", nbytes, lambda: work(*operands))
        if library.compile is None:
            return
        name = f"{name}_compiled_{extent}"
        try:
            compiled = library.compile(work)
            compiled(*operands)
        except Exception as error:  # Without a compiler for the host, for example.
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            print(json.dumps({"skipped": f"arrays_{name}", "reason": reason}), flush=True)
        else:
            rate(name, nbytes, lambda: compiled(*operands))

    size, edge = 4 * N, 1 << 14
    x, y, *others = (library.uniform(library.full(N, 0.0)) for _ in range(5))
    rate("add_1GiB", 3 * size, lambda: x + y)
    expression("saxpy", "1GiB", 3 * size, library.saxpy, x, y)
    expression("fused5", "1GiB", 6 * size, library.fused, x, y, *others)
    del others
    rate("sin_1GiB", 2 * size, lambda: library.xp.sin(x))
    rate("exp_1GiB", 2 * size, lambda: library.xp.exp(x))
    matrix, second = x.reshape(edge, edge), y.reshape(edge, edge)
    part = size * (edge - 8) // edge
    gaps = lambda x, y: x[:, : edge - 8] + y[:, : edge - 8]
    expression("rows_with_gaps", f"{part >> 10}KiB", 3 * part, gaps, matrix, second)
    expression("every_second", "512MiB", 5 * size // 2, lambda x, y: x[:, ::2] + y[:, ::2], matrix, second)
    expression("transposed", "1GiB", 3 * size, lambda x, y: x + y.T, matrix, second)
    del matrix, second
    dividends, divisors = library.between(0, 2**63 - 1, N // 2), library.between(1 << 33, 1 << 35, N // 2)
    rate("divide_i64_1GiB", 3 * size, lambda: dividends // divisors)
    del dividends, divisors
    for name, cast in [("f16", library.half), ("bf16", getattr(library, "bfloat16", None))]:
        if cast is None:  # CuPy has no such type.
            continue
        short, other = cast(x), cast(y)
        rate(f"add_{name}_512MiB", 3 * size // 2, lambda: short + other)
        rate(f"sum_{name}_512MiB", size // 2, lambda: short.sum())
        rate(f"row_sums_1024_{name}_512MiB", size // 2, lambda: short.reshape(-1, 1024).sum(1))
        rate(f"column_sums_of_1024_{name}_512MiB", size // 2, lambda: short.reshape(-1, 1024).sum(0))
    rate("sum_1GiB", size, lambda: x.sum())
    rate("max_1GiB", size, lambda: x.max())
    rate("argmax_1GiB", size, lambda: x.argmax())
    for length in ROWS:
        rate(f"row_sums_{length}_1GiB", size, lambda: x.reshape(-1, length).sum(1))
        rate(f"column_sums_{length}_1GiB", size, lambda: x.reshape(length, -1).sum(0))
    for n in [1 << 14, 1 << 16, 1 << 18]:
        name = f"arrays_sum_{4 * n >> 10}KiB".replace("1024KiB", "1MiB")
        figure(name, times(library, lambda: x[:n].sum(), 100), "us")
    rate("uniform_1GiB", size, lambda: library.uniform(x))
    x = library.uniform(x)
    mask = x < 0.5
    kept = int(mask.sum())
    rate("compact_1GiB", 5 * N + 4 * kept, lambda: library.compact(x, mask))
    rate("cumulative_sum_1GiB", 2 * size, lambda: library.scan(x))


def main(libraries, measure):
    name = sys.argv[1] if len(sys.argv) > 1 else "torch"
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        print(json.dumps({"absent": str(error)}))
        sys.exit(2)
    measure(libraries[name](module))


if __name__ == "__main__":
    main({"cupy": Cupy, "torch": Torch, "jax": Jax}, measure)
