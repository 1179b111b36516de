//! Memory of the program that is lent in several types at once, and memory that the device only reads.

use std::fmt::Debug;
use std::sync::Arc;

use memmap2::Mmap;
use vkarray::kernel::{Error as KernelError, MemoryArg, Mismatch};
use vkarray::memory::{Error as MemoryError, RegisteredPath, StableDeref};
use vkarray::{Context, Error as ArrayError, Groups, Kernel, Source};

use super::pattern;
use super::registered::{PAGE, both};
use crate::fixture::Fixture;
use crate::fixture::kernels::step;

/// `sums = sums * scale + counts`, each of another type.
const WEIGH: &str = "
    @group(0) @binding(0) var<storage, read> counts: array<u32>;
    @group(0) @binding(1) var<storage, read> scales: array<f32>;
    @group(0) @binding(2) var<storage, read_write> sums: array<i32>;
    @compute @workgroup_size(64) fn weigh(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&sums) { sums[id.x] = sums[id.x] * i32(scales[id.x]) + i32(counts[id.x]); }
    }";

fn weigh(ctx: &Context) -> Kernel {
    ctx.kernel(Source::wgsl(WEIGH)).build().unwrap()
}

/// What [`WEIGH`] computes.
fn weighed(counts: &[u32], scales: &[f32], sums: &[i32]) -> Vec<i32> {
    let all = counts.iter().zip(scales).zip(sums);
    #[expect(clippy::cast_possible_truncation, reason = "the scales are small whole numbers")]
    all.map(|((&count, &scale), &sum)| sum * scale as i32 + count.cast_signed()).collect()
}

/// The copies of a slice that cannot be written are refused.
fn is_lent_to_read<T>(outcome: &Result<T, ArrayError>, len: usize) -> bool {
    matches!(outcome, Err(ArrayError::Memory(MemoryError::LentToRead { nbytes })) if *nbytes == 4 * len)
}

/// Whether a kernel was refused because it writes what may only be read.
fn is_read_only<T>(outcome: &Result<T, KernelError>) -> bool {
    matches!(outcome, Err(KernelError::Argument { problem, .. }) if matches!(**problem, Mismatch::ReadOnly { .. }))
}

#[test]
fn slices_of_several_types_are_lent_at_once() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        let weigh = weigh(&ctx);
        for n in [1, 3, PAGE / 4, 6 * PAGE + 5] {
            let what = format!("{name}, {n} elements");
            let mut counts: Vec<u32> = (0..).take(n).collect();
            let scales: Vec<f32> = (0..7_u8).cycle().map(f32::from).take(n).collect();
            let mut sums: Vec<i32> = (-3..).take(n).collect();
            let mut bytes = [0_u8; 12];
            let first = weighed(&counts, &scales, &sums);
            let array = ctx.zeros::<i32>([n]).unwrap();
            ctx.register_all(
                (&mut counts, &scales, &mut sums, &mut bytes),
                |(mut counts, mut scales, mut sums, mut bytes)| {
                    let launch = |counts: &MemoryArg<'_>, scales: &MemoryArg<'_>, sums: &MemoryArg<'_>| {
                        weigh.launch(Groups::covering(n), (counts, scales, sums))
                    };
                    launch(&counts.bind().unwrap(), &scales.bind().unwrap(), &sums.bind().unwrap()).unwrap();
                    sums.copy_to(0, &array).unwrap(); // The array gets the values that the kernel wrote.
                    assert_eq!(sums.read().unwrap(), first, "{what}");
                    counts.write().unwrap().fill(9);
                    launch(&counts.bind().unwrap(), &scales.bind().unwrap(), &sums.bind().unwrap()).unwrap();
                    bytes.copy_from(4, &ctx.slice_to_device(&pattern(3, 8)).unwrap()).unwrap();
                },
            )
            .unwrap();
            assert_eq!(array.to_vec().unwrap(), first, "{what}");
            assert_eq!(sums, weighed(&counts, &scales, &first), "{what}");
            assert_eq!(counts, vec![9; n], "{what}");
            assert_eq!((&bytes[..4], &bytes[4..]), (&[0; 4][..], &pattern(3, 8)[..]), "{what}");
        }
    }
}

#[test]
fn memory_that_is_lent_to_be_read_is_read_and_never_written() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        let (weigh, step) = (weigh(&ctx), step(&ctx));
        for n in [1, PAGE / 4, 5 * PAGE] {
            let what = format!("{name}, {n} elements");
            let words: Vec<u32> = (5..).take(n).collect();
            let (scales, mut sums) = (vec![2.0_f32; n], vec![7_i32; n]);
            let (array, other) = (ctx.zeros::<u32>([n]).unwrap(), ctx.full([n], 1_u32).unwrap());
            // One slice can be lent to be read several times at once.
            ctx.register_all((&words, &words[..], &scales, &mut sums), |(mut one, mut two, mut scales, mut sums)| {
                assert_eq!((one.path(), two.len()), (RegisteredPath::Staged, n), "{what}");
                one.copy_to(0, &array).unwrap();
                let bound = (one.bind().unwrap(), scales.bind().unwrap(), sums.bind().unwrap());
                weigh.launch(Groups::covering(n), (&bound.0, &bound.1, &bound.2)).unwrap();
                let refused = step.launch(Groups::covering(n), (&bound.0, 1_u32));
                assert!(is_read_only(&refused), "{what}: {refused:?}");
                let refused = step.launch(Groups::covering(n), (&two.bind().unwrap(), 1_u32));
                assert!(is_read_only(&refused), "{what}: {refused:?}");
                for slice in [&mut one, &mut two] {
                    let refused = slice.copy_from(0, &other);
                    assert!(is_lent_to_read(&refused, n), "{what}: {refused:?}");
                    let refused = slice.write().map(|_| ());
                    assert!(is_lent_to_read(&refused, n), "{what}: {refused:?}");
                    assert_eq!(slice.read().unwrap(), words, "{what}");
                }
                two.copy_to(0, &other).unwrap(); // From the copy that kernels are given.
                assert_eq!(words[0], 5, "the program reads it meanwhile");
            })
            .unwrap();
            assert_eq!(sums, weighed(&words, &scales, &vec![7; n]), "{what}");
            assert_eq!((array.to_vec().unwrap(), other.to_vec().unwrap()), (words.clone(), words), "{what}");
        }
    }
}

/// Reads the owner's words on the device, fails to write them, and takes the owner back.
fn read_all_ways<O>(ctx: &Context, owner: O, words: &[u32]) -> O
where
    O: StableDeref<Target = [u32]> + Debug + Send + Sync + 'static,
{
    let n = words.len();
    let pinned = ctx.pin_to_read(owner).unwrap();
    assert_eq!((pinned.path(), pinned.is_writable()), (RegisteredPath::Staged, false));
    let (scales, sums) = (ctx.full([n], 3.0_f32).unwrap(), ctx.full([n], 2_i32).unwrap());
    weigh(ctx).launch(Groups::covering(n), (&pinned, &scales, &sums)).unwrap();
    assert_eq!(sums.to_vec().unwrap(), weighed(words, &vec![3.0; n], &vec![2; n]));
    let refused = step(ctx).launch(Groups::covering(n), (&pinned, 1_u32));
    assert!(is_read_only(&refused), "{refused:?}");
    assert!(matches!(pinned.fill(1), Err(ArrayError::ReadOnly { .. })));
    let view = pinned.reshape([n, 1]).unwrap();
    assert!(matches!(view.fill(1), Err(ArrayError::ReadOnly { .. })), "views inherit it");
    let pinned = pinned.into_inner().unwrap_err();
    assert!(matches!(pinned.error(), MemoryError::StillShared { n_handles: 1 | 2 }), "{pinned}");
    drop(view);
    let pinned = pinned.into_value().unwrap();
    assert_eq!((pinned.to_vec().unwrap().as_slice(), pinned.is_writable()), (words, false));
    pinned.into_inner().unwrap()
}

#[test]
fn owners_that_share_their_memory_lend_it_to_be_read() {
    static WORDS: [u32; 5] = [1, 2, 3, 5, 8];
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        for n in [1, PAGE / 4, 3 * PAGE / 4 + 1] {
            let shared: Arc<[u32]> = (4..).take(n).collect();
            let back = read_all_ways(&ctx, Arc::clone(&shared), &shared);
            assert!(Arc::ptr_eq(&shared, &back) && Arc::strong_count(&shared) == 2, "{name}: nobody else holds it");
        }
        assert_eq!(read_all_ways(&ctx, &WORDS[..], &WORDS), WORDS);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pattern(4, 2 * PAGE)).unwrap();
        // SAFETY: the file belongs to this test, and nothing changes it.
        let map = unsafe { Mmap::map(file.as_file()) }.unwrap();
        let pinned = ctx.pin_to_read(map).unwrap();
        assert_eq!(pinned.to_vec().unwrap(), pattern(4, 2 * PAGE), "{name}");
        let view = pinned.view::<u32>().unwrap();
        let refused = step(&ctx).launch(Groups::covering(view.shape()), (&view, 1_u32));
        assert!(is_read_only(&refused), "{name}: {refused:?}");
        drop(view);
        assert_eq!(pinned.into_inner().unwrap()[..], pattern(4, 2 * PAGE), "{name}");
    }
}
