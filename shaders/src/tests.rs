//! Tests of the shader texts without a device: every sample is listed, has the documented names and compiles to SPIR-V
//! for several values of its constants; so do the generated kernels for channels. What the shaders compute is tested on a
//! device, in `tests/`.

use std::collections::BTreeSet;

use naga::back::{pipeline_constants::process_overrides, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

use super::SAMPLES;
use super::channels::{ChannelDirection, ChannelWords, Channels};

/// Parses and validates one shader; panics with naga's message if it is invalid.
fn module(name: &str, source: &str) -> (naga::Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(source).unwrap_or_else(|e| panic!("{}", e.emit_to_string(source)));
    let validated = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES).validate(&module);
    let info = validated.unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(source)));
    (module, info)
}

#[test]
fn every_sample_file_is_listed_and_has_one_entry_point_of_its_name() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/samples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let listed = SAMPLES.iter().map(|(name, _)| format!("{name}.wgsl"));
    assert_eq!(files.collect::<BTreeSet<_>>(), listed.collect::<BTreeSet<_>>());
    for (name, source) in SAMPLES {
        let (module, _) = module(name, source);
        let entries: Vec<&str> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(entries, [*name]);
    }
}

#[test]
fn samples_have_the_documented_parameters_and_constants() {
    // Sample, parameters, constants. The command line refers to these names.
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("invert", &["image"], &[]),
        ("saxpy", &["x", "y", "a"], &["WORKGROUP"]),
        ("julia", &["image", "width", "height", "c_re", "c_im", "scale"], &["MAX_ITER"]),
        (
            "convolve",
            &["source", "target_image", "weights", "width", "height", "radius_x", "radius_y"],
            &["TILE", "HALO"],
        ),
    ];
    assert_eq!(cases.len(), SAMPLES.len());
    for ((name, source), (case, names, constants)) in SAMPLES.iter().zip(cases) {
        assert_eq!(name, case);
        let (module, _) = module(name, source);
        assert_eq!(argument_names(&module), *names, "{name}");
        let found: Vec<&str> = module.overrides.iter().filter_map(|(_, o)| o.name.as_deref()).collect();
        assert_eq!(found, *constants, "{name}");
    }
}

/// The names of the bound globals; for an immediate struct, those of its members.
fn argument_names(module: &naga::Module) -> Vec<&str> {
    let mut names = Vec::new();
    for (_, global) in module.global_variables.iter().filter(|(_, g)| g.space != naga::AddressSpace::WorkGroup) {
        match (&module.types[global.ty].inner, global.space) {
            (naga::TypeInner::Struct { members, .. }, naga::AddressSpace::Immediate) => {
                names.extend(members.iter().filter_map(|m| m.name.as_deref()));
            }
            _ => names.extend(global.name.as_deref()),
        }
    }
    names
}

#[test]
fn every_sample_compiles_to_spirv() {
    // Sample, constants, workgroup size, bytes of workgroup memory.
    type Case<'a> = (&'a str, &'a [(&'a str, f64)], [u32; 3], u32);
    let cases: &[Case<'_>] = &[
        ("invert", &[], [64, 1, 1], 0),
        ("saxpy", &[], [256, 1, 1], 0),
        ("saxpy", &[("WORKGROUP", 1.0)], [1, 1, 1], 0),
        ("julia", &[("MAX_ITER", 1000.0)], [16, 16, 1], 0),
        ("convolve", &[], [16, 16, 1], 24 * 24 * 16),
        ("convolve", &[("TILE", 1.0), ("HALO", 0.0)], [1, 1, 1], 16), // The smallest tile.
        ("convolve", &[("TILE", 7.0), ("HALO", 3.0)], [7, 7, 1], 13 * 13 * 16), // Not a power of two.
        ("convolve", &[("TILE", 32.0), ("HALO", 15.0)], [32, 32, 1], 62 * 62 * 16),
    ];
    for (name, constants, workgroup_size, shared) in cases {
        let source = SAMPLES.iter().find(|(sample, _)| sample == name).unwrap().1;
        let (module, info) = module(name, source);
        let constants = constants.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
        let (module, info) = process_overrides(&module, &info, None, &constants).unwrap();
        let words = spv::write_vec(&module, &info, &spv::Options::default(), None).unwrap();
        assert!(words.len() > 100, "{name}: {} words", words.len());
        assert_eq!(module.entry_points[0].workgroup_size, *workgroup_size, "{name} {constants:?}");
        assert_eq!(shared_bytes(&module), *shared, "{name} {constants:?}");
    }
}

fn shared_bytes(module: &naga::Module) -> u32 {
    let shared = module.global_variables.iter().filter(|(_, g)| g.space == naga::AddressSpace::WorkGroup);
    shared.map(|(_, g)| module.types[g.ty].inner.size(module.to_ctx())).sum()
}

#[test]
fn samples_are_short_and_begin_with_their_formula() {
    for (name, source) in SAMPLES {
        let n_lines = source.lines().count();
        assert!(n_lines <= 80, "{name}: {n_lines} lines");
        let first = source.lines().next().unwrap();
        assert!(first.starts_with("// ") && first.contains(" = "), "{name}: {first}");
    }
}

#[test]
fn kernels_for_any_number_of_channels_are_valid() {
    let check = |name: &str, text: &str, entry: &str, shared: u32| {
        let (module, _) = module(name, text);
        let entries: Vec<&str> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!((entries, shared_bytes(&module)), (vec![entry], shared), "{name}");
    };
    for (direction, entries) in [
        (ChannelDirection::ToPlanes, ["copy_to_planes", "copy_words_to_planes"]),
        (ChannelDirection::ToPixels, ["copy_to_pixels", "copy_words_to_pixels"]),
    ] {
        for (unit_bytes, item_bytes) in [(1, 4), (1, 16), (2, 8), (4, 4), (4, 16), (8, 8), (16, 16)] {
            for channels in [2, 3, 16] {
                let of = Channels { direction, unit_bytes, item_bytes, channels, blocks: 2, group: 64, lanes: 16 };
                check(&format!("{of:?}"), &of.text(), entries[0], of.shared_bytes());
            }
        }
        for (unit_bytes, channels, pixel) in [(1, 2, 2), (1, 3, 3), (2, 64, 64), (1, 3, 4)] {
            let of = ChannelWords { direction, unit_bytes, channels, pixel, tile_words: 64, group: 64 };
            check(&format!("{of:?}"), &of.text(), entries[1], of.shared_bytes());
        }
    }
}
