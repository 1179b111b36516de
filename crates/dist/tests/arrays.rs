//! Distributed arrays against the host, with several numbers of ranks. The ranks are threads that share a context.
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the numbers are small and checked")]

use std::sync::LazyLock;

use proptest::prelude::*;
use vkarray::ndarray::{Array2, ArrayD, Dimension, IxDyn};
use vkarray::prelude::*;
use vkarray_dist::{Border, Decomposition, DistArray, DistError, ThreadRank, Transport};

static CONTEXT: LazyLock<Context> = LazyLock::new(|| Context::open_default().unwrap());

const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

/// The place in an axis of `len` elements that a border shows at `place`.
fn shown(place: isize, len: usize, border: Border) -> Option<usize> {
    let len = len as isize;
    let element = match border {
        Border::Fixed => place,
        Border::Periodic => place.rem_euclid(len),
        Border::Reflecting => {
            let place = place.rem_euclid(2 * len);
            place.min(2 * len - 1 - place)
        }
    };
    (0..len).contains(&element).then_some(element as usize)
}

/// A number for each element, which tells it from all others.
fn number(index: &[usize]) -> u32 {
    index.iter().fold(1, |number, &at| number * 31 + at as u32)
}

/// One axis of a decomposition: its length, number of parts, ghost zones and border.
type AxisPlan = (usize, usize, (usize, usize), Border);

fn any_axes() -> impl Strategy<Value = Vec<AxisPlan>> {
    let border = prop_oneof![Just(Border::Fixed), Just(Border::Periodic), Just(Border::Reflecting)];
    prop::collection::vec((1..8_usize, 1..4_usize, (0..3_usize, 0..3_usize), border), 1..4)
}

fn divided(axes: &[AxisPlan]) -> Decomposition {
    let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
    let grid: Vec<usize> = axes.iter().map(|axis| axis.1).collect();
    let parts = Decomposition::with_grid(shape, grid).unwrap();
    let parts = parts.ghosts(axes.iter().map(|axis| axis.2).collect::<Vec<_>>()).unwrap();
    parts.borders(axes.iter().map(|axis| axis.3).collect::<Vec<_>>()).unwrap()
}

/// What the array of a rank has after an exchange: 9 in ghost zones that no message reaches.
fn expected(axes: &[AxisPlan], rank: usize) -> ArrayD<u32> {
    let parts = divided(axes);
    let part = parts.part(rank).unwrap();
    ArrayD::from_shape_fn(parts.local_shape(rank).unwrap(), |local: IxDyn| {
        let global: Option<Vec<usize>> = (axes.iter().enumerate())
            .map(|(axis, &(len, _, (before, _), border))| {
                let place = (part.start[axis] + local[axis]) as isize - before as isize;
                shown(place, len, border).filter(|_| part.size() > 0)
            })
            .collect();
        global.map_or(9, |global| number(&global))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_exchange_fills_ghost_zones_as_their_border_says(axes in any_axes()) {
        let parts = divided(&axes);
        let arrays = ThreadRank::run(parts.ranks(), |rank| -> Result<_, DistError> {
            let array = DistArray::from_fn(&CONTEXT, rank, &parts, number)?;
            let interior = array.interior().copy_to_host()?;
            array.local().fill(9)?;
            array.interior().copy_from_host(&interior)?;
            array.halo()?;
            array.halo()?; // The second exchange changes nothing.
            Ok(array.local().copy_to_host()?)
        });
        for (rank, array) in arrays.into_iter().enumerate() {
            prop_assert_eq!(array.unwrap(), expected(&axes, rank), "rank {}", rank);
        }
    }

    #[test]
    fn redistributed_arrays_have_the_same_elements(axes in any_axes(), swaps in any::<bool>()) {
        let parts = divided(&axes);
        let mut grid = parts.grid().to_vec();
        grid.reverse();
        let other = match swaps {
            true => Decomposition::with_grid(parts.shape(), grid).unwrap(),
            false => Decomposition::over(parts.shape(), parts.ranks()).unwrap(),
        };
        let whole = ArrayD::from_shape_fn(parts.shape(), |index: IxDyn| number(index.slice()));
        let arrays = ThreadRank::run(parts.ranks(), |rank| -> Result<_, DistError> {
            let array = DistArray::from_fn(&CONTEXT, rank, &parts, number)?;
            let moved = array.redistribute(&other)?;
            Ok((array.gather()?, moved.gather()?))
        });
        for (rank, gathered) in arrays.into_iter().enumerate() {
            let expected = (rank == 0).then(|| whole.clone());
            prop_assert_eq!(gathered.unwrap(), (expected.clone(), expected));
        }
    }
}

/// The mean of eight neighbours and eight times the element, on the host. All sums are exact, so that their order is
/// free.
fn smoothed(plate: &Array2<f32>, borders: [Border; 2]) -> Array2<f32> {
    let (rows, columns) = plate.dim();
    let at = |row: usize, column: usize, down: isize, right: isize| {
        let row = shown(row as isize + down, rows, borders[0]);
        let column = shown(column as isize + right, columns, borders[1]);
        row.zip(column).map_or(0.0, |place| plate[place])
    };
    Array2::from_shape_fn((rows, columns), |(row, column)| {
        let around: f32 = (-1..=1).flat_map(|down| (-1..=1).map(move |right| at(row, column, down, right))).sum();
        (around + 7.0 * plate[(row, column)]) / 16.0
    })
}

fn start(index: &[usize]) -> f32 {
    ((index[0] * 7 + index[1] * 5) % 16) as f32
}

/// Three steps on the ranks; the whole plate with its sum, least and largest element.
fn smooth(rank: &dyn Transport, borders: [Border; 2]) -> Result<(Option<ArrayD<f32>>, [f32; 3]), DistError> {
    let parts = Decomposition::over([13, 9], rank.size())?.ghosts([(1, 1), (1, 1)])?.borders(borders)?;
    let mut now = DistArray::from_fn(&CONTEXT, rank, &parts, start)?;
    let mut next = DistArray::full(&CONTEXT, rank, &parts, 0.0)?;
    for _ in 0..3 {
        now.halo()?;
        let mut sum = (&now.interior() * 7.0).eval()?;
        for (down, right) in (-1..=1).flat_map(|down| (-1..=1).map(move |right| (down, right))) {
            sum = (&sum + &now.shifted(&[down, right])?).eval()?;
        }
        (&sum / 16.0).assign_to(&next.interior())?;
        std::mem::swap(&mut now, &mut next);
    }
    Ok((now.gather()?, [now.sum()?, now.min()?, now.max()?]))
}

#[test]
fn steps_of_a_stencil_are_those_of_the_host_with_each_number_of_ranks() {
    let borders = [Border::Fixed, Border::Periodic, Border::Reflecting];
    for borders in [[borders[0], borders[0]], [borders[1], borders[2]], [borders[2], borders[1]]] {
        let plate = Array2::from_shape_fn((13, 9), |(row, column)| start(&[row, column]));
        let expected = (0..3).fold(plate, |plate, _| smoothed(&plate, borders)).into_dyn();
        let extremes = expected.iter().fold([f32::MAX, f32::MIN], |[least, most], &x| [least.min(x), most.max(x)]);
        for size in RANKS {
            let results = ThreadRank::run(size, |rank| smooth(rank, borders).unwrap());
            assert_eq!(results[0].0.as_ref(), Some(&expected), "{size} ranks, {borders:?}");
            for (_, totals) in results {
                assert_eq!(totals, [expected.sum(), extremes[0], extremes[1]], "{size} ranks, {borders:?}");
            }
        }
    }
}

#[test]
fn kernels_compute_from_the_place_in_the_global_array() {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
                struct Place { row: u32, column: u32, rows: u32, columns: u32, before: u32, width: u32 }
                var<immediate> at: Place;
                @compute @workgroup_size(8, 8) fn number(@builtin(global_invocation_id) id: vec3<u32>) {
                    if id.x >= at.columns || id.y >= at.rows { return; }
                    x[(id.y + at.before) * at.width + id.x] = (31u + at.row + id.y) * 31u + at.column + id.x;
                }";
    let kernel = CONTEXT.kernel(Source::wgsl(text)).build().unwrap();
    for size in RANKS {
        let arrays = ThreadRank::run(size, |rank| -> anyhow::Result<_> {
            let parts = Decomposition::over([11, 13], size)?.ghosts([(2, 1), (0, 0)])?;
            let array = DistArray::full(&CONTEXT, rank, &parts, 0_u32)?;
            let (offset, shape) = (array.offset(), array.interior().shape().to_vec());
            let place = [offset[0], offset[1], shape[0], shape[1], 2, shape[1]].map(|number| number as u32);
            let [row, column, rows, columns, before, width] = place;
            let groups = Groups::covering([shape[1], shape[0]]);
            kernel.launch(groups, (array.local(), row, column, rows, columns, before, width))?;
            Ok(array.gather()?)
        });
        let expected = ArrayD::from_shape_fn(IxDyn(&[11, 13]), |index| number(index.slice()));
        assert_eq!(arrays.into_iter().next().unwrap().unwrap(), Some(expected), "{size} ranks");
    }
}

#[test]
fn sums_and_extremes_skip_ranks_without_elements() {
    for size in RANKS {
        let results = ThreadRank::run(size, |rank| -> Result<_, DistError> {
            let parts = Decomposition::over([3], size)?.ghosts([(1, 1)])?;
            let array = DistArray::from_fn(&CONTEXT, rank, &parts, |index| 10.0 * index[0] as f32 - 12.0)?;
            Ok((array.sum()?, array.min()?, array.max()?))
        });
        for result in results {
            assert_eq!(result.unwrap(), (-6.0, -12.0, 8.0), "{size} ranks");
        }
        let empty = ThreadRank::run(size, |rank| -> Result<_, DistError> {
            let array = DistArray::full(&CONTEXT, rank, &Decomposition::over([0], size)?, 1.5_f32)?;
            Ok((array.sum()?, array.min().unwrap_err().to_string()))
        });
        for result in empty {
            let (sum, refusal) = result.unwrap();
            assert_eq!(sum, 0.0);
            assert!(refusal.contains("no elements"), "{refusal}");
        }
    }
}

#[test]
fn a_nan_on_one_rank_is_the_extreme_of_all() {
    let results = ThreadRank::run(4, |rank| -> Result<_, DistError> {
        let parts = Decomposition::over([9], 4)?;
        let element = |index: &[usize]| if index[0] == 5 { f32::NAN } else { index[0] as f32 };
        let array = DistArray::from_fn(&CONTEXT, rank, &parts, element)?;
        Ok([array.min()?, array.max()?, array.sum()?])
    });
    for result in results {
        assert!(result.unwrap().iter().all(|value| value.is_nan()));
    }
}

#[test]
fn refusals_name_the_culprit() {
    let results = ThreadRank::run(2, |rank| {
        let of_three = Decomposition::over([9], 3).unwrap();
        let ranks = DistArray::full(&CONTEXT, rank, &of_three, 0_u8).unwrap_err();
        let parts = Decomposition::over([9], 2).unwrap().ghosts([(1, 2)]).unwrap();
        let array = DistArray::full(&CONTEXT, rank, &parts, 0_u8).unwrap();
        array.shifted(&[2]).unwrap();
        let shift = array.shifted(&[-2]).unwrap_err();
        let axes = array.shifted(&[0, 0]).unwrap_err();
        let shapes = array.redistribute(&Decomposition::over([8], 2).unwrap()).unwrap_err();
        [ranks, shift, axes, shapes].map(|error| error.to_string())
    });
    for [ranks, shift, axes, shapes] in results {
        assert!(ranks.contains("divided among 3 ranks, but the program has 2"), "{ranks}");
        assert!(shift.contains("a shift by [-2]") && shift.contains("[(1, 2)]"), "{shift}");
        assert!(axes.contains("a shift by [0, 0]"), "{axes}");
        assert!(shapes.contains("[9] and [8]"), "{shapes}");
    }
}

#[test]
fn long_messages_arrive_whole_in_each_of_several_exchanges() {
    // Columns of 6.1 MiB, one or two of which are a message of two or three chunks.
    const ROWS: usize = 1_600_001;
    let columns = Decomposition::with_grid([ROWS, 3], [1, 3]).unwrap().ghosts([(0, 0), (1, 2)]).unwrap();
    let columns = columns.borders([Border::Fixed, Border::Periodic]).unwrap();
    let value = |row: usize, column: usize| (row * 3 + column) as u32;
    let differing = ThreadRank::run(3, |rank| {
        let x = DistArray::from_fn(&CONTEXT, rank, &columns, |at| value(at[0], at[1])).unwrap();
        let mut differing = 0;
        for added in 0..2 {
            x.halo().unwrap();
            for (row, shown) in x.local().copy_to_host().unwrap().outer_iter().enumerate() {
                let expected = (0..4).map(|at| value(row, (rank.rank() + at + 2) % 3) + added);
                differing += shown.iter().zip(expected).filter(|(shown, expected)| *shown != expected).count();
            }
            (&x.interior() + 1).assign_to(&x.interior()).unwrap();
        }
        // The rows, in messages without gaps on one side.
        let rows = x.redistribute(&Decomposition::with_grid([ROWS, 3], [3, 1]).unwrap()).unwrap();
        for (row, shown) in rows.interior().copy_to_host().unwrap().outer_iter().enumerate() {
            let expected = (0..3).map(|column| value(rows.offset()[0] + row, column) + 2);
            differing += shown.iter().zip(expected).filter(|(shown, expected)| *shown != expected).count();
        }
        differing
    });
    assert_eq!(differing, [0; 3]);
}
