//! Constant memory: how long an argument must be, what is padded with zeros, and where the device's limit is.

use super::*;

#[test]
fn constant_memory_is_bound_at_its_declared_size() {
    let limits = Limits { max_uniform_buffer_range: 48, ..LIMITS };
    let short = ArrayShape { is_padded: true, ..array(DType::F32, &[1]) };
    let error = check(&signature("only_taps"), &positional(&[ArgShape::Array(short)]), &limits).unwrap_err();
    let message = "kernel `only_taps`: `taps` has 64 bytes, the device binds at most 48 bytes of constant memory";
    assert_eq!(error.to_string(), message);
}

#[test]
fn what_constant_memory_lacks_is_padded_only_if_that_is_said() {
    // The declared type, the elements that are given, and the bytes that are needed of an array and of a constant: the
    // padding behind the last number need not be given, and a constant's numbers are packed.
    let cases: &[(&str, DType, &[usize], [u64; 2])] = &[
        ("array<vec4<f32>, 4>", DType::F32, &[15], [64, 64]),
        ("array<vec4<f32>, 4>", DType::F32, &[0], [64, 64]),
        ("vec3<f32>", DType::F32, &[2], [12, 12]),
        ("array<vec3<f32>, 3>", DType::F32, &[2, 3], [44, 36]),
        ("array<vec3<f32>, 3>", DType::F32, &[8], [44, 36]), // The last row is not whole.
        ("array<vec3<f32>, 3>", DType::F32, &[2, 4], [44, 44]),
        ("mat3x3<f32>", DType::F32, &[8], [44, 36]),
        ("Light", DType::U8, &[27], [28, 28]), // Bytes lie as the struct does.
    ];
    for &(ty, dtype, shape, needed) in cases {
        let text = format!(
            "struct Light {{ position: vec3<f32>, a: f32, color: vec2<f32>, b: f32 }}
            @group(0) @binding(0) var<uniform> c: {ty}; @group(0) @binding(1) var<storage, read_write> out: array<u32>;
            @compute @workgroup_size(1) fn k() {{ let all = c; out[0] = 1u; }}"
        );
        let module = Module::parse(&Source::wgsl(text)).unwrap();
        let mut signature = module.translate(None, &Default::default(), &Options::default()).unwrap().signature;
        signature.params.truncate(1);
        let given = array(dtype, shape);
        for (given, needed) in [ArgShape::Array(given), ArgShape::Constant(given)].into_iter().zip(needed) {
            let refused = check(&signature, &[given.into()], &LIMITS).unwrap_err();
            let Error::Argument { problem, .. } = refused else { panic!("{ty}: {refused}") };
            let bytes = array(dtype, shape).nbytes;
            match *problem {
                Mismatch::TooFew { needed: found, given, .. } => assert_eq!((found, given), (needed, bytes), "{ty}"),
                other => panic!("{ty} from {shape:?}: {other}"),
            }
        }
        let padded = ArrayShape { is_padded: true, ..given };
        for given in [ArgShape::Array(padded), ArgShape::Constant(padded)] {
            let refused = check(&signature, &[given.into()], &LIMITS).err();
            let is_length = |error: &Error| error.to_string().contains("padded");
            assert!(!refused.as_ref().is_some_and(is_length), "{ty}: {refused:?}");
        }
    }
}

#[test]
fn a_constant_fits_as_it_is_laid_out() {
    // Kernel, dtype, shape, message if it does not fit.
    let cases: &[(&str, DType, &[usize], Option<&str>)] = &[
        ("only_points", DType::F32, &[5, 3], None), // Storage, laid out on the way.
        ("only_points", DType::F32, &[5, 4], None),
        (
            "only_points",
            DType::F32,
            &[7],
            Some("`points` is array<vec3<f32>>, 12 bytes an element, got 28 bytes, 4 too many"),
        ),
        (
            "only_points",
            DType::F64,
            &[3],
            Some("`points` is array<vec3<f32>>, got an array of f64 with shape (3,); convert it to f32"),
        ),
        ("only_taps", DType::F32, &[16], None),
        (
            "only_taps",
            DType::F32,
            &[0],
            Some(
                "`taps` is array<vec4<f32>, 4> in constant memory, 64 bytes, got 0 bytes; \
                 give the rest, or use `padded`, which reads it as zeros",
            ),
        ),
        (
            "only_taps",
            DType::F32,
            &[17],
            Some("`taps` is array<vec4<f32>, 4> in constant memory, at most 64 bytes, got 68 bytes"),
        ),
        ("only_fixed", DType::Bool, &[16], None), // A truth value is a number of four bytes.
        ("only_fixed", DType::Bool, &[15], Some("`fixed` is array<u32, 16>, exactly 64 bytes, got 60 bytes")),
    ];
    for &(entry, dtype, shape, message) in cases {
        let checked = check(&signature(entry), &positional(&[ArgShape::Constant(array(dtype, shape))]), &LIMITS);
        let found = checked.err().map(|error| error.to_string());
        assert_eq!(found, message.map(|message| format!("kernel `{entry}`: {message}")), "{dtype} {shape:?}");
    }
}
