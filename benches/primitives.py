#!/usr/bin/env python3
"""The figures of `bench primitives` with other libraries: `primitives.py cupy|torch|jax [--shrink N]`.

Prints JSON lines, with the names, sizes and units of `bench/primitives.rs`. The same random data is made by NumPy and
uploaded for all. Calls are timed five in a row with events of the device; a figure is the median of nine rounds. JAX has no
events: its calls and the wait for the last one are timed by the host's clock. PyTorch has few functions of unsigned
integers, so its integers are `int32`.
"""

import sys

import numpy as np

import arrays

IN_A_ROW = 5
BINS = 256


class Cupy(arrays.Cupy):
    def __init__(self, xp):
        super().__init__(xp)
        self.upload = xp.asarray
        self.keys = xp.asarray
        self.unique = xp.unique
        self.take = xp.take
        generator = xp.random.Generator(xp.random.Philox4x3210(2))
        self.normal = lambda n: generator.standard_normal(n, dtype=xp.float32)

    def indices(self, host):
        return self.xp.asarray(host.astype(np.int32))

    def sort(self, x, axis=-1):
        return self.xp.sort(x, axis=axis)

    def argsort(self, x):
        return self.xp.argsort(x)

    def top_k(self, x, k):
        places = self.xp.argpartition(x, len(x) - k)[-k:]
        return places[self.xp.argsort(-x[places])]

    def histogram(self, x):
        return self.xp.histogram(x, BINS, (0.0, 1.0))

    def histogram_of_integers(self, x):
        return self.xp.histogram(x, BINS, (0, BINS))

    def integers(self, x):
        return x.astype(self.xp.uint32)

    def complex(self, x):
        return x.view(self.xp.complex64)

    def correlate(self, image, taps):
        from cupyx.scipy import ndimage

        return ndimage.correlate(image, taps, mode="reflect")

    def var(self, x):
        return x.var()

    def put(self, x, places, values):
        x[places] = values


class Torch(arrays.Torch):
    def __init__(self, torch):
        super().__init__(torch)
        torch.backends.cudnn.allow_tf32 = False  # Filters of f32 are computed in f32.
        self.unique = torch.unique
        self.normal = lambda n: torch.randn(n, device="cuda")

    def upload(self, host):
        return self.xp.from_numpy(host).to("cuda")

    def keys(self, host):
        return self.upload(host.view(np.int32))

    def indices(self, host):
        return self.upload(host)

    def take(self, x, indices):
        return x[indices]

    def sort(self, x, axis=-1):
        return self.xp.sort(x, dim=axis).values

    def argsort(self, x):
        return self.xp.argsort(x)

    def top_k(self, x, k):
        return self.xp.topk(x, k)

    def histogram(self, x):
        return self.xp.histc(x, BINS, 0.0, 1.0)

    def histogram_of_integers(self, x):
        return self.xp.bincount(x, minlength=BINS)

    def integers(self, x):
        return x.to(self.xp.int32)

    def bytes(self, x):
        return x.to(self.xp.int8)

    def product_of_bytes(self, a, b):
        return self.xp._int_mm(a, b)

    def complex(self, x):
        return x.view(self.xp.complex64)

    def correlate(self, image, taps):
        conv2d = self.xp.nn.functional.conv2d
        return conv2d(image[None, None], taps[None, None], padding=taps.shape[0] // 2)

    def var(self, x):
        return x.var(correction=0)

    def put(self, x, places, values):
        x[places] = values


class Jax(arrays.Jax):
    def __init__(self, jax):
        super().__init__(jax)
        jax.config.update("jax_default_matmul_precision", "highest")  # Products of f32 are computed in f32.
        self.upload = self.keys = self.indices = self.xp.asarray
        self.unique, self.argsort, self.top_k = self.xp.unique, self.xp.argsort, jax.lax.top_k
        self.normal = lambda n: jax.random.normal(self.key, n, dtype=self.xp.float32)

    def take(self, x, indices):
        return x[indices]

    def put(self, x, places, values):
        return x.at[places].set(values)

    def sort(self, x, axis=-1):
        return self.xp.sort(x, axis)

    def histogram(self, x):
        return self.xp.histogram(x, BINS, (0.0, 1.0))

    def histogram_of_integers(self, x):
        return self.xp.bincount(x, length=BINS)

    def integers(self, x):
        return x.astype("uint32")

    def complex(self, x):
        return x.view("complex64")

    def correlate(self, image, taps):
        return self.jax.lax.conv(image[None, None], taps[None, None], (1, 1), "SAME")

    def var(self, x):
        return x.var()


class Suite:
    def __init__(self, library, shrink):
        self.library, self.shrink = library, shrink
        self.random = np.random.default_rng(1)

    def size(self, log2):
        return 1 << max(log2 - self.shrink, 0)

    def edge(self, edge):
        return max(edge >> self.shrink // 3, 1)

    def uniform(self, *shape):
        return self.library.upload(self.random.random(shape, dtype=np.float32))

    def keys(self, n):
        return self.library.keys(self.random.integers(0, 1 << 32, n, dtype=np.uint32))

    def rate(self, name, amount, unit, work):
        rates = [amount / time for time in arrays.times(self.library, work, IN_A_ROW)]
        arrays.figure(f"primitives_{name}", rates, unit)

    # Amounts are in units a microsecond.

    def bytes(self, name, nbytes, work):
        self.rate(name, nbytes / 1e3, "GB/s", work)

    def keys_a_second(self, name, count, work):
        self.rate(name, count / 1e3, "Gkeys/s", work)

    def product(self, name, a, b):
        (rows, inner), columns = a.shape, b.shape[1]
        self.rate(f"product_{name}", 2 * rows * inner * columns / 1e6, "TFLOP/s", lambda: a @ b)

    def scans(self):
        library, n = self.library, self.size(28)
        x = self.uniform(n)
        self.bytes("scan_f32", 8 * n, lambda: library.scan(x))
        if isinstance(library, Cupy):
            self.bytes("scan_f32_without_axis", 8 * n, lambda: library.xp.cumsum(x))
        mask = x < 0.5
        kept = int(mask.sum())
        self.bytes("compact_f32", 5 * n + 4 * kept, lambda: library.compact(x, mask))
        self.bytes("var_f32", 4 * n, lambda: library.var(x))
        del x, mask
        x = self.keys(n)
        self.bytes("scan_u32", 12 * n, lambda: library.scan(x))

    def sorts(self):
        library, n = self.library, self.size(27)
        x = self.keys(n)
        self.keys_a_second("sort_u32", n, lambda: library.sort(x))
        self.keys_a_second("argsort_u32", n, lambda: library.argsort(x))
        self.keys_a_second("unique_u32", n, lambda: library.unique(x))
        few = x >> 16 & 0xFFFF
        self.keys_a_second("sort_u32_below_65536", n, lambda: library.sort(few))
        del x, few
        rows = self.uniform(self.size(20), 128)
        self.keys_a_second("sort_rows_f32", 128 * self.size(20), lambda: library.sort(rows, 1))
        del rows
        n = self.size(28)
        x = self.uniform(n)
        self.bytes("top_1000_f32", 4 * n, lambda: library.top_k(x, min(1000, n)))
        del x
        edges, values = library.sort(self.uniform(self.size(20))), self.uniform(self.size(26))
        self.keys_a_second("searchsorted_f32", self.size(26), lambda: library.xp.searchsorted(edges, values))

    def histograms(self):
        library, n = self.library, self.size(28)
        for name in ["uniform", "constant", "skewed"]:
            x = library.full(n, 0.5) if name == "constant" else self.uniform(n)
            x = x**8 if name == "skewed" else x
            self.bytes(f"histogram_f32_{name}", 4 * n, lambda: library.histogram(x))
            keys = library.integers(x * 256)
            self.bytes(f"histogram_u32_{name}", 4 * n, lambda: library.histogram_of_integers(keys))

    def products(self):
        for name, shape in [("4096", [4096] * 3), ("1000x777x1333", [1000, 777, 1333])]:
            rows, inner, columns = map(self.edge, shape)
            self.product(f"f32_{name}", self.uniform(rows, inner), self.uniform(inner, columns))
        for edge in [4096, 8192]:
            n = self.edge(edge)
            self.product(f"f16_{edge}", *(self.library.half(self.uniform(n, n)) for _ in range(2)))
            if bfloat16 := getattr(self.library, "bfloat16", None):  # CuPy has no such type.
                self.product(f"bf16_{edge}", *(bfloat16(self.uniform(n, n)) for _ in range(2)))
        if product := getattr(self.library, "product_of_bytes", None):  # PyTorch alone has such a product.
            n = self.edge(4096)
            a, b = (self.library.bytes(self.uniform(n, n) * 255 - 128) for _ in range(2))
            for name, b in [("i8_4096", b), ("i8_4096_columns", b.T)]:
                self.rate(f"product_{name}", 2 * n**3 / 1e6, "TOP/s", lambda b=b: product(a, b))
        count, n = self.size(16), self.edge(16384)
        a, b = self.uniform(count, 32, 32), self.uniform(count, 32, 32)
        self.bytes("product_batched_32_f32", 12 * count * 32 * 32, lambda: a @ b)
        matrix, vector = self.uniform(n, n), self.uniform(n)
        self.bytes("product_vector_f32", 4 * n * n, lambda: matrix @ vector)

    def transforms(self):
        for name, rows, n in [("4096", self.size(16), 4096), ("1048576", 64, self.size(20))]:
            x = self.library.complex(self.uniform(rows, 2 * n))
            self.bytes(f"fft_c64_{name}", 16 * rows * n, lambda: self.library.xp.fft.fft(x))
            del x

    def convolutions(self):
        n = self.edge(8192)
        image = self.uniform(n, n)
        for edge in [9, 3]:
            taps = self.uniform(edge, edge)
            self.bytes(f"convolution_{edge}x{edge}_f32", 8 * n * n, lambda: self.library.correlate(image, taps))

    def indexing(self):
        library, n = self.library, self.size(27)
        x, values = self.uniform(n), self.uniform(n)
        places = library.indices(self.random.integers(0, n, n))
        self.bytes("take_f32", 12 * n, lambda: library.take(x, places))
        self.bytes("put_f32", 12 * n, lambda: library.put(x, places, values))

    def random_numbers(self):
        n = self.size(28)
        self.bytes("normal_f32", 4 * n, lambda: self.library.normal(n))


def measure(library, shrink):
    suite = Suite(library, shrink)
    suite.scans()
    suite.sorts()
    suite.histograms()
    suite.products()
    suite.transforms()
    suite.convolutions()
    suite.indexing()
    suite.random_numbers()


if __name__ == "__main__":
    shrink = int(sys.argv[sys.argv.index("--shrink") + 1]) if "--shrink" in sys.argv else 0
    arrays.main({"cupy": Cupy, "torch": Torch, "jax": Jax}, lambda library: measure(library, shrink))
