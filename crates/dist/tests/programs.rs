//! Random programs on distributed arrays, each step also on the host's whole array. The ranks are threads that share a
//! context. `PROPTEST_CASES` sets how many programs run.
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers are small or wrap around"
)]

use std::sync::LazyLock;

use proptest::prelude::*;
use vkarray::ndarray::{ArrayD, Axis, Dimension, IxDyn};
use vkarray::prelude::*;
use vkarray_dist::{Border, Decomposition, DistArray, DistError, Region, ThreadRank, map};

static CONTEXT: LazyLock<Context> = LazyLock::new(|| Context::open_default().unwrap());

/// An axis of a stencil: ghost zones, a distance within them, and a border.
type Beside = ((usize, usize), isize, Border);

/// A step of a program. An axis is taken modulo the number of axes, and of three numbers for axes the first ones count.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The grid that is chosen for the shape, or the own grid with its axes rotated.
    Redistribute(Option<usize>),
    Transpose,
    /// `3 x - 1`, then the greater of it and `x`.
    Map,
    /// A number in a box, from and to a share of each axis in eighths, which each rank finds in its part.
    Fill([(usize, usize); 3]),
    CumulativeSum(usize),
    Sort(usize),
    /// Each element plus the one beside it, with the work on inner elements done meanwhile or not.
    Stencil([Beside; 3], bool),
    /// What is left of the sum along an axis.
    Rest(usize),
    /// What is above the least element along an axis, where there are elements.
    AboveLeast(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let border = prop_oneof![Just(Border::Fixed), Just(Border::Periodic), Just(Border::Reflecting)];
    let beside = ((0..4_usize, 0..4_usize), 0..7_usize, border)
        .prop_map(|((low, high), at, border)| ((low, high), (at % (low + high + 1)) as isize - low as isize, border));
    let axis = || 0..3_usize;
    prop_oneof![
        1 => axis().prop_map(|by| Step::Redistribute(by.checked_sub(1))),
        1 => Just(Step::Transpose),
        1 => Just(Step::Map),
        1 => prop::array::uniform3((0..9_usize, 0..9_usize)).prop_map(Step::Fill),
        1 => axis().prop_map(Step::CumulativeSum),
        1 => axis().prop_map(Step::Sort),
        3 => (prop::array::uniform3(beside), any::<bool>()).prop_map(|(axes, overlaps)| Step::Stencil(axes, overlaps)),
        1 => axis().prop_map(Step::Rest),
        1 => axis().prop_map(Step::AboveLeast),
    ]
}

/// The elements of an axis that a box has.
fn filled(len: usize, (from, to): (usize, usize)) -> std::ops::Range<usize> {
    len * from.min(to) / 8..len * from.max(to) / 8
}

fn run<'t>(x: &DistArray<'t, i32>, step: Step) -> Result<DistArray<'t, i32>, DistError> {
    let (parts, ndim) = (x.decomposition(), x.decomposition().shape().len());
    match step {
        Step::Redistribute(None) => x.redistribute(&Decomposition::over(parts.shape(), parts.ranks())?),
        Step::Redistribute(Some(by)) => {
            let mut grid = parts.grid().to_vec();
            grid.rotate_left(by % ndim);
            x.redistribute(&Decomposition::with_grid(parts.shape(), grid)?.ghosts(vec![(by, 1); ndim])?)
        }
        Step::Transpose => x.transpose(),
        Step::Map => map(x, |x| (&x * 3 - 1).maximum(x)),
        Step::Fill(shares) => {
            let result = x.redistribute(parts)?;
            let interior = result.interior();
            let own = (0..ndim).map(|axis| {
                let (range, first) = (filled(parts.shape()[axis], shares[axis]), result.offset()[axis]);
                let place = |at: usize| at.saturating_sub(first).min(interior.shape()[axis]);
                Index::from(place(range.start)..place(range.end))
            });
            interior.slice(own.collect::<Vec<_>>())?.fill(7)?;
            Ok(result)
        }
        Step::CumulativeSum(axis) => map(&x.cumulative_sum(axis % ndim)?, |sum| sum.cast::<i32>()),
        Step::Sort(axis) => x.sort(axis % ndim),
        Step::Stencil(axes, overlaps) => stencil(x, &axes[..ndim], overlaps),
        Step::Rest(axis) => map((x, &x.sum_along(&[axis % ndim])?), |(x, sum)| sum.cast::<i32>() - x),
        Step::AboveLeast(_) if parts.shape().contains(&0) => x.redistribute(parts),
        Step::AboveLeast(axis) => map((x, &x.min_along(&[axis % ndim])?), |(x, least)| x - least),
    }
}

fn stencil<'t>(x: &DistArray<'t, i32>, axes: &[Beside], overlaps: bool) -> Result<DistArray<'t, i32>, DistError> {
    let (parts, shift) = (x.decomposition(), axes.iter().map(|axis| axis.1).collect::<Vec<_>>());
    let shown = parts.clone().ghosts(axes.iter().map(|axis| axis.0).collect::<Vec<_>>())?;
    let shown = x.redistribute(&shown.borders(axes.iter().map(|axis| axis.2).collect::<Vec<_>>())?)?;
    let result = DistArray::full(&CONTEXT, x.transport(), parts, 0)?;
    if overlaps {
        let sum = |piece: &Region| -> Result<(), DistError> {
            let sum = &shown.window(piece, &vec![0; axes.len()])? + &shown.window(piece, &shift)?;
            Ok(sum.assign_to(&result.window(piece, &vec![0; axes.len()])?)?)
        };
        shown.overlap(sum, sum)?;
    } else {
        shown.halo()?;
        (&shown.interior() + &shown.shifted(&shift)?).assign_to(&result.interior())?;
    }
    Ok(result)
}

fn run_on_host(x: &ArrayD<i32>, step: Step) -> ArrayD<i32> {
    let lanes = |axis: usize, change: &dyn Fn(&[i32]) -> Vec<i32>| {
        let mut result = x.clone();
        for mut lane in result.lanes_mut(Axis(axis % x.ndim())) {
            let changed = change(&lane.to_vec());
            lane.iter_mut().zip(changed).for_each(|(own, changed)| *own = changed);
        }
        result
    };
    let sum = |lane: &[i32]| lane.iter().fold(0, |sum: i32, &x| sum.wrapping_add(x));
    match step {
        Step::Redistribute(_) => x.clone(),
        Step::Transpose => x.clone().reversed_axes(),
        Step::Map => x.mapv(|x| x.wrapping_mul(3).wrapping_sub(1).max(x)),
        Step::Fill(shares) => ArrayD::from_shape_fn(x.raw_dim(), |index| {
            let is_inside = (0..x.ndim()).all(|axis| filled(x.shape()[axis], shares[axis]).contains(&index[axis]));
            if is_inside { 7 } else { x[index] }
        }),
        Step::CumulativeSum(axis) => lanes(axis, &|lane| (0..lane.len()).map(|at| sum(&lane[..=at])).collect()),
        Step::Sort(axis) => lanes(axis, &|lane| {
            let mut lane = lane.to_vec();
            lane.sort_unstable();
            lane
        }),
        Step::Stencil(axes, _) => ArrayD::from_shape_fn(x.raw_dim(), |index| {
            let shown = (0..x.ndim())
                .map(|axis| shown(index[axis] as isize + axes[axis].1, x.shape()[axis] as isize, axes[axis].2));
            let beside: Option<Vec<usize>> = shown.collect();
            x[&index].wrapping_add(beside.map_or(0, |beside| x[&*beside]))
        }),
        Step::Rest(axis) => lanes(axis, &|lane| lane.iter().map(|&x| sum(lane).wrapping_sub(x)).collect()),
        Step::AboveLeast(axis) => {
            lanes(axis, &|lane| lane.iter().map(|&x| x.wrapping_sub(lane.iter().copied().min().unwrap_or(0))).collect())
        }
    }
}

/// The element that an axis shows at a place, by walking back into the array.
fn shown(mut place: isize, len: isize, border: Border) -> Option<usize> {
    while !(0..len).contains(&place) {
        place = match (border, place < 0) {
            (Border::Fixed, _) => return None,
            (Border::Periodic, true) => place + len,
            (Border::Periodic, false) => place - len,
            (Border::Reflecting, true) => -1 - place,
            (Border::Reflecting, false) => 2 * len - 1 - place,
        };
    }
    Some(place as usize)
}

fn start(index: &[usize]) -> i32 {
    index.iter().fold(5_u32, |number, &at| number.wrapping_mul(0x9e37_79b9) ^ at as u32) as i32 >> 20
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_have_the_results_of_the_host(
        axes in prop::collection::vec((0..9_usize, 1..4_usize), 1..4),
        steps in prop::collection::vec(any_step(), 1..8),
    ) {
        let (shape, grid): (Vec<usize>, Vec<usize>) = axes.into_iter().unzip();
        let parts = Decomposition::with_grid(shape.as_slice(), grid).unwrap();
        let results = ThreadRank::run(parts.ranks(), |rank| -> Result<_, DistError> {
            let mut x = DistArray::from_fn(&CONTEXT, rank, &parts, start)?;
            for &step in &steps {
                x = run(&x, step)?;
            }
            let extremes = if shape.contains(&0) { None } else { Some((x.min()?, x.max()?)) };
            Ok((x.gather()?, x.sum()?, extremes))
        });
        let host = ArrayD::from_shape_fn(IxDyn(&shape), |index| start(index.slice()));
        let host = steps.iter().fold(host, |host, &step| run_on_host(&host, step));
        let sum: i64 = host.iter().map(|&x| i64::from(x)).sum();
        let extremes = host.iter().min().copied().zip(host.iter().max().copied());
        for (rank, result) in results.into_iter().enumerate() {
            let expected = ((rank == 0).then(|| host.clone()), sum, extremes);
            prop_assert_eq!(result.unwrap(), expected);
        }
    }
}
