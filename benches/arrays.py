#!/usr/bin/env python3
"""The figures of `bench arrays` with CuPy or PyTorch: `arrays.py cupy`, `arrays.py torch`.

Prints JSON lines for `compare --also`. Work is timed ten times in a row with events of the device; a figure is the median
of nine rounds. Bytes are counted as `bench/arrays.rs` does.
"""

import importlib
import json
import statistics
import sys

N = 1 << 28
IN_A_ROW = 10
ROWS = [64, 1 << 10, 1 << 15, 1 << 20]


class Cupy:
    def __init__(self, xp):
        self.xp = xp

        @xp.fuse
        def fused(a, b, c, d, e):
            return (a * b + c - d) * e

        @xp.fuse
        def saxpy(x, y):
            return x * xp.float32(0.5) + y

        self.fused, self.saxpy = fused, saxpy

    def full(self, n, value, dtype="float32"):
        return self.xp.full(n, value, dtype=dtype)

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
        self.xp = torch
        self.fused = lambda a, b, c, d, e: (a * b + c - d) * e
        self.saxpy = lambda x, y: self.xp.add(y, x, alpha=0.5)

    def full(self, n, value, dtype="float32"):
        return self.xp.full((n,), value, dtype=getattr(self.xp, dtype), device="cuda")

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

    size, edge = 4 * N, 1 << 14
    x, y = library.full(N, 1.5), library.full(N, 0.5)
    others = [library.full(N, value) for value in (2.0, 3.0, 4.0)]
    rate("add_1GiB", 3 * size, lambda: x + y)
    rate("saxpy_1GiB", 3 * size, lambda: library.saxpy(x, y))
    rate("fused5_1GiB", 6 * size, lambda: library.fused(x, y, *others))
    del others
    rate("sin_1GiB", 2 * size, lambda: library.xp.sin(x))
    rate("exp_1GiB", 2 * size, lambda: library.xp.exp(x))
    matrix, second = x.reshape(edge, edge), y.reshape(edge, edge)
    part = size * (edge - 8) // edge
    rate(f"rows_with_gaps_{part >> 10}KiB", 3 * part, lambda: matrix[:, : edge - 8] + second[:, : edge - 8])
    rate("every_second_512MiB", 5 * size // 2, lambda: matrix[:, ::2] + second[:, ::2])
    rate("transposed_1GiB", 3 * size, lambda: matrix + second.T)
    dividends, divisors = library.full(N // 2, 2**63 - 1, "int64"), library.full(N // 2, 3 << 32, "int64")
    rate("divide_i64_1GiB", 3 * size, lambda: dividends // divisors)
    del dividends, divisors
    for dtype in ["float16", "bfloat16"]:
        if dtype == "bfloat16" and isinstance(library, Cupy):
            continue
        short, other = library.full(N, 1.5, dtype), library.full(N, 0.5, dtype)
        name = "f16" if dtype == "float16" else "bf16"
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
    main({"cupy": Cupy, "torch": Torch}, measure)
