"""What a call costs the host, and chains of calls: vkarray beside NumPy and, where it is installed, CuPy.

Each line is the median of 30 rounds, in microseconds a call. `python crates/python/benches/calls.py` prints a table.
"""

import statistics
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
    """Microseconds a call, with and without the wait for the device at the end."""
    host, whole = [], []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(count):
            call()
        host.append(time.perf_counter() - start)
        wait()
        whole.append(time.perf_counter() - start)
    return [1e6 * statistics.median(times) / count for times in (host, whole)]


def chain(x):
    """20 calls, each on the result of the one before."""
    for _ in range(10):
        x = x * 1.0001
        x = x + 0.5
    return x


def main():
    """Prints the table."""
    print("device:", *vk.device_name())
    print(f"{'':34}{'host':>10}{'with wait':>12}  µs a call")
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
            host, whole = median(call, wait, count)
            print(f"{name:9}{what:25}{host:10.2f}{whole:12.2f}", flush=True)
    saxpy, x, y = vk.kernel(SAXPY), vk.ones(1000), vk.ones(1000)
    launch = saxpy[16]
    for what, call in [
        ("kernel[16](x, y, 2.0)", lambda: saxpy[16](x, y, 2.0)),
        ("the same, launch kept", lambda: launch(x, y, 2.0)),
    ]:
        print(f"{'vkarray':9}{what:25}{median(call, vk.synchronize, 1000)[0]:10.2f}")


if __name__ == "__main__":
    main()
