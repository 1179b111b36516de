//! Every size around a limit, on each axis, and the errors with both numbers.

use super::*;

fn limits(max_workgroup_count: [u32; 3]) -> Limits {
    Limits { max_workgroup_count, ..Limits::MINIMUM }
}

#[test]
fn covering_rounds_up_and_never_wastes_a_workgroup() {
    let limits = limits([u32::MAX; 3]);
    for size in 1..=9u32 {
        for items in 1..=100_usize {
            let [x, y, z] = Groups::covering([items]).resolve([size, 3, 5], &limits).unwrap().unwrap();
            assert!(x as usize * size as usize >= items, "{items} items by {size}");
            assert!(((x - 1) as usize * size as usize) < items, "{items} items by {size}");
            assert_eq!((y, z), (1, 1)); // An axis that is not named is one workgroup.
        }
    }
}

#[test]
fn axes_do_not_mix() {
    let limits = limits([10, 20, 30]);
    let cases = [
        (Groups::covering([7, 11, 13]), [2, 3, 4], [4, 4, 4]),
        (Groups::covering([20, 60]), [2, 3, 4], [10, 20, 1]),
        (Groups::exact([10, 20, 30]), [2, 3, 4], [10, 20, 30]), // The workgroup's size plays no part.
    ];
    for (groups, size, expected) in cases {
        assert_eq!(groups.resolve(size, &limits).unwrap(), Some(expected), "{groups:?}");
    }
}

#[test]
fn a_shape_is_as_many_items_as_its_array() {
    let limits = limits([u32::MAX; 3]);
    let cases: [(&[usize], _); 4] =
        [(&[], [1, 1, 1]), (&[7], [4, 1, 1]), (&[7, 5], [4, 5, 1]), (&[7, 5, 3], [4, 5, 3])];
    for (shape, expected) in cases {
        assert_eq!(Groups::covering(shape).resolve([2, 1, 1], &limits).unwrap(), Some(expected), "{shape:?}");
    }
    let error = Groups::covering(&[1, 1, 1, 1][..]).resolve([2, 1, 1], &limits).unwrap_err();
    assert_eq!(error.to_string(), "a launch has at most 3 axes, not 4");
}

#[test]
fn an_empty_axis_launches_nothing() {
    let limits = limits([1; 3]);
    for groups in [
        Groups::covering([0]),
        Groups::covering([usize::MAX, 0]), // Empty comes before too large.
        Groups::covering([5, 5, 0]),
        Groups::exact([0, 1, 1]),
        Groups::exact([1, u32::MAX, 0]),
    ] {
        assert_eq!(groups.resolve([1, 1, 1], &limits).unwrap(), None, "{groups:?}");
    }
}

#[test]
fn the_limit_fits_and_one_more_does_not() {
    for limit in [1u32, 2, 65535, 65536, u32::MAX - 1, u32::MAX] {
        for size in [1u32, 2, 3, 64, 1024, u32::MAX] {
            for axis in 0..3 {
                let mut counts = [1; 3];
                counts[axis] = limit;
                let mut items = [1; 3];
                items[axis] = limit as usize * size as usize;
                let limits = limits(counts);
                let resolved = Groups::covering(items).resolve([size; 3], &limits);
                if items[axis] <= 1 << 32 {
                    assert_eq!(resolved.unwrap(), Some(counts));
                } else {
                    assert!(matches!(resolved, Err(Error::InvocationCount { .. })), "{resolved:?}");
                }
                items[axis] += 1;
                let error = Groups::covering(items).resolve([size; 3], &limits).unwrap_err();
                let message = format!(
                    "{} workgroups on axis {}, the device allows {limit}",
                    u64::from(limit) + 1,
                    ["x", "y", "z"][axis]
                );
                assert_eq!(error.to_string(), message);
            }
        }
    }
}

#[test]
fn no_axis_has_more_invocations_than_32_bits_number() {
    let limits = limits([u32::MAX; 3]);
    let most = 1_usize << 32;
    // Items, size of a workgroup on the axis, its workgroups if that many can be numbered.
    let cases = [
        (most, 64, Ok(1 << 26)),
        (most - 63, 64, Ok(1 << 26)),
        (most + 1, 64, Err((1 << 26) + 1)),
        (most + 64, 64, Err((1 << 26) + 1)),
        (1 << 37, 64, Err(1 << 31)),
        (most - 4, 3, Ok(1_431_655_764)),
        (most - 3, 3, Ok(1_431_655_765)),
        (most, 3, Err(1_431_655_766)), // The last workgroup reaches past the items, and past 32 bits.
    ];
    for axis in 0..3 {
        for (items, size, expected) in cases {
            let (mut wanted, mut sizes, mut counts) = ([1; 3], [7; 3], [1; 3]);
            (wanted[axis], sizes[axis]) = (items, size);
            let n = expected.unwrap_or_else(|n| n);
            counts[axis] = n;
            for groups in [Groups::covering(wanted), Groups::exact(counts)] {
                match (groups.resolve(sizes, &limits), expected) {
                    (Ok(Some(found)), Ok(_)) => assert_eq!(found, counts),
                    (Err(Error::InvocationCount { axis: a, workgroups, size: s }), Err(n)) => {
                        assert_eq!((a, workgroups, s), (AXES[axis], n, size));
                    }
                    (other, _) => panic!("{groups:?} by {size}: {other:?}"),
                }
            }
            let most = most_workgroups(sizes, &limits);
            assert_eq!(counts[axis] <= most[axis], expected.is_ok(), "{items} by {size}: {most:?}");
        }
    }
    assert_eq!(most_workgroups([0, 1, 1 << 30], &Limits::MINIMUM), [65535, 65535, 4]);
}

#[test]
fn numbers_on_the_device_are_not_the_host_s() {
    let error = Groups::indirect(&1_u32, 0).resolve([1, 1, 1], &Limits::MINIMUM).unwrap_err();
    assert!(matches!(error, Error::CountsOnDevice), "{error}");
}

#[test]
fn too_many_is_an_error_with_both_numbers() {
    let cases = [
        (Groups::covering([usize::MAX]), "18446744073709551615 workgroups on axis x, the device allows 65535"),
        (Groups::covering([1, 1_u64 << 32]), "4294967296 workgroups on axis y, the device allows 65535"),
        (Groups::exact([1, 1, 65536]), "65536 workgroups on axis z, the device allows 65535"),
    ];
    for (groups, message) in cases {
        assert_eq!(groups.resolve([1, 1, 1], &Limits::MINIMUM).unwrap_err().to_string(), message);
    }
}
