//! Small jobs, whose operations are submitted together: an upload, a kernel, a download, on memory that the host
//! addresses and on memory that it does not address.

use vkarray::Groups;
use vkarray::s;

use super::contexts;
use crate::fixture::Fixture;
use crate::fixture::kernels::{step, stepped};

/// Sizes below and above a workgroup, a page, the bytes that a kernel copies to the host, and the bytes that a job's
/// own queue copies.
const SIZES: [usize; 11] = [1, 2, 63, 64, 65, 997, 1024, 1025, 16_384, 40_001, 300_000];

#[test]
fn small_jobs_on_two_streams_give_their_answers() {
    let fixture = Fixture::open();
    for (name, ctx) in contexts(&fixture) {
        let (step, streams) = (step(&ctx), [ctx.stream().unwrap(), ctx.stream().unwrap()]);
        for n in SIZES {
            let arrays = [ctx.zeros::<u32>([n]).unwrap(), ctx.device_array::<u32>([n]).unwrap()];
            let (up, down) = (ctx.pinned_array::<u32>([n]).unwrap(), ctx.pinned_array::<u32>([n]).unwrap());
            for round in 0..6_u32 {
                let (array, stream) = (&arrays[round as usize / 2 % 2], &streams[round as usize % 2]);
                let host: Vec<u32> = (0..).map(|i| i * 7 + round).take(n).collect();
                let expected: Vec<u32> = host.iter().map(|&before| stepped(before, round)).collect();
                let run = || step.dispatch(stream, Groups::covering([n]), (array, round)).unwrap();
                array.on(stream).copy_from_host(&vkarray::ndarray::aview1(&host)).unwrap();
                run();
                assert_eq!(
                    array.on(stream).copy_to_host().unwrap().as_slice().unwrap(),
                    expected,
                    "{name} {n} {round}"
                );
                up.copy_from_slice(&host).unwrap();
                array.on(stream).assign(&up).unwrap();
                run();
                let reversed = array.slice(s![..;-1]).unwrap().on(stream).copy_to_host().unwrap();
                assert!(reversed.iter().eq(expected.iter().rev()), "{name} {n} {round}, reversed");
                down.on(stream).assign(array).unwrap();
                assert_eq!(down.read_on_host().unwrap().as_slice().unwrap(), expected, "{name} {n} {round}, pinned");
            }
        }
    }
}

#[test]
fn an_operation_that_is_held_back_for_others_runs_without_them() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.zeros::<u32>([100]).unwrap();
    let mut expected = 0;
    for add in 0..8 {
        step.dispatch(&stream, Groups::covering([100]), (&array, add)).unwrap();
        expected = stepped(expected, add);
        assert_eq!(array.on(&stream).copy_to_host().unwrap()[50], expected);
    }
    // No download follows this dispatch, and no call waits for it.
    step.dispatch(&stream, Groups::covering([100]), (&array, 9_u32)).unwrap();
    while !stream.query().unwrap() {
        std::thread::yield_now();
    }
    assert_eq!(array.to_vec().unwrap(), [stepped(expected, 9); 100]);
}
