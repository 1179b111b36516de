//! Random programs on distributed arrays, each step also on the host's whole array. The ranks are threads that share a
//! context. `PROPTEST_CASES` sets how many programs run.
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the numbers are small or wrap around"
)]

use std::sync::LazyLock;

use proptest::prelude::*;
use vkarray::ndarray::{ArrayD, Axis, Dimension, IxDyn};
use vkarray::prelude::*;
use vkarray_dist::{Border, Decomposition, DistArray, DistError, ThreadRank, map};

static CONTEXT: LazyLock<Context> = LazyLock::new(|| Context::open_default().unwrap());

/// A step of a program. An axis is taken modulo the number of axes.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The grid that is chosen for the shape, or the own grid with its axes rotated.
    Redistribute(Option<usize>),
    Transpose,
    /// `3 x - 1`, then the greater of it and `x`.
    Map,
    CumulativeSum(usize),
    Sort(usize),
    /// The element and that before it, on a ring along the axis.
    Stencil(usize),
    /// What is left of the sum along an axis.
    Rest(usize),
    /// What is above the least element along an axis, where there are elements.
    AboveLeast(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    (0..8_u8, 0..3_usize).prop_map(|(kind, axis)| match kind {
        0 => Step::Redistribute(axis.checked_sub(1)),
        1 => Step::Transpose,
        2 => Step::Map,
        3 => Step::CumulativeSum(axis),
        4 => Step::Sort(axis),
        5 => Step::Stencil(axis),
        6 => Step::Rest(axis),
        _ => Step::AboveLeast(axis),
    })
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
        Step::CumulativeSum(axis) => map(&x.cumulative_sum(axis % ndim)?, |sum| sum.cast::<i32>()),
        Step::Sort(axis) => x.sort(axis % ndim),
        Step::Stencil(axis) => {
            let (mut ghosts, mut borders) = (vec![(0, 0); ndim], vec![Border::Fixed; ndim]);
            (ghosts[axis % ndim], borders[axis % ndim]) = ((1, 0), Border::Periodic);
            let ring = x.redistribute(&parts.clone().ghosts(ghosts)?.borders(borders)?)?;
            let result = DistArray::full(&CONTEXT, x.transport(), parts, 0)?;
            let mut shift = vec![0; ndim];
            let sum = |piece: &vkarray_dist::Region, shift: &[isize]| -> Result<(), DistError> {
                let sum = &ring.window(piece, &vec![0; ndim])? + &ring.window(piece, shift)?;
                Ok(sum.assign_to(&result.window(piece, &vec![0; ndim])?)?)
            };
            shift[axis % ndim] = -1;
            ring.overlap(|piece| sum(piece, &shift), |piece| sum(piece, &shift))?;
            Ok(result)
        }
        Step::Rest(axis) => map((x, &x.sum_along(&[axis % ndim])?), |(x, sum)| sum.cast::<i32>() - x),
        Step::AboveLeast(_) if parts.shape().contains(&0) => x.redistribute(parts),
        Step::AboveLeast(axis) => map((x, &x.min_along(&[axis % ndim])?), |(x, least)| x - least),
    }
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
        Step::CumulativeSum(axis) => lanes(axis, &|lane| (0..lane.len()).map(|at| sum(&lane[..=at])).collect()),
        Step::Sort(axis) => lanes(axis, &|lane| {
            let mut lane = lane.to_vec();
            lane.sort_unstable();
            lane
        }),
        Step::Stencil(axis) => lanes(axis, &|lane| {
            (0..lane.len()).map(|at| lane[at].wrapping_add(lane[(at + lane.len() - 1) % lane.len()])).collect()
        }),
        Step::Rest(axis) => lanes(axis, &|lane| lane.iter().map(|&x| sum(lane).wrapping_sub(x)).collect()),
        Step::AboveLeast(axis) => {
            lanes(axis, &|lane| lane.iter().map(|&x| x.wrapping_sub(lane.iter().copied().min().unwrap_or(0))).collect())
        }
    }
}

fn start(index: &[usize]) -> i32 {
    index.iter().fold(5_u32, |number, &at| number.wrapping_mul(0x9e37_79b9) ^ at as u32) as i32 >> 20
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_have_the_results_of_the_host(
        axes in prop::collection::vec((0..8_usize, 1..4_usize), 1..4),
        steps in prop::collection::vec(any_step(), 1..7),
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
