//! Kernels in the style of renderers, in WGSL (`tests/shaders/renderer`): lists for tiles, scans of structs, packed bytes
//! and colours, pointers to locals. Each result is compared with a computation on the host. The shaders of a published
//! renderer are in `collection.rs`.

use vkarray::{Groups, Kernel, Source};

use crate::fixture::{Fixture, contents};

fn source(file: &str) -> Source {
    let path = format!("{}/shaders/renderer/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    Source::wgsl(text).named(file.to_owned())
}

fn kernel(fixture: &Fixture, file: &str) -> Kernel {
    fixture.kernel(source(file)).build().unwrap_or_else(|error| panic!("{error}"))
}

/// The host's form of the shaders' `Disc`.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Disc {
    centre: [f32; 2],
    radius: f32,
    colour: [u8; 4],
}

/// Discs on a picture of 70 × 50, some of them partly outside.
fn discs(n: u8) -> Vec<Disc> {
    let disc = |i: u8| {
        let at = |factor: u16, size: u16| f32::from(u16::from(i) * factor % (size * 4)) / 4.0;
        Disc {
            centre: [at(53, 72), at(37, 52)],
            radius: f32::from(i % 7) + 0.75,
            colour: [i.wrapping_mul(29), 255 - i, i.wrapping_mul(91), 60 + i],
        }
    };
    (0..n).map(disc).collect()
}

#[test]
fn discs_are_listed_in_the_tiles_they_touch() {
    const TILES: [usize; 2] = [9, 7];
    const CAPACITY: usize = 5;
    let fixture = Fixture::open();
    let binning = kernel(&fixture, "bin_discs.wgsl");
    let discs = discs(90);
    let config = [9_u32, 7, 8.0_f32.to_bits(), 5];
    let config = fixture.slice_to_device(bytemuck::cast_slice::<_, u8>(&config)).unwrap();
    let array = fixture.slice_to_device(bytemuck::cast_slice::<_, u8>(&discs)).unwrap();
    let tiles = fixture.zeros::<u8>([TILES[0] * TILES[1] * 8]).unwrap();
    let lists = fixture.full([TILES[0] * TILES[1] * CAPACITY], u32::MAX).unwrap();
    let groups = Groups::covering([90]);
    binning.dispatch(fixture.default_stream(), groups, (&config, &array, &tiles, &lists)).unwrap();

    let touches = |tile: usize, disc: &Disc| {
        let at = [tile % TILES[0], tile / TILES[0]];
        (0..2).all(|axis| {
            // The boxes are clamped to the picture, so that discs outside are in the tiles at its edge.
            let last = i16::try_from(TILES[axis] - 1).unwrap();
            let tile_of = |x: f32| (x / 8.0).floor().clamp(0.0, f32::from(last));
            let (low, high) = (disc.centre[axis] - disc.radius, disc.centre[axis] + disc.radius);
            let tile = f32::from(u8::try_from(at[axis]).unwrap());
            (tile_of(low)..=tile_of(high)).contains(&tile)
        })
    };
    let (found, lists) = (contents(&tiles), contents(&lists));
    let mut n_full = 0;
    for (tile, (numbers, list)) in found.chunks(8).zip(lists.chunks(CAPACITY)).enumerate() {
        let number = |at: usize| u32::from_ne_bytes(numbers[at..at + 4].try_into().unwrap()) as usize;
        let expected: Vec<usize> = (0..90).filter(|&i| touches(tile, &discs[i])).collect();
        assert_eq!(number(0), expected.len(), "tile {tile}");
        assert_eq!(number(4), expected.len().saturating_sub(CAPACITY), "tile {tile}");
        n_full += usize::from(number(4) > 0);
        let mut listed: Vec<usize> = list.iter().filter(|&&i| i != u32::MAX).map(|&i| i as usize).collect();
        listed.sort_unstable();
        if expected.len() <= CAPACITY {
            assert_eq!(listed, expected, "tile {tile}");
        } else {
            assert!(listed.len() == CAPACITY && listed.iter().all(|i| expected.contains(i)), "tile {tile}: {listed:?}");
        }
    }
    assert!(n_full > 0, "no tile has more discs than its list holds");
}

#[test]
fn the_commands_of_a_path_are_scanned() {
    let fixture = Fixture::open();
    let scan = kernel(&fixture, "scan_segments.wgsl");
    let commands: Vec<u8> = (0..4 * 150_u32).map(|i| [0x82, 1, 1, 2, 3, 0, 0x81][(i * i % 7) as usize]).collect();
    let array = fixture.slice_to_device(bytemuck::cast_slice::<u8, u32>(&commands)).unwrap();
    let totals = fixture.zeros::<u8>([150 * 12]).unwrap();
    scan.dispatch(fixture.default_stream(), Groups::covering([150]), (&array, &totals)).unwrap();
    let found = contents(&totals);
    for (i, found) in found.chunks(12).enumerate() {
        // Each workgroup of 64 words begins anew.
        let before = &commands[i / 64 * 64 * 4..(i + 1) * 4];
        let n = |is_counted: fn(&u8) -> bool| u32::try_from(before.iter().filter(|c| is_counted(c)).count()).unwrap();
        let points = before.iter().map(|command| u32::from(command & 7)).sum();
        let expected = [n(|&c| c & 0x80 != 0), n(|&c| c == 1), points];
        let found: Vec<u32> = found.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
        assert_eq!(found, expected, "{i}");
    }
}

#[test]
fn discs_are_blended_over_pixels() {
    const SIZE: [usize; 2] = [70, 50];
    let fixture = Fixture::open();
    let discs = discs(40);
    let array = fixture.slice_to_device(bytemuck::cast_slice::<_, u8>(&discs)).unwrap();
    for opaque in [0.99, 0.5] {
        let builder = fixture.kernel(source("cover_pixels.wgsl")).constant("OPAQUE", opaque);
        let cover = builder.build().unwrap_or_else(|error| panic!("{error}"));
        let pixels = fixture.full([SIZE[0] * SIZE[1]], 7_u32).unwrap();
        let groups = Groups::covering([70, 50]);
        cover.dispatch(fixture.default_stream(), groups, (&array, &pixels, 70_u32)).unwrap();
        for (i, found) in contents(&pixels).into_iter().enumerate() {
            let at = [i % SIZE[0], i / SIZE[0]].map(|x| f32::from(u8::try_from(x).unwrap()) + 0.5);
            let mut colour = [0.0_f32; 4];
            for disc in &discs {
                let distance = (at[0] - disc.centre[0]).hypot(at[1] - disc.centre[1]);
                if distance <= disc.radius && f64::from(colour[3]) < opaque {
                    let of_disc = disc.colour.map(|byte| f32::from(byte) / 255.0);
                    let visible = of_disc[3] * (1.0 - colour[3]);
                    (0..3).for_each(|c| colour[c] += of_disc[c] * visible);
                    colour[3] += visible;
                }
            }
            let expected = colour.map(|c| c.clamp(0.0, 1.0) * 255.0);
            let bytes = found.to_le_bytes().map(f32::from);
            let is_close = bytes.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 0.51);
            assert!(is_close, "pixel {i}: {bytes:?} instead of {expected:?}");
        }
    }
}

#[test]
fn outdated_wgsl_is_refused_with_its_line() {
    let fixture = Fixture::open();
    let error = fixture.kernel(source("before_const.wgsl")).build().expect_err("`let` in a module");
    assert_eq!(error.to_string().lines().next(), Some("before_const.wgsl:2:1: the shader does not parse"));
}
