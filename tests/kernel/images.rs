//! Arrays as images, buffers of texels and samplers, with numbers known beforehand; refused ones; and their order.

use vkarray::kernel::Sampler;
use vkarray::{DeviceNDArray, Element, Groups, Kernel, Source, Stream};

use super::kernel;
use crate::fixture::{Fixture, contents};

/// An array whose shape has the elements of a list.
fn array<T: Element>(fixture: &Fixture, values: &[T], shape: &[usize]) -> DeviceNDArray<T> {
    fixture.slice_to_device(values).unwrap().reshape(shape).unwrap()
}

fn ramp(n: u16) -> Vec<f32> {
    (0..n).map(|i| f32::from(i) + 0.25).collect()
}

#[test]
fn each_dimension_is_read_where_the_array_has_it() {
    let fixture = Fixture::open();
    // The type, the place of texel `i`, the shape, and the elements in the order of `i`.
    let cases: [(&str, &str, &[usize]); 5] = [
        ("texture_1d<f32>", "i", &[7]),
        ("texture_2d<f32>", "vec2(i % 5, i / 5)", &[3, 5]),
        ("texture_2d<f32>", "vec2(i, 0)", &[1, 1, 1]),
        ("texture_3d<f32>", "vec3(i % 5, i / 5 % 3, i / 15)", &[2, 3, 5]),
        ("texture_2d_array<f32>", "vec2(i % 5, i / 5 % 3), i / 15", &[2, 3, 5]),
    ];
    for (ty, place, shape) in cases {
        let load = kernel(
            &fixture,
            format!(
                "@group(0) @binding(0) var image: {ty};
                 @group(0) @binding(1) var<storage, read_write> out: array<f32>;
                 @compute @workgroup_size(1) fn load(@builtin(global_invocation_id) id: vec3<u32>) {{
                     let i = id.x;
                     out[i] = textureLoad(image, {place}, 0).x;
                 }}"
            ),
        );
        let n = shape.iter().product::<usize>();
        let values = ramp(u16::try_from(n).unwrap());
        let (image, out) = (array(&fixture, &values, shape), fixture.zeros::<f32>([n]).unwrap());
        load.launch(Groups::covering(n), (&image, &out)).unwrap();
        assert_eq!(contents(&out), values, "{ty}");
    }
}

#[test]
fn storage_images_of_each_dimension_are_written_and_read() {
    let fixture = Fixture::open();
    let cases: [(&str, &str, &[usize]); 4] = [
        ("1d", "i", &[7]),
        ("2d", "vec2(i % 5, i / 5)", &[3, 5]),
        ("3d", "vec3(i % 5, i / 5 % 3, i / 15)", &[2, 3, 5]),
        ("2d_array", "vec2(i % 5, i / 5 % 3), i / 15", &[2, 3, 5]),
    ];
    for (dim, place, shape) in cases {
        let double = kernel(
            &fixture,
            format!(
                "@group(0) @binding(0) var image: texture_storage_{dim}<r32float, read_write>;
                 @compute @workgroup_size(1) fn double(@builtin(global_invocation_id) id: vec3<u32>) {{
                     let i = id.x;
                     textureStore(image, {place}, 2.0 * textureLoad(image, {place}));
                 }}"
            ),
        );
        let n = shape.iter().product::<usize>();
        let values = ramp(u16::try_from(n).unwrap());
        let image = array(&fixture, &values, shape);
        double.launch(Groups::covering(n - 1), (&image,)).unwrap(); // The last one stays.
        double.launch(Groups::covering(n - 1), (&image,)).unwrap();
        let last = n - 1;
        let expected: Vec<f32> = values.iter().enumerate().map(|(i, x)| if i < last { 4.0 * x } else { *x }).collect();
        assert_eq!(contents(&image), expected, "{dim}");
    }
}

#[test]
fn the_format_follows_from_the_array_and_what_the_shader_sees() {
    let fixture = Fixture::open();
    let load = |scalar: &str| {
        kernel(
            &fixture,
            format!(
                "@group(0) @binding(0) var image: texture_2d<{scalar}>;
                 @group(0) @binding(1) var<storage, read_write> out: array<vec4<{scalar}>>;
                 @compute @workgroup_size(1) fn load(@builtin(global_invocation_id) id: vec3<u32>) {{
                     out[id.x] = textureLoad(image, vec2(id.x, 0), 0);
                 }}"
            ),
        )
    };
    fn case<T: Element, U: Element + PartialEq + std::fmt::Debug>(
        fixture: &Fixture,
        load: &Kernel,
        (values, channels): (&[T], usize),
        expected: &[U],
    ) {
        let width = values.len() / channels;
        let image = array(fixture, values, &[1, width, channels]);
        let out = fixture.zeros::<U>([width, 4]).unwrap();
        load.launch(Groups::covering(width), (&image, &out)).unwrap();
        assert_eq!(contents(&out), expected, "{} channels of {}", channels, T::DTYPE);
    }
    let (f32s, u32s, i32s) = (load("f32"), load("u32"), load("i32"));
    let half = vkarray::half::f16::from_f32;
    case(&fixture, &f32s, (&[0_u8, 255], 1), &[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0_f32]);
    case(&fixture, &f32s, (&[-127_i8, 127], 2), &[-1.0, 1.0, 0.0, 1.0_f32]);
    case(&fixture, &f32s, (&[half(0.5), half(-2.0), half(3.0), half(4.0)], 4), &[0.5, -2.0, 3.0, 4.0_f32]);
    case(&fixture, &f32s, (&[1.5_f32, -2.5], 2), &[1.5, -2.5, 0.0, 1.0_f32]);
    case(&fixture, &u32s, (&[0_u8, 255, 51, 7], 4), &[0, 255, 51, 7_u32]);
    case(&fixture, &u32s, (&[65535_u16, 3], 1), &[65535, 0, 0, 1, 3, 0, 0, 1_u32]);
    case(&fixture, &u32s, (&[u32::MAX, 5], 2), &[u32::MAX, 5, 0, 1_u32]);
    case(&fixture, &i32s, (&[-128_i8, 127], 1), &[-128, 0, 0, 1, 127, 0, 0, 1_i32]);
    case(&fixture, &i32s, (&[i32::MIN, 5, 6, 7], 4), &[i32::MIN, 5, 6, 7_i32]);
}

#[test]
fn a_picture_is_written_in_the_format_of_the_shader() {
    let fixture = Fixture::open();
    let paint = kernel(
        &fixture,
        "@group(0) @binding(0) var picture: texture_storage_2d<rgba8unorm, write>;
         @compute @workgroup_size(4, 4) fn paint(@builtin(global_invocation_id) id: vec3<u32>) {
             textureStore(picture, id.xy, vec4(vec2<f32>(id.xy) / 255.0, 1.0, 2.0)); // What is out of range is dropped.
         }",
    );
    let picture = fixture.zeros::<u8>([3, 5, 4]).unwrap();
    paint.launch(Groups::covering([8, 8]), (&picture,)).unwrap();
    let texel = |i: u8| [i % 5, i / 5, 255, 255];
    assert_eq!(contents(&picture), (0..15).flat_map(texel).collect::<Vec<u8>>());
}

/// What a sampler reads of the texels 1 and 5 at eight places.
const SAMPLE: &str = "@group(0) @binding(0) var image: texture_1d<f32>;
     @group(0) @binding(1) var how: sampler;
     @group(0) @binding(2) var<storage, read> at: array<f32>;
     @group(0) @binding(3) var<storage, read_write> out: array<f32>;
     @compute @workgroup_size(1) fn sample(@builtin(global_invocation_id) id: vec3<u32>) {
         out[id.x] = textureSampleLevel(image, how, at[id.x], 0.0).x;
     }";

#[test]
fn samplers_differ_between_and_beyond_texels() {
    let fixture = Fixture::open();
    let sample = kernel(&fixture, SAMPLE);
    let image = fixture.slice_to_device(&[1.0_f32, 5.0]).unwrap();
    // Between the texels, in the middle of each, and beyond each edge by half a texel.
    let at = fixture.slice_to_device(&[0.25_f32, 0.5, 0.625, 0.75, 1.25, -0.25]).unwrap();
    let out = fixture.zeros::<f32>([6]).unwrap();
    let cases = [
        (Sampler::linear(), [1.0, 3.0, 4.0, 5.0, 5.0, 1.0]),
        (Sampler::linear().repeat(), [1.0, 3.0, 4.0, 5.0, 1.0, 5.0]),
        (Sampler::linear().mirror(), [1.0, 3.0, 4.0, 5.0, 5.0, 1.0]),
        (Sampler::linear().border(), [1.0, 3.0, 4.0, 5.0, 0.0, 0.0]),
        (Sampler::nearest(), [1.0, 5.0, 5.0, 5.0, 5.0, 1.0]),
        (Sampler::nearest().border(), [1.0, 5.0, 5.0, 5.0, 0.0, 0.0]),
    ];
    for (sampler, expected) in cases {
        // Samplers go to samplers, wherever they stand.
        sample.launch(Groups::covering(6), (sampler, &image, &at, &out)).unwrap();
        assert_eq!(contents(&out), expected, "{sampler:?}");
    }
    let texels = at.slice(vkarray::s![..]).unwrap();
    texels.copy_from_host(&vkarray::ndarray::arr1(&[0.5_f32, 1.0, 1.25, 1.5, 2.5, -0.5])).unwrap();
    sample.launch(Groups::covering(6), (&image, Sampler::linear().unnormalized(), &at, &out)).unwrap();
    assert_eq!(contents(&out), [1.0, 3.0, 4.0, 5.0, 5.0, 1.0]);
}

#[test]
fn an_image_with_its_sampler_is_one_parameter_of_glsl() {
    let fixture = Fixture::open();
    let text = "#version 450
        layout(local_size_x = 1) in;
        layout(binding = 0) uniform sampler2D image;
        layout(binding = 1, rgba32f) uniform writeonly image2D target;
        layout(push_constant) uniform Push { float at; };
        void main() {
            ivec2 p = ivec2(gl_GlobalInvocationID.xy);
            imageStore(target, p, texture(image, (vec2(p) + at) / vec2(textureSize(image, 0))));
        }";
    let shrink = fixture.kernel(Source::glsl(text)).build().unwrap();
    let image = array(&fixture, &[0.0_f32, 4.0, 8.0, 12.0, 16.0, 20.0], &[2, 3]);
    let target = fixture.zeros::<f32>([1, 2, 4]).unwrap();
    shrink.launch(Groups::covering([2, 1]), (Sampler::linear().of(&image), &target, 1.0_f32)).unwrap();
    // The corner between four texels is their mean.
    assert_eq!(contents(&target), [8.0, 0.0, 0.0, 1.0, 12.0, 0.0, 0.0, 1.0]);
    shrink.launch(Groups::covering([2, 1]), (&image, &target, 1.25_f32)).unwrap(); // The nearest texel.
    assert_eq!(contents(&target), [16.0, 0.0, 0.0, 1.0, 20.0, 0.0, 0.0, 1.0]);
}

#[test]
fn buffers_of_texels_are_the_array_itself() {
    let fixture = Fixture::open();
    let text = "#version 450
        layout(local_size_x = 1) in;
        layout(binding = 0) uniform samplerBuffer x;
        layout(binding = 1, r32ui) uniform uimageBuffer y;
        void main() {
            int i = int(gl_GlobalInvocationID.x);
            imageStore(y, i, imageLoad(y, i) + uint(texelFetch(x, i).y * 255.0 + 0.5));
        }";
    let add = fixture.kernel(Source::glsl(text)).build().unwrap();
    let x = array(&fixture, &[0_u8, 1, 0, 2, 0, 3], &[3, 2]);
    let y = fixture.slice_to_device(&[10_u32, 20, 30]).unwrap();
    add.launch(Groups::covering(3), (&x, &y)).unwrap();
    add.launch(Groups::covering(3), (&x, &y)).unwrap();
    assert_eq!(contents(&y), [12, 24, 36]);
}

#[test]
fn an_image_follows_each_change_of_its_array() {
    let fixture = Fixture::open();
    let copy = kernel(
        &fixture,
        "@group(0) @binding(0) var image: texture_1d<f32>;
         @group(0) @binding(1) var<storage, read_write> out: array<f32>;
         @compute @workgroup_size(1) fn copy(@builtin(global_invocation_id) id: vec3<u32>) {
             out[id.x] = textureLoad(image, id.x, 0).x;
         }",
    );
    let store = kernel(
        &fixture,
        "@group(0) @binding(0) var image: texture_storage_1d<r32float, write>;
         var<immediate> value: f32;
         @compute @workgroup_size(1) fn store() { textureStore(image, 1u, vec4(value)); }",
    );
    let [first, second] = [(); 2].map(|()| Stream::new(fixture.device()).unwrap());
    let (x, out) = (fixture.full([3], 1.0_f32).unwrap(), fixture.zeros::<f32>([3]).unwrap());
    let seen = |stream: &Stream| {
        copy.dispatch(stream, Groups::covering(3), (&x, &out)).unwrap();
        contents(&out)
    };
    assert_eq!(seen(&first), [1.0; 3]);
    assert_eq!(seen(&second), [1.0; 3]); // As the image is.
    x.fill(2.0).unwrap();
    assert_eq!(seen(&first), [2.0; 3]);
    store.dispatch(&second, Groups::covering(1), (&x, 7.0_f32)).unwrap();
    assert_eq!(seen(&first), [2.0, 7.0, 2.0]);
    store.dispatch(&second, Groups::covering(1), (&x, 8.0_f32)).unwrap();
    assert_eq!(contents(&x), [2.0, 8.0, 2.0]);
    for value in 0..20_u8 {
        store.dispatch(&first, Groups::covering(1), (&x, f32::from(value))).unwrap();
        copy.dispatch(&second, Groups::covering(3), (&x, &out)).unwrap();
    }
    assert_eq!(contents(&out), [2.0, 19.0, 2.0]);
    assert!(fixture.allocator().image_bytes() > 0);
}

#[test]
fn an_array_may_be_two_images_that_are_read() {
    let fixture = Fixture::open();
    let add = kernel(
        &fixture,
        "@group(0) @binding(0) var a: texture_1d<f32>;
         @group(0) @binding(1) var b: texture_1d<f32>;
         @group(0) @binding(2) var<storage, read_write> out: array<f32>;
         @compute @workgroup_size(1) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
             out[id.x] = textureLoad(a, id.x, 0).x + textureLoad(b, 2u - id.x, 0).x;
         }",
    );
    let (x, out) = (fixture.slice_to_device(&[1.0_f32, 2.0, 4.0]).unwrap(), fixture.zeros::<f32>([3]).unwrap());
    for scale in [1.0, 10.0] {
        x.copy_from_host(&vkarray::ndarray::arr1(&[scale, 2.0 * scale, 4.0 * scale])).unwrap();
        for _ in 0..2 {
            add.launch(Groups::covering(3), (&x, &x, &out)).unwrap();
            assert_eq!(contents(&out), [5.0 * scale, 4.0 * scale, 5.0 * scale]);
        }
    }
}

#[test]
fn a_view_is_an_image_of_its_own_bytes() {
    let fixture = Fixture::open();
    let twice = kernel(
        &fixture,
        "@group(0) @binding(0) var image: texture_storage_1d<r32float, read_write>;
         @compute @workgroup_size(1) fn twice(@builtin(global_invocation_id) id: vec3<u32>) {
             textureStore(image, id.x, 2.0 * textureLoad(image, id.x));
         }",
    );
    let x = fixture.slice_to_device(&ramp(7)).unwrap();
    twice.launch(Groups::covering(3), (&x.slice(vkarray::s![1..4]).unwrap(),)).unwrap();
    assert_eq!(contents(&x), [0.25, 2.5, 4.5, 6.5, 4.25, 5.25, 6.25]);
    // A texel of 16 bytes does not begin at byte 4, so the view is copied and copied back.
    let wide = kernel(
        &fixture,
        "@group(0) @binding(0) var image: texture_storage_1d<rgba32float, read_write>;
         @compute @workgroup_size(1) fn wide() { textureStore(image, 0u, -textureLoad(image, 0u)); }",
    );
    let view = x.slice(vkarray::s![1..5]).unwrap().reshape([1, 4]).unwrap();
    wide.launch(Groups::covering(1), (&view,)).unwrap();
    assert_eq!(contents(&x), [0.25, -2.5, -4.5, -6.5, -4.25, 5.25, 6.25]);
}

#[test]
fn a_graph_copies_to_its_images_at_every_replay() {
    let fixture = Fixture::open();
    let sample = kernel(&fixture, SAMPLE);
    let image = fixture.slice_to_device(&[1.0_f32, 5.0]).unwrap();
    let (at, out) = (fixture.full([1], 0.5_f32).unwrap(), fixture.zeros::<f32>([1]).unwrap());
    let stream = fixture.default_stream();
    let (mut graph, node) = vkarray::Graph::record(stream, |graph| {
        sample.record(graph, Groups::covering(1), (&image, Sampler::linear(), &at, &out))
    })
    .unwrap();
    graph.replay(stream).unwrap();
    assert_eq!(contents(&out), [3.0]);
    image.fill(9.0).unwrap();
    graph.replay(stream).unwrap();
    assert_eq!(contents(&out), [9.0]);
    node.set(&mut graph, "image", fixture.slice_to_device(&[2.0_f32, 4.0]).unwrap()).unwrap();
    graph.replay(stream).unwrap();
    assert_eq!(contents(&out), [3.0]);
}

#[test]
fn what_is_no_such_image_is_refused_by_name() {
    let fixture = Fixture::open();
    let sample = kernel(&fixture, SAMPLE);
    let f32s = |shape: &[usize]| fixture.zeros::<f32>(shape).unwrap();
    let (x, at, out) = (f32s(&[2]), f32s(&[1]), f32s(&[1]));
    let one = Groups::covering(1);
    let refused = |result: Result<(), vkarray::kernel::Error>, text: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(text), "{error}\nhas no\n{text}");
    };
    let linear = Sampler::linear();
    refused(
        sample.launch(one, (&f32s(&[2, 3]), linear, &at, &out)),
        "`image` is texture_1d<f32>, got an array of f32 with shape (2, 3), 3 numbers a texel",
    );
    refused(sample.launch(one, (&f32s(&[2, 2, 2]), linear, &at, &out)), "an array of shape (width[, channels])");
    refused(sample.launch(one, (&fixture.zeros::<f64>([2]).unwrap(), linear, &at, &out)), "convert it to f32");
    refused(sample.launch(one, (&x, linear.repeat().unnormalized(), &at, &out)), "`how` takes no such sampler");
    refused(
        sample.launch(one, (linear.of(&x), linear, &at, &out)),
        "`image` takes no such sampler: its image has none",
    );
    refused(sample.launch(one, (&x, &x, &at, &out)), "`how` is a sampler, got an array");
    refused(sample.launch(one, (&x, linear, &at)), "takes 4 arguments");
    refused(
        sample.launch(one, (&f32s(&[1 << 21]), linear, &at, &out)),
        "2097152×1×1 texels and 1 layers, it has at most",
    );
    let aliased = kernel(
        &fixture,
        "@group(0) @binding(0) var image: texture_1d<f32>;
         @group(0) @binding(1) var<storage, read_write> out: array<f32>;
         @compute @workgroup_size(1) fn k() { out[0] = textureLoad(image, 0, 0).x; }",
    );
    refused(aliased.launch(one, (&x, &x)), "shares memory with `image`");
    assert_eq!(contents(&x), [0.0, 0.0]);
}

#[test]
fn coordinates_out_of_range_do_no_harm() {
    let fixture = Fixture::open();
    let text = "#version 450
        layout(local_size_x = 1) in;
        layout(binding = 0) uniform sampler2D from;
        layout(binding = 1, r32f) uniform image2D to;
        layout(binding = 2) buffer Out { float seen[]; };
        layout(push_constant) uniform Push { int far; };
        void main() {
            seen[0] = texelFetch(from, ivec2(far, 0), 0).x + texelFetch(from, ivec2(0, -far), 0).x;
            seen[1] = imageLoad(to, ivec2(1, far)).x;
            imageStore(to, ivec2(far, -far), vec4(7.0));
            imageStore(to, ivec2(0, far), vec4(7.0));
        }";
    let reach = fixture.kernel(Source::glsl(text)).build().unwrap();
    let (from, to) = (array(&fixture, &[1.0_f32; 15], &[3, 5]), array(&fixture, &[2.0_f32; 15], &[3, 5]));
    for far in [5, 100, 1 << 20, i32::MAX] {
        let seen = fixture.full([2], 9.0_f32).unwrap();
        reach.launch(Groups::covering(1), (&from, &to, &seen, far)).unwrap();
        assert_eq!((contents(&seen), contents(&to)), (vec![0.0; 2], vec![2.0; 15]), "{far}");
    }
}

#[test]
fn a_kernel_with_checks_has_images_and_samplers_too() {
    let fixture = Fixture::open();
    let text = "@group(0) @binding(0) var how: sampler;
         @group(0) @binding(1) var image: texture_2d<f32>;
         @group(0) @binding(2) var<storage, read_write> out: array<f32>;
         var<immediate> last: u32;
         @compute @workgroup_size(1) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
             out[id.x + last] = textureSampleLevel(image, how, vec2(0.5), 0.0).x;
         }";
    let checked = fixture.kernel(Source::wgsl(text)).sanitize(true).build().unwrap();
    let (image, out) = (array(&fixture, &[3.0_f32; 4], &[2, 2]), fixture.zeros::<f32>([3]).unwrap());
    checked.launch(Groups::covering(2), (Sampler::nearest(), &image, &out, 1_u32)).unwrap();
    assert_eq!(contents(&out), [0.0, 3.0, 3.0]);
    let error = checked.launch(Groups::covering(2), (Sampler::nearest(), &image, &out, 2_u32)).unwrap_err();
    assert!(error.to_string().contains("`out`"), "{error}");
}
