//! Arrays of gibibytes, if the device has the memory: copies in many windows and by many threads, and bindings of more
//! than 2^31 bytes.

use vkarray::kernel::signature::limits_of;
use vkarray::{Context, Element, Groups, Index, Order, Source};

use crate::fixture::{Fixture, assert_holds, contents, skipped};

/// Positions past 2^32, in bytes and in elements.
#[test]
fn arrays_beyond_four_gibibytes_are_copied_completely() {
    const SIX_GIB: usize = 6 << 30;
    let (fixture, test) = (Fixture::open(), "arrays_beyond_four_gibibytes_are_copied_completely");
    reversed_and_checked::<u8>(&fixture, 70_001);
    let free = fixture.allocator().memory_info().unwrap().free;
    let limit = fixture.info().limits.max_buffer_size;
    if free < 14 << 30 || limit < SIX_GIB as u64 {
        return skipped(test, "14 GiB of free memory and buffers of 6 GiB");
    }
    reversed_and_checked::<u8>(&fixture, SIX_GIB);
    reversed_and_checked::<u32>(&fixture, SIX_GIB / 4);
}

/// Positions past 2^32 are filled, sliced, converted and transposed.
#[test]
fn arrays_of_more_than_two_to_the_32_elements_are_filled_sliced_and_converted() {
    const N: usize = (1 << 32) + 70_001;
    let (fixture, test) =
        (Fixture::open(), "arrays_of_more_than_two_to_the_32_elements_are_filled_sliced_and_converted");
    filled_sliced_and_converted(&fixture, 70_001);
    let free = fixture.allocator().memory_info().unwrap().free;
    let limit = fixture.info().limits.max_buffer_size;
    if free < 20 << 30 || limit < 2 * N as u64 {
        return skipped(test, "20 GiB of free memory and buffers of 9 GiB");
    }
    filled_sliced_and_converted(&fixture, N);
}

fn filled_sliced_and_converted(ctx: &Context, n: usize) {
    let value = |at: usize| if at % 7 == 1 { 200_u8 } else { 3 };
    let array = ctx.full([n], 3_u8).unwrap();
    array.slice([Index::stepped(1.., 7)]).unwrap().fill(200).unwrap();
    assert_holds(&array, value);
    assert_holds(&array.astype::<u16>().unwrap(), |at| u16::from(value(at)));
    assert_holds(&array.astype::<i8>().unwrap(), |at| value(at).cast_signed());
    let back = array.slice([Index::stepped(.., -3)]).unwrap();
    assert_holds(&back.to_contiguous(Order::C).unwrap(), |at| value(n - 1 - 3 * at));
    let columns = n.isqrt();
    let rows = n / columns;
    let plane = array
        .slice([(..(rows * columns) as isize).into()])
        .unwrap()
        .reshape([rows as isize, columns as isize])
        .unwrap();
    let turned = plane.transpose(None).unwrap().to_contiguous(Order::C).unwrap();
    assert_holds(&turned.ravel(Order::C).unwrap(), |at| value(at % rows * columns + at / rows));
}

/// A host array of 1 GiB, up and down, which several threads copy.
#[test]
fn a_gibibyte_is_uploaded_and_downloaded_completely() {
    const N: u32 = 1 << 28;
    let fixture = Fixture::open();
    let free = fixture.allocator().memory_info().unwrap().free;
    if free < 4 << 30 || fixture.is_cpu() {
        return skipped("a_gibibyte_is_uploaded_and_downloaded_completely", "4 GiB of a GPU's memory");
    }
    let values: Vec<u32> = (0..N).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    let array = fixture.slice_to_device(&values).unwrap();
    let back = array.to_vec().unwrap();
    let wrong = (0..N as usize).find(|&i| back[i] != values[i]);
    assert_eq!(wrong, None, "the first word that differs");
}

/// A kernel reads one binding of more than 2 GiB, from both ends to the middle, or is refused.
#[test]
fn a_binding_beyond_two_gibibytes_is_read_at_its_end() {
    const N: u32 = 805_306_368; // 3 GiB of words.
    let (fixture, test) = (Fixture::open(), "a_binding_beyond_two_gibibytes_is_read_at_its_end");
    let free = fixture.allocator().memory_info().unwrap().free;
    let longest = fixture.info().limits.max_storage_buffer_range;
    if free < 4 << 30 || u64::from(longest) < u64::from(N) * 4 {
        return skipped(test, "4 GiB of free memory and ranges of 3 GiB");
    }
    let array = fixture.full([N as usize], 3_u32).unwrap();
    let places = [0, 1, (1 << 29) - 1, 1 << 29, (1 << 29) + 1, N - 2, N - 1];
    for (mark, &at) in (100..).zip(&places) {
        array.set([at as isize], mark).unwrap();
    }
    let shader = "
@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read_write> found: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&found) { found[id.x] = words[places[id.x]]; }
}";
    let kernel = fixture.kernel(Source::wgsl(shader)).build().unwrap();
    let found = fixture.zeros::<u32>([places.len()]).unwrap();
    let at = fixture.slice_to_device(&places).unwrap();
    let outcome = kernel.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&array, &at, &found));
    if limits_of(fixture.info()).max_storage_buffer_range < u64::from(N) * 4 {
        // The driver states a limit that it does not keep.
        let refusal = outcome.unwrap_err().to_string();
        assert!(refusal.contains("3221225472"), "{refusal}");
        assert_eq!(contents(&found), [0; 7]);
        return;
    }
    outcome.unwrap();
    assert_eq!(contents(&found), [100, 101, 102, 103, 104, 105, 106]);
}

/// Marks bytes of an array at positions all over it, and finds them at their positions in the reversed array.
fn reversed_and_checked<T: Element + From<u8> + PartialEq>(ctx: &Context, n: usize) {
    let array = ctx.full([n], T::from(3)).unwrap();
    let target = ctx.device_array::<T>([n]).unwrap();
    // Both ends, and positions around the ends of 32 bits of bytes, of words and of elements.
    let around = |at: usize| [at - 1, at, at + 1];
    let ends = [(1 << 32) / size_of::<T>(), (1 << 30) / size_of::<T>(), n / 2];
    let places = [0, n - 1].into_iter().chain(ends.into_iter().flat_map(around));
    let places: Vec<usize> = places.filter(|&at| at < n).collect();
    for (mark, &at) in (100..).zip(&places) {
        array.set([at as isize], T::from(mark)).unwrap();
    }
    target.copy_from_device(&array.slice([Index::stepped(.., -1)]).unwrap()).unwrap();
    drop(array);
    let mut expected = std::collections::BTreeMap::new();
    for (mark, &at) in (100..).zip(&places) {
        expected.insert(n - 1 - at, T::from(mark));
    }
    // The whole array is read, a part at a time; only elements that differ from the common value are kept.
    let plain = vec![T::from(3); 4096];
    let plain_bytes: &[u8] = bytemuck::cast_slice(&plain);
    for start in (0..n).step_by(1 << 28) {
        let end = n.min(start + (1 << 28));
        let part = target.slice([(start as isize..end as isize).into()]).unwrap().copy_to_host().unwrap();
        let pieces = (start..).step_by(plain.len()).zip(part.as_slice().unwrap().chunks(plain.len()));
        let marked = pieces.filter(|(_, piece)| {
            let piece: &[u8] = bytemuck::cast_slice(piece);
            piece != &plain_bytes[..piece.len()]
        });
        let found = marked.flat_map(|(at, piece)| (at..).zip(piece.iter().copied()));
        let wanted = expected.range(start..end).map(|(&at, &value)| (at, value));
        assert!(found.filter(|(_, value)| *value != plain[0]).eq(wanted), "elements {start} to {end} of {n}");
    }
}
