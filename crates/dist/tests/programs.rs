//! Random programs with random numbers of ranks against the whole array on the host. `VKARRAY_TEST_PROGRAMS` sets how
//! many run.
//!
//! All numbers are small integers in `f32`, so that every sum is exact and equal bit for bit.
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]
#![expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "the numbers are small")]
#![expect(clippy::cast_sign_loss, reason = "the numbers are checked")]

use std::sync::LazyLock;

use vkarray::ndarray::{ArrayD, Dimension, IxDyn};
use vkarray::prelude::*;
use vkarray_dist::{Border, Decomposition, DistArray, ThreadRank, Transport};

static CONTEXT: LazyLock<Context> = LazyLock::new(|| Context::open_default().unwrap());

/// Programs unless `VKARRAY_TEST_PROGRAMS` is set, and the steps of each.
const PROGRAMS: u64 = 20;
const STEPS: usize = 8;

/// Numbers that a seed decides (SplitMix64).
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    /// A decomposition of `shape` among `ranks` ranks, and its borders.
    fn decomposition(&mut self, shape: &[usize], ranks: usize) -> (Decomposition, Vec<Border>) {
        let mut grid = vec![1; shape.len()];
        if self.below(2) == 0 {
            grid[self.below(shape.len())] = ranks;
        } else {
            grid = Decomposition::over(shape, ranks).unwrap().grid().to_vec();
        }
        let ghosts: Vec<_> = shape.iter().map(|_| (self.below(4), self.below(4))).collect();
        let borders: Vec<_> =
            shape.iter().map(|_| [Border::Fixed, Border::Periodic, Border::Reflecting][self.below(3)]).collect();
        let parts = Decomposition::with_grid(shape, grid).unwrap().ghosts(ghosts).unwrap();
        (parts.borders(&*borders).unwrap(), borders)
    }
}

/// A step of a program. All of its numbers are chosen before the program runs.
#[derive(Debug, Clone)]
enum Step {
    /// An exchange, then the sum of each element and the one beside it.
    Shift(Vec<isize>),
    /// Another decomposition.
    Redistribute(Decomposition, Vec<Border>),
    /// A number that is written to the elements of a box, which each rank finds in its part.
    Fill(Vec<(usize, usize)>, f32),
    /// A product with a number.
    Scale(f32),
    /// Sum, least and largest element.
    Reduce,
    /// The whole array.
    Gather,
}

struct Program {
    shape: Vec<usize>,
    ranks: usize,
    start: Decomposition,
    borders: Vec<Border>,
    steps: Vec<Step>,
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let shape: Vec<usize> = (0..1 + random.below(3)).map(|_| 1 + random.below(9)).collect();
        let ranks = 1 + random.below(7);
        let (start, borders) = random.decomposition(&shape, ranks);
        let mut widths = start.widths().to_vec();
        let mut steps = Vec::new();
        for _ in 0..STEPS {
            steps.push(match random.below(6) {
                0 | 1 => Step::Shift(
                    widths.iter().map(|(low, high)| random.below(low + high + 1) as isize - *low as isize).collect(),
                ),
                2 => {
                    let (next, borders) = random.decomposition(&shape, ranks);
                    widths = next.widths().to_vec();
                    Step::Redistribute(next, borders)
                }
                3 => {
                    let range = |&len: &usize| {
                        let start = random.below(len);
                        (start, start + 1 + random.below(len - start))
                    };
                    Step::Fill(shape.iter().map(range).collect(), 7.0)
                }
                4 => Step::Scale([-1.0, 0.0, 2.0][random.below(3)]),
                _ => [Step::Reduce, Step::Gather][random.below(2)].clone(),
            });
        }
        steps.extend([Step::Reduce, Step::Gather]);
        Self { shape, ranks, start, borders, steps }
    }

    /// What all reductions give on this rank, and all whole arrays on rank 0.
    fn on_rank(&self, rank: &dyn Transport) -> anyhow::Result<Vec<ArrayD<f32>>> {
        let mut array = DistArray::from_fn(&CONTEXT, rank, &self.start, element)?;
        let mut results = Vec::new();
        for step in &self.steps {
            match step {
                Step::Shift(shift) => {
                    array.halo()?;
                    let sum = (&array.interior() + &array.shifted(shift)?).eval()?;
                    // The ghost zones are zeros again, as in a new array.
                    array = DistArray::full(&CONTEXT, rank, array.decomposition(), 0.0)?;
                    array.interior().copy_from_device(&sum)?;
                }
                Step::Redistribute(other, _) => array = array.redistribute(other)?,
                Step::Fill(ranges, value) => {
                    let interior = array.interior();
                    let own = |(axis, &(start, end)): (usize, &(usize, usize))| {
                        let (first, len) = (array.offset()[axis], interior.shape()[axis]);
                        let start = start.saturating_sub(first).min(len);
                        Index::from(start..end.saturating_sub(first).clamp(start, len))
                    };
                    interior.slice(ranges.iter().enumerate().map(own).collect::<Vec<_>>())?.fill(*value)?;
                }
                Step::Scale(factor) => (&array.interior() * *factor).assign_to(&array.interior())?,
                Step::Reduce => results.push(numbers([array.sum()?, array.min()?, array.max()?])),
                Step::Gather => results.extend(array.gather()?),
            }
        }
        Ok(results)
    }

    /// The results of the program on the host.
    fn on_host(&self, is_first: bool) -> Vec<ArrayD<f32>> {
        let mut whole = ArrayD::from_shape_fn(&*self.shape, |index: IxDyn| element(index.slice()));
        let mut borders = &self.borders;
        let mut results = Vec::new();
        for step in &self.steps {
            match step {
                Step::Shift(shift) => {
                    whole = ArrayD::from_shape_fn(&*self.shape, |index: IxDyn| {
                        let shown = |axis: usize| {
                            shown(index[axis] as isize + shift[axis], self.shape[axis] as isize, borders[axis])
                        };
                        let beside: Option<Vec<usize>> = (0..self.shape.len()).map(shown).collect();
                        whole[&index] + beside.map_or(0.0, |beside| whole[&*beside])
                    });
                }
                Step::Redistribute(_, others) => borders = others,
                Step::Fill(ranges, value) => {
                    let is_inside = |index: &IxDyn| {
                        ranges.iter().enumerate().all(|(axis, (start, end))| (start..end).contains(&&index[axis]))
                    };
                    whole.indexed_iter_mut().filter(|(index, _)| is_inside(index)).for_each(|(_, x)| *x = *value);
                }
                Step::Scale(factor) => whole *= *factor,
                Step::Reduce => {
                    let least = whole.iter().copied().fold(f32::INFINITY, f32::min);
                    let largest = whole.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    results.push(numbers([whole.sum(), least, largest]));
                }
                Step::Gather if is_first => results.push(whole.clone()),
                Step::Gather => {}
            }
        }
        results
    }
}

fn numbers(numbers: [f32; 3]) -> ArrayD<f32> {
    vkarray::ndarray::arr1(&numbers).into_dyn()
}

fn element(index: &[usize]) -> f32 {
    (index.iter().fold(3, |number, &at| number * 5 + at) % 17) as f32
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

#[test]
fn random_programs_have_the_results_of_the_whole_array_on_the_host() {
    let count = std::env::var("VKARRAY_TEST_PROGRAMS").map_or(PROGRAMS, |text| text.parse().expect("a number"));
    let mut compared = 0;
    for seed in 0..count {
        let program = Program::new(seed);
        let results = ThreadRank::run(program.ranks, |rank| program.on_rank(rank).unwrap());
        for (rank, results) in results.into_iter().enumerate() {
            let expected = program.on_host(rank == 0);
            assert_eq!(
                results, expected,
                "seed {seed}, rank {rank} of {}: {:?}, {:?}",
                program.ranks, program.start, program.steps
            );
            compared += results.len();
        }
    }
    println!("{count} programs, {compared} results");
}
