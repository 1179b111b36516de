"""Kernels of shaders, called with arrays, numbers and arrays of NumPy."""

import doctest

import numpy as np
import pytest

import vkarray as vk

SAXPY = """
@group(0) @binding(0) var<storage> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> a: f32;
@compute @workgroup_size(64) fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] += a * x[id.x]; }
}"""


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1009])
def test_a_kernel_runs_on_arrays_of_both_sides(n):
    saxpy = vk.kernel(SAXPY)
    x, y = np.arange(n, dtype="float32"), np.ones(n, dtype="float32")
    device = vk.asarray(y)
    saxpy.covering(n)(vk.asarray(x), device, 2)
    saxpy[-(-n // 64)](x, y, 2)
    np.testing.assert_array_equal(device.copy_to_host(), 1 + 2 * x)
    np.testing.assert_array_equal(y, 1 + 2 * x)


def test_a_long_build_is_reported(caplog):
    lines = "".join(f"x[{i}] += cos(x[{i + 1}]) * f32({i});\n" for i in range(500))
    text = f"@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n" \
        f"@compute @workgroup_size(1) fn slow() {{ {lines} }}"
    assert vk.kernel(text, "slow", report_every=0.001).signature
    said = [record.getMessage() for record in caplog.records if record.name == "vkarray"]
    assert said[0].startswith("still building kernel `slow` of ") and said[0].endswith(", for 0.001 s")
    for seconds in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="not a number of seconds"):
            vk.kernel(text, report_every=seconds)


def test_streams_are_ordered_by_what_they_touch():
    saxpy, one = vk.kernel(SAXPY), vk.ones(1 << 16)
    streams, y = [vk.Stream() for _ in range(3)], vk.zeros(1 << 16)
    for i in range(60):
        saxpy.covering(1 << 16, streams[i % 3])(one, y, i)
    assert y.copy_to_host().tolist() == [sum(range(60))] * (1 << 16)
    [stream.synchronize() for stream in streams]
    assert all(stream.query() for stream in streams)


def test_shapes_cover_the_last_axis_by_x():
    kernel = vk.kernel("""
        @group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < 13 && id.y < 5 { y[13 * id.y + id.x] = id.x + 100 * id.y; }
        }""")
    y = vk.zeros((5, 13), dtype=vk.uint32)
    kernel.covering(y.shape)(y)
    np.testing.assert_array_equal(y.copy_to_host(), 100 * np.arange(5)[:, None] + np.arange(13))


@pytest.mark.parametrize("type, given", {
    "f32": [2, 2.5, -0.0, 1 << 40, np.float32(0.1), np.float64(0.1), np.int16(-3), np.asarray(1.5), np.inf, -np.inf, 10**30],
    "i32": [7, -(1 << 31), np.int8(-3), np.uint64(9), np.asarray([5])],
    "u32": [(1 << 32) - 1, 0],
}.items())
def test_numbers_are_those_of_python_and_numpy(type, given):
    kernel = vk.kernel(f"""
        @group(0) @binding(0) var<storage, read_write> y: array<{type}>;
        var<immediate> a: {type};
        @compute @workgroup_size(1) fn main() {{ y[0] = a; }}""")
    y = vk.zeros(1, dtype={"f32": vk.float32, "i32": vk.int32, "u32": vk.uint32}[type])
    for number in given:
        kernel[1](y, number)
        np.testing.assert_array_equal(y.copy_to_host(), np.asarray(number).astype(y.dtype).reshape(1))
    refused = {
        "f32": [True, np.True_, 1e39, 10**39, 1j, "two"], "i32": [2.0, np.float32(2), 1 << 31, True, None],
        "u32": [-1, 1 << 32, 1 << 70],
    }
    for number in refused[type]:
        with pytest.raises(TypeError, match="`a`: cannot read"):
            kernel[1](y, number)


def test_constants_and_vectors_are_given():
    kernel = vk.kernel("""
        override SIZE: u32 = 1;
        var<immediate> shift: vec2<f32>;
        @group(0) @binding(0) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size(SIZE) fn main(@builtin(local_invocation_index) i: u32) {
            y[i] = shift.x + shift.y * f32(SIZE);
        }""", constants={"SIZE": 16})
    y = vk.zeros(16)
    for shift in [(0.5, 2), np.array([0.5, 2], "float32"), [np.float32(0.5), 2]]:
        y[...] = 0
        kernel[1](y, shift)
        assert kernel.workgroup_size == (16, 1, 1)
        assert y.copy_to_host().tolist() == [32.5] * 16


@pytest.mark.parametrize("error, text, call", [
    (TypeError, "`y`", lambda k: k[1](vk.ones(4), vk.ones(4, dtype=vk.int32), 1)),
    (TypeError, "`a`", lambda k: k[1](vk.ones(4), vk.ones(4), "two")),
    (ValueError, "shares memory", lambda k: (lambda y: k[1](y, y, 1))(vk.ones(4))),
    (TypeError, "`a`", lambda k: k[1](vk.ones(4), vk.ones(4), (1, 2))),
    (ValueError, "counts", lambda k: k[1, 1, 1, 1](vk.ones(4), vk.ones(4), 1)),
    (ValueError, "shader.wgsl:1", lambda k: vk.kernel("fn")),
    (ValueError, "language", lambda k: vk.kernel("", language="hlsl")),
])
def test_mistakes_name_the_culprit(error, text, call):
    with pytest.raises(error, match=text):
        call(vk.kernel(SAXPY))


def test_the_sanitizer_names_the_line():
    kernel = vk.kernel("""
        @group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            y[id.x + 2] = 1;
        }""", sanitize=True)
    with pytest.raises(ValueError, match="shader.wgsl:4"):
        kernel[1](vk.zeros(4, dtype=vk.uint32))


def test_views_are_passed_with_the_strides_that_a_shader_asks_for():
    scale = vk.kernel("""
        struct Layout { first: i32, shape: vec2<u32>, strides: vec2<i32> }
        struct Params { y_layout: Layout, by: f32 }
        var<immediate> p: Params;
        @group(0) @binding(0) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size(8, 8) fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
            let own = p.y_layout;
            if any(id.yx >= own.shape) { return; }
            let steps = vec2<i32>(id.yx) * own.strides;
            y[own.first + steps.x + steps.y] *= p.by;
        }""")
    a = np.arange(5 * 9, dtype="float32").reshape(5, 9)
    y = vk.asarray(a)
    scale.covering((5, 5))(y[:, ::-2], -1)
    a[:, ::2] *= -1
    np.testing.assert_array_equal(y.copy_to_host(), a)
    with pytest.raises(TypeError, match="strides"):
        vk.kernel(SAXPY)[1](y[:, 0], y[:, 1], 2)


@pytest.mark.parametrize("function", [vk.elementwise, vk.reduction, vk.scan])
def test_examples_of_texts(function):
    runner = doctest.DocTestRunner()
    runner.run(doctest.DocTestParser().get_doctest(function.__doc__, {}, function.__name__, None, None))
    assert runner.tries > 1 and runner.failures == 0
