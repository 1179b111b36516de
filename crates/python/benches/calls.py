"""What a call costs the host, and chains of calls: vkarray beside NumPy and, where they are installed, CuPy and numba-vulkan.

Each line is the median of 30 rounds, in microseconds a call: of all time, of the processor time of the calling thread, which
other work of the machine changes less, and with the wait for the device. `python crates/python/benches/calls.py` prints a
table. It takes a wheel with optimisations, as `pip install` makes it.

Dispatches from Rust are shown too, once `cargo build --release -p vkarray --example dispatch_cost` has run.
"""

import pathlib
import statistics
import subprocess
import time

import numpy as np

import vkarray as vk

SAXPY = """
@group(0) @binding(0) var<storage> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> a: f32;
@compute @workgroup_size(64) fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] += a * x[id.x]; }
}"""


def libraries():
    """Each library with its module and its wait."""
    yield "vkarray", vk, vk.synchronize
    yield "NumPy", np, lambda: None
    try:
        import cupy
    except ImportError:
        return
    yield "CuPy", cupy, cupy.cuda.Device().synchronize


def median(call, wait, count):
    """Microseconds a call: of all time and of processor time of the thread, and with the wait for the device at the end."""
    rounds = []
    for _ in range(30):
        start, own = time.perf_counter(), time.thread_time()
        for _ in range(count):
            call()
        host, own = time.perf_counter() - start, time.thread_time() - own
        wait()
        rounds.append((host, own, time.perf_counter() - start))
    return [1e6 * statistics.median(times) / count for times in zip(*rounds)]


def from_rust():
    """Microseconds of a dispatch from Rust, without the wait, if the program is there."""
    program = pathlib.Path(__file__).parents[3] / "target/release/examples/dispatch_cost"
    if not program.exists():
        return None
    runs = [subprocess.run([program, "chain", "1000"], capture_output=True, text=True, check=True) for _ in range(9)]
    return statistics.median(float(run.stdout.split()[1]) for run in runs)


def chain(x):
    """20 calls, each on the result of the one before."""
    for _ in range(10):
        x = x * 1.0001
        x = x + 0.5
    return x


def row(name, what, call, wait, count):
    """Prints one line of the table."""
    host, own, whole = median(call, wait, count)
    print(f"{name:13}{what:29}{host:10.2f}{own:10.2f}{whole:12.2f}", flush=True)


def numba_vulkan_rows():
    """Prints the chain of small arrays as universal functions, and a kernel's call, of numba-vulkan."""
    try:
        import numba
        import numba_vulkan as nv
    except ImportError:
        return
    vectorize = numba.vectorize(["float32(float32, float32)"], target="vulkan")
    multiply, add = vectorize(lambda a, b: a * b), vectorize(lambda a, b: a + b)
    a, b = np.float32(1.0001), np.float32(0.5)

    @nv.jit
    def saxpy(x, y, a):
        i = nv.global_id(0)
        if i < y.shape[0]:
            y[i] += a * x[i]

    def chain_of_functions():
        z = x
        for _ in range(10):
            z = add(multiply(z, a), b)

    x, y = (nv.to_device(np.ones(1000, dtype=np.float32)) for _ in range(2))
    launch = saxpy.forall(1000)
    launch(x, y, np.float32(2))
    chain_of_functions()
    row("numba-vulkan", "chain of 20, 1,000 elements", chain_of_functions, y.copy_to_host, 20)
    row("numba-vulkan", "kernel(x, y, 2.0)", lambda: launch(x, y, np.float32(2)), y.copy_to_host, 300)


def main():
    """Prints the table."""
    print("device:", *vk.device_name())
    print(f"{'':42}{'host':>10}{'thread':>10}{'with wait':>12}  µs a call")
    for name, module, wait in libraries():
        small, large = (module.ones(n, dtype=module.float32) for n in (1000, 10**7))
        for what, call, count in [
            ("x.shape", lambda: small.shape, 1000),
            ("x[1:-1]", lambda: small[1:-1], 1000),
            ("x + y, 1,000 elements", lambda: small + small, 1000),
            ("x.sum(), 1,000 elements", lambda: small.sum(), 500),
            ("chain of 20, 1,000 elements", lambda: chain(small), 50),
            ("chain of 20, 10^7 elements", lambda: chain(large), 3),
        ]:
            chain(small)
            row(name, what, call, wait, count)
    fused = vk.elementwise("z = " + "(" * 10 + "x" + " * 1.0001 + 0.5)" * 10)
    for n, count in (1000, 1000), (10**7, 10):
        x = vk.ones(n, dtype=vk.float32)
        row("vkarray", f"the chain as a text, {n:,}", lambda: fused(x), vk.synchronize, count)
    saxpy, x, y = vk.kernel(SAXPY), vk.ones(1000), vk.ones(1000)
    launch = saxpy[16]
    row("vkarray", "kernel[16](x, y, 2.0)", lambda: saxpy[16](x, y, 2.0), vk.synchronize, 1000)
    row("vkarray", "the same, launch kept", lambda: launch(x, y, 2.0), vk.synchronize, 1000)
    numba_vulkan_rows()
    rust = from_rust()
    if rust is not None:
        print(f"{'Rust':13}{'a dispatch like it':29}{rust:10.2f}")


if __name__ == "__main__":
    main()
