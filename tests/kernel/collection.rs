//! Shaders of other authors: each shader builds, or is refused with a reason.
//!
//! The crate `vello_shaders` lists the bindings of its shaders; reflection is compared with that list, and two of the
//! shaders are run. Then every kernel in the folder that `VKARRAY_SHADERS` names (.wgsl, .comp, .spv; otherwise
//! `tests/shaders`) is built, and the results are printed. `docs/shaders.md` lists the collections that have been tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use vello_shaders::{BindType, ComputeShader, SHADERS};
use vkarray::kernel::signature::{Access, Module, Options, ParamKind, Signature};
use vkarray::kernel::{Error as KernelError, ShaderError, SpirvError};
use vkarray::{Groups, Source};

use crate::fixture::{Fixture, contents};

/// Every shader of the crate.
fn vello() -> Vec<ComputeShader<'static>> {
    let s = SHADERS;
    vec![
        s.backdrop,
        s.backdrop_dyn,
        s.bbox_clear,
        s.binning,
        s.clip_leaf,
        s.clip_reduce,
        s.coarse,
        s.draw_leaf,
        s.draw_reduce,
        s.fine_area,
        s.fine_msaa16,
        s.fine_msaa8,
        s.flatten,
        s.path_count,
        s.path_count_setup,
        s.path_tiling,
        s.path_tiling_setup,
        s.pathtag_reduce,
        s.pathtag_reduce2,
        s.pathtag_scan1,
        s.pathtag_scan_large,
        s.pathtag_scan_small,
        s.tile_alloc,
    ]
}

fn source(shader: &ComputeShader<'_>) -> Source {
    Source::wgsl(shader.wgsl.code.to_string()).named(shader.name.to_string())
}

fn check_bindings(shader: &ComputeShader<'_>, signature: &Signature) {
    assert_eq!(signature.workgroup_size, shader.workgroup_size, "{}", shader.name);
    let listed: Vec<_> = shader.bindings.iter().zip(shader.wgsl.binding_indices.iter()).collect();
    assert_eq!(signature.params.len(), listed.len(), "{}", shader.name);
    for (param, (ty, index)) in signature.params.iter().zip(listed) {
        let expected = match ty {
            BindType::Uniform => (ParamKind::Uniform, Access::Read),
            BindType::BufReadOnly => (ParamKind::Storage, Access::Read),
            BindType::Buffer => (ParamKind::Storage, Access::ReadWrite),
            BindType::Image => (ParamKind::Image, Access::Write),
            BindType::ImageRead => (ParamKind::Image, Access::Read),
        };
        assert_eq!((param.group, param.binding), (0, u32::from(*index)), "{}: {}", shader.name, param.name);
        assert_eq!((param.kind, param.access), expected, "{}: {}", shader.name, param.name);
    }
}

#[test]
fn shaders_of_a_renderer_have_the_bindings_that_it_lists() {
    let fixture = Fixture::open();
    let limits = &fixture.info().limits;
    let is_small =
        limits.max_per_stage_descriptor_storage_buffers < 16 || limits.max_compute_work_group_invocations < 256;
    let mut n_built = 0;
    for shader in vello() {
        match fixture.kernel(source(&shader)).build() {
            Ok(kernel) => {
                check_bindings(&shader, kernel.signature());
                n_built += 1;
            }
            // The device has few buffers per stage, or small workgroups.
            Err(
                error @ KernelError::Shader(ShaderError::Spirv(
                    SpirvError::BufferCount { .. } | SpirvError::WorkgroupInvocations { .. },
                )),
            ) => {
                assert!(is_small, "{}: {error}", shader.name);
            }
            Err(error) => panic!("{}: {error}", shader.name),
        }
    }
    assert!(n_built == 23 || is_small, "{n_built}");
}

#[test]
fn shaders_of_a_renderer_are_unchanged_by_a_round_trip_through_spirv() {
    for shader in vello() {
        let options = Options { debug_info: true, ..Options::default() };
        let Ok(by_naga) = Module::parse(&source(&shader)).unwrap().translate(None, &BTreeMap::new(), &options) else {
            continue;
        };
        let module = Module::parse(&Source::spirv_words(&by_naga.spirv)).unwrap();
        let by_us = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap();
        let (ours, theirs) = (by_us.signature, by_naga.signature);
        assert_eq!(ours.shared_bytes, theirs.shared_bytes, "{}", shader.name);
        let shapes = |signature: &Signature| {
            let shape = |param: &vkarray::kernel::signature::Param| {
                let place = (param.name.clone(), param.group, param.binding, param.kind, param.access);
                (place, param.fixed_bytes, param.stride, param.ty.leaves())
            };
            signature.params.iter().map(shape).collect::<Vec<_>>()
        };
        assert_eq!(shapes(&ours), shapes(&theirs), "{}", shader.name);
        for (our, their) in ours.params.iter().zip(&theirs.params) {
            // naga reports a write to memory that is only passed to a function; reflection must report all real writes.
            assert!(our.writes <= their.writes && our.reads <= their.reads, "{}: {}", shader.name, our.name);
        }
    }
}

/// The renderer's `Config`: 22 numbers, of which these shaders use some.
fn config(width_in_tiles: u32, n_path: u32) -> [u32; 22] {
    let mut config = [0; 22];
    (config[0], config[6]) = (width_in_tiles, n_path);
    config
}

#[test]
fn shaders_of_a_renderer_compute_the_results_of_the_host() {
    let fixture = Fixture::open();
    let build = |shader: ComputeShader<'_>| fixture.kernel(source(&shader)).build().unwrap_or_else(|e| panic!("{e}"));
    let stream = fixture.default_stream();

    // The boxes are empty: from the largest to the smallest number. A box is four numbers and two more.
    let clear = build(SHADERS.bbox_clear);
    let boxes = fixture.slice_to_device(&[7_u8; 24 * 300]).unwrap();
    let config_array = fixture.slice_to_device(bytemuck::bytes_of(&config(0, 299))).unwrap();
    clear.dispatch(stream, Groups::covering([300]), (&config_array, &boxes)).unwrap();
    let found = contents(&boxes);
    let words: Vec<i32> = found.as_chunks::<4>().0.iter().map(|word| i32::from_ne_bytes(*word)).collect();
    let untouched = 0x0707_0707;
    for (i, found) in words.chunks(6).enumerate() {
        let [least, most] = if i < 299 { [i32::MAX, i32::MIN] } else { [untouched; 2] };
        assert_eq!(found, [least, least, most, most, untouched, untouched], "{i}");
    }

    // Sums along rows of tiles: a tile is a number to sum, and a number that stays unchanged.
    let backdrop = build(SHADERS.backdrop);
    let (width, rows) = (37, 5);
    let tile = |i: i32| [i * 3 - 50, i];
    let tiles: Vec<[i32; 2]> = (0..width * rows).map(tile).collect();
    let array = fixture.slice_to_device(bytemuck::cast_slice::<_, u8>(&tiles)).unwrap();
    let config_array = fixture.slice_to_device(bytemuck::bytes_of(&config(width.unsigned_abs(), 0))).unwrap();
    backdrop.dispatch(stream, Groups::exact([rows.unsigned_abs(), 1, 1]), (&config_array, &array)).unwrap();
    let found = contents(&array);
    let words: Vec<i32> = found.as_chunks::<4>().0.iter().map(|word| i32::from_ne_bytes(*word)).collect();
    for (i, found) in (0..).zip(words.chunks(2)) {
        let sum = (i / width * width..=i).map(|j| tile(j)[0]).sum::<i32>();
        assert_eq!(found, [sum, i], "{i}");
    }
}

/// Every shader in a folder, by its path.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Option<Source> {
    let source = match path.extension()?.to_str()? {
        "wgsl" => Source::wgsl(std::fs::read_to_string(path).ok()?),
        "comp" | "glsl" => Source::glsl(std::fs::read_to_string(path).ok()?),
        "spv" => Source::spirv(std::fs::read(path).ok()?),
        _ => return None,
    };
    Some(source.named(path.file_name()?.to_str()?.to_owned()))
}

#[test]
fn shaders_of_a_folder_build_or_are_refused() {
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/shaders");
    let folder = std::env::var_os("VKARRAY_SHADERS").unwrap_or_else(|| ours.into());
    let fixture = Fixture::open();
    let (mut crashes, mut n_built) = (Vec::new(), 0);
    for source in files(Path::new(&folder)).iter().filter_map(|path| read(path)) {
        let entries: Vec<Option<String>> = match Module::parse(&source) {
            Ok(module) => module.entry_points().map(|entry| Some(entry.to_owned())).collect(),
            Err(_) => vec![None], // The builder reports the same error.
        };
        for entry in entries {
            let builder = fixture.kernel(source.clone());
            let built = match &entry {
                Some(entry) => builder.entry(entry),
                None => builder,
            }
            .build();
            n_built += u32::from(built.is_ok());
            let outcome = match &built {
                Ok(_) => "built".to_owned(),
                Err(error) => error.to_string().lines().take(2).collect::<Vec<_>>().join(" "),
            };
            println!("{}\t{}\t{outcome}", source.name(), entry.as_deref().unwrap_or_default());
            if let Err(KernelError::Shader(ShaderError::CompilerPanicked { .. })) = built {
                crashes.push(source.name().to_owned());
            }
        }
    }
    // A module that breaks a rule within its functions is the author's error, which `spirv-val` reports too.
    fixture.instance().take_messages().iter().for_each(|message| println!("{message}"));
    assert_eq!(crashes, [""; 0]);
    assert!(n_built > 0, "no shader of the folder was built");
}
