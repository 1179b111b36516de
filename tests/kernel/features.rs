//! Features of shaders that devices list apart from others: where the device has one a kernel of it computes, elsewhere the
//! kernel is refused by its name.

use vkarray::kernel::Error as KernelError;
use vkarray::{Groups, Kernel, Source};

use super::spirv::source;
use crate::fixture::{Fixture, contents};

fn built(fixture: &Fixture, source: Source, has: bool, name: &str) -> Option<Kernel> {
    let built = fixture.kernel(source).build();
    if has {
        return Some(built.unwrap());
    }
    let error = built.unwrap_err();
    let expected = format!("needs {name}, which {} does not have", fixture.info().name);
    assert!(matches!(error, KernelError::Capability { .. }) && error.to_string().contains(&expected), "{error}");
    None
}

#[test]
fn clocks_run_or_are_refused() {
    let fixture = Fixture::open();
    let features = fixture.info().features;
    let text = "#version 450
        #extension GL_EXT_shader_realtime_clock : require
        #extension GL_ARB_shader_clock : require
        layout(local_size_x = 1) in;
        layout(binding = 0) buffer X { uint x[]; };
        void main() {
            uvec2 first = clockRealtime2x32EXT();
            uint sum = 0;
            for (uint i = 0; i < 20000; i++) sum = sum * 5 + x[0];
            uvec2 last = clockRealtime2x32EXT();
            x[1] = sum;
            x[2] = uint(last.y > first.y || (last.y == first.y && last.x >= first.x));
            x[3] = uint(clock2x32ARB().x != 0xffffffffu);
        }";
    let has = features.subgroup_clock && features.device_clock;
    let Some(kernel) = built(&fixture, Source::glsl(text), has, "shader clocks") else { return };
    let x = fixture.zeros::<u32>([4]).unwrap();
    kernel.launch(Groups::exact([1, 1, 1]), (&x,)).unwrap();
    assert_eq!(contents(&x)[1..3], [0, 1]);
}

#[test]
fn shared_blocks_lie_on_each_other_or_are_refused() {
    let fixture = Fixture::open();
    let text = "#version 450
        #extension GL_EXT_shared_memory_block : require
        layout(local_size_x = 8) in;
        layout(binding = 0) buffer X { uint x[]; };
        shared Words { uint words[8]; } a;
        shared Pairs { uvec2 pairs[4]; } b;
        void main() {
            uint i = gl_LocalInvocationID.x;
            a.words[i] = 3 * i + 1;
            barrier();
            x[i] = b.pairs[i / 2].x * 100 + b.pairs[i / 2].y;
        }";
    let has = fixture.info().features.shared_layout;
    let Some(kernel) = built(&fixture, Source::glsl(text), has, "explicit layout of shared memory") else { return };
    assert_eq!(kernel.signature().shared_bytes, 32);
    let x = fixture.zeros::<u32>([8]).unwrap();
    kernel.launch(Groups::exact([1, 1, 1]), (&x,)).unwrap();
    assert_eq!(contents(&x), [104, 104, 710, 710, 1316, 1316, 1922, 1922]);
}

#[test]
fn values_rotate_in_parts_of_a_subgroup_or_the_kernel_is_refused() {
    let fixture = Fixture::open();
    let features = fixture.info().features;
    let has = features.subgroup_rotate && features.subgroup_rotate_clustered;
    let Some(kernel) = built(&fixture, source("rotate.spv"), has, "subgroup rotation") else { return };
    let x: Vec<u32> = (0..32).map(|i| i * i).collect();
    let (from, to) = (fixture.slice_to_device(&x).unwrap(), fixture.zeros::<u32>([32]).unwrap());
    kernel.launch(Groups::exact([1, 1, 1]), (&from, &to)).unwrap();
    let rotated: Vec<u32> = (0..32).map(|i| x[i / 4 * 4 + (i + 2) % 4]).collect();
    assert_eq!(contents(&to), rotated);
}
