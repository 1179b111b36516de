//! GLSL: in the styles of OpenGL and OpenGL ES, with the same results as in those interfaces; beside the same samples in WGSL;
//! and what keeps it from doing harm.

use vkarray::kernel::Sampler;
use vkarray::{Groups, Kernel, Source};

use crate::fixture::{Fixture, contents};

#[test]
fn a_filter_of_opengl_es_runs() {
    let fixture = Fixture::open();
    let text = "#version 310 es
        precision highp float;
        precision mediump int;
        layout(local_size_x = 8, local_size_y = 4, local_size_z = 1) in;
        uniform int width;
        uniform highp int height;
        layout(location = 2) uniform float gain;
        layout(std430, binding = 0) readonly restrict buffer Source { highp float source[]; };
        layout(std430, binding = 1) writeonly buffer Target { float target[]; };
        lowp float at(mediump int x, const in int y) {
            return source[clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)];
        }
        void main() {
            ivec2 p = ivec2(gl_GlobalInvocationID.xy);
            if (p.x >= width || p.y >= height) return;
            float sum = at(p.x - 1, p.y) + at(p.x + 1, p.y) - 2.0 * at(p.x, p.y + 1);
            target[p.y * width + p.x] = gain * sum;
        }";
    let (width, height) = (13_i32, 7_i32);
    let source: Vec<f32> = (0..91_u16).map(|i| f32::from(i * 29 % 64)).collect();
    let (x, y) = (fixture.slice_to_device(&source).unwrap(), fixture.zeros::<f32>([91]).unwrap());
    let kernel = fixture.kernel(Source::glsl(text)).build().unwrap();
    kernel.dispatch(fixture.default_stream(), Groups::covering([13, 7]), (&x, &y, width, height, 0.5_f32)).unwrap();
    let at = |x: i32, y: i32| {
        let place = y.clamp(0, height - 1) * width + x.clamp(0, width - 1);
        source[usize::try_from(place).unwrap()]
    };
    let expected = |i: i32| {
        let (x, y) = (i % width, i / width);
        0.5 * (at(x - 1, y) + at(x + 1, y) - 2.0 * at(x, y + 1))
    };
    assert_eq!(contents(&y), (0..91).map(expected).collect::<Vec<_>>());
}

#[test]
fn a_reduction_of_opengl_runs() {
    let fixture = Fixture::open();
    let text = "#version 430 core
        #define GROUP 64
        layout(local_size_x = GROUP) in;
        layout(push_constant) uniform Push { layout(offset = 0) uint n; layout(offset = 4) uint scale; } push;
        layout(std430, binding = 0) coherent readonly buffer X { uint x[]; };
        layout(std430, binding = 1) coherent writeonly buffer Sums { uint sums[]; };
        struct Inner { float a; vec2 b; };
        struct Outer { Inner a; uint n[3]; };
        shared uint parts[GROUP];
        void zero(inout float value) { value = 0.0; }
        void add(inout uint value, uint by) { value += by; }
        void main() {
            uint local = gl_LocalInvocationID.x;
            uint i = gl_WorkGroupID.x * gl_WorkGroupSize.x + local;
            Outer data;
            data.a.a = 3.0;
            data.a.b = vec2(1.0, 2.0);
            data.n[0] = data.n[1] = data.n[2] = 7u;
            zero(data.a.a);
            add(data.n[i % 3u], i < push.n ? push.scale * x[i] : 0u);
            parts[local] = data.n[i % 3u] - 7u + uint(data.a.a);
            memoryBarrierShared();
            barrier();
            for (uint half_ = GROUP / 2u; half_ > 0u; half_ >>= 1) {
                if (local < half_) parts[local] += parts[local + half_];
                barrier();
                groupMemoryBarrier();
            }
            if (local == 0u) sums[gl_WorkGroupID.x] = parts[0];
        }";
    let values: Vec<u32> = (0..64 * 3 - 5).map(|i| i * i + 1).collect();
    let (x, sums) = (fixture.slice_to_device(&values).unwrap(), fixture.zeros::<u32>([3]).unwrap());
    let kernel = fixture.kernel(Source::glsl(text)).build().unwrap();
    let n = u32::try_from(values.len()).unwrap();
    kernel.dispatch(fixture.default_stream(), Groups::exact([3, 1, 1]), (&x, &sums, n, 3_u32)).unwrap();
    assert_eq!(contents(&sums), values.chunks(64).map(|part| 3 * part.iter().sum::<u32>()).collect::<Vec<_>>());
}

/// The text of a file of `shaders/samples`.
fn sample(file: &str) -> &'static str {
    let files = vkarray::shaders::GLSL_SAMPLES.iter();
    files.clone().find(|(name, _)| *name == file).unwrap_or_else(|| panic!("no {file}")).1
}

/// The sample in WGSL and that in GLSL, with each operation rounded by itself.
fn both(fixture: &Fixture, name: &str) -> [Kernel; 2] {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../shaders/samples");
    let wgsl = Source::wgsl(vkarray::shaders::sample(name).unwrap());
    let glsl = Source::glsl(sample(&format!("{name}.comp"))).include_dir(folder);
    [wgsl, glsl]
        .map(|source| fixture.kernel(source).exact_floats(true).build().unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn samples_in_glsl_compute_what_those_in_wgsl_do() {
    let fixture = Fixture::open();
    let values: Vec<f32> = (0..1003_u16).map(|i| f32::from(i * 37 % 512) / 256.0 - 0.5).collect();
    let x = fixture.slice_to_device(&values).unwrap();
    let [first, second] = both(&fixture, "saxpy").map(|saxpy| {
        let y = fixture.slice_to_device(&values).unwrap();
        saxpy.launch(Groups::covering(values.len()), (&x, &y, 0.3_f32)).unwrap();
        contents(&y)
    });
    assert_eq!(first, second);
    let [first, second] = both(&fixture, "histogram").map(|histogram| {
        let bins = fixture.zeros::<u32>([256]).unwrap();
        histogram.launch(Groups::exact([3, 1, 1]), (&x, &bins)).unwrap();
        contents(&bins)
    });
    assert_eq!((first.iter().sum::<u32>(), first), (1003, second));
    let [first, second] = both(&fixture, "mandelbrot").map(|mandelbrot| {
        let image = fixture.zeros::<f32>([31, 45, 4]).unwrap();
        mandelbrot.launch(Groups::covering([45, 31]), (&image, 45_u32, 31_u32, [-0.7_f32, 0.1], 1.25_f32)).unwrap();
        contents(&image)
    });
    assert_eq!(first, second);
    assert!(first.iter().any(|&value| value > 0.0 && value < 1.0));
    let bytes: Vec<u8> = (0..=255_u8).cycle().step_by(37).take(31 * 45 * 4).collect();
    let picture = fixture.slice_to_device(&bytes).unwrap();
    let (picture, how) = (picture.reshape([31, 45, 4]).unwrap(), Sampler::linear().mirror());
    let [first, second] = [true, false].map(|is_wgsl| {
        let rotate = &both(&fixture, "rotate")[usize::from(!is_wgsl)];
        let turned = fixture.zeros::<u8>([31, 45, 4]).unwrap();
        let groups = Groups::covering([45, 31]);
        match is_wgsl {
            true => rotate.launch(groups, (&picture, how, &turned, 0.7_f32)).unwrap(),
            false => rotate.launch(groups, (how.of(&picture), &turned, 0.7_f32)).unwrap(),
        }
        contents(&turned)
    });
    assert_eq!(first, second);
}

#[test]
fn an_index_out_of_range_of_any_memory_does_no_harm() {
    let fixture = Fixture::open();
    let text = "#version 450
        layout(local_size_x = 4) in;
        layout(std430, binding = 0) buffer X { uint x[]; };
        layout(push_constant) uniform Push { uint far; uint table[3]; } push;
        shared uint tile[4];
        void main() {
            uint own[3] = uint[3](1u, 2u, 3u);
            uint i = gl_LocalInvocationID.x;
            tile[i + push.far] = 7u;
            barrier();
            own[i + push.far] = 5u;
            x[i + push.far] = push.table[push.far] + own[push.far] + tile[3];
            if (i == 0u) x[0] = 40u + own[2];
        }";
    let kernel = fixture.kernel(Source::glsl(text)).build().unwrap();
    let memory = fixture.zeros::<u32>([64]).unwrap();
    let x = memory.slice_axis(0, 0..8).unwrap();
    kernel.launch(Groups::exact([1, 1, 1]), (&x, 1_000_000_u32, [0_u32; 3])).unwrap();
    assert_eq!(contents(&memory)[8..], [0; 56]);
    assert_eq!(contents(&x)[0], 45);
}

#[test]
fn shared_memory_starts_as_zeros() {
    let fixture = Fixture::open();
    let is_zeroed =
        fixture.info().features.zero_initialize_workgroup_memory && !fixture.info().name.contains("SwiftShader");
    let text = "#version 450
        layout(local_size_x = 64) in;
        layout(std430, binding = 0) buffer X { uint x[]; };
        layout(push_constant) uniform Push { uint fill; };
        shared uint tile[1024];
        void main() {
            uint sum = 0u;
            for (uint i = gl_LocalInvocationID.x; i < 1024u; i += 64u) {
                sum += tile[i];
                tile[i] = fill;
            }
            atomicAdd(x[0], sum);
        }";
    let kernel = fixture.kernel(Source::glsl(text)).build().unwrap();
    let x = fixture.zeros::<u32>([1]).unwrap();
    for fill in [1_u32, 2] {
        kernel.launch(Groups::exact([16, 1, 1]), (&x, fill)).unwrap();
    }
    // Elsewhere the memory holds anything, as GLSL leaves it.
    let found = contents(&x);
    assert!(found == [0] || !is_zeroed, "{found:?}");
}
