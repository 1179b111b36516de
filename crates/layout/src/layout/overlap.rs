//! Whether two layouts of a block share elements, and whether one layout has an element twice.
//!
//! Both questions ask whether a bounded linear equation has an integer solution, which is hard in general and easy for
//! almost every array in practice. The search is exact up to a fixed amount of work; beyond that the answer is "yes".

use smallvec::SmallVec;

use super::Layout;

/// The most nodes that a search visits before it answers "yes" without proof.
const BUDGET: u32 = 20_000;

impl Layout {
    /// Whether two layouts of one block, with elements of one size, may share an element.
    ///
    /// `false` is always proven. `true` is exact too, except for rare layouts of several axes whose strides make the bounded
    /// search give up.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// let (even, odd) = (x.slice(&s![.., ..;2])?, x.slice(&s![.., 1..;2])?);
    /// assert!(x.overlaps(&odd) && !even.overlaps(&odd));
    /// # anyhow::Ok(())
    /// ```
    pub fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (self.extent(), other.extent());
        if self.size() == 0 || other.size() == 0 || a.end <= b.start || b.end <= a.start {
            return false;
        }
        let (a, b) = (self.in_memory_order(), other.in_memory_order());
        // a.offset + Σ stride·i = b.offset + Σ stride·j; with j counted from the far end all terms are positive.
        let far_end = b.extent().end as i128 - 1;
        let terms = [&a, &b].into_iter().flat_map(|side| {
            let axes = side.shape.iter().zip(&side.strides);
            axes.map(|(&len, &stride)| Term { step: stride as i128, bound: len as i128 - 1 })
        });
        Equation::new(terms.collect()).may_reach(far_end - a.offset as i128)
    }

    /// Whether two indices may mean the same element, so that the result of writing to both is undefined.
    ///
    /// `false` is always proven; `true` has the same exception as in [`Layout::overlaps`].
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert!(!x.has_internal_overlap());
    /// assert!(Layout::with_strides(&[3, 3], &[1, 1], 0)?.has_internal_overlap());
    /// # anyhow::Ok(())
    /// ```
    pub fn has_internal_overlap(&self) -> bool {
        if self.is_c_contiguous() || self.is_nested() {
            return false; // The usual cases.
        }
        let sorted = self.in_memory_order();
        let terms =
            || sorted.shape.iter().zip(&sorted.strides).map(|(&len, &stride)| (len as i128 - 1, stride as i128));
        // In all other cases, search for two indices that differ first on some axis, by `1 + x`, and by `x - last` on
        // later axes.
        (0..sorted.ndim()).any(|first| {
            let later: i128 = terms().skip(first + 1).map(|(last, stride)| stride * last).sum();
            let (last, stride) = (sorted.shape[first] as i128 - 1, sorted.strides[first] as i128);
            let own = Term { step: stride, bound: last - 1 };
            let rest = terms().skip(first + 1).map(|(last, step)| Term { step, bound: 2 * last });
            Equation::new(rest.chain([own]).collect()).may_reach(later - stride)
        })
    }

    /// Whether each stride is larger than the range that all smaller strides span. Elements of such a layout share no
    /// memory, and a mutable host array can have the layout.
    #[doc(hidden)]
    pub fn is_nested(&self) -> bool {
        let sorted = self.in_memory_order();
        let mut reach = 0;
        self.size() < 2
            || sorted.shape.iter().zip(&sorted.strides).rev().all(|(&len, &stride)| {
                let exceeds = stride as i128 > reach;
                reach += stride as i128 * (len as i128 - 1);
                exceeds
            })
    }
}

/// `step·x` for an integer `0 <= x <= bound`.
#[derive(Clone, Copy)]
struct Term {
    step: i128,
    bound: i128,
}

/// A sum of terms, largest steps first.
struct Equation {
    terms: SmallVec<[Term; 8]>,
    /// For each term, the largest sum of this term and all later ones; one entry longer than `terms`.
    reach: SmallVec<[i128; 8]>,
    /// For each term, the common divisor of this term and all later ones.
    divisor: SmallVec<[i128; 8]>,
}

impl Equation {
    fn new(mut terms: SmallVec<[Term; 8]>) -> Self {
        terms.retain(|term| term.step != 0 && term.bound > 0);
        terms.sort_by_key(|term| std::cmp::Reverse(term.step));
        // Terms with the same step are equivalent to one term with the sum of their bounds. The tiles of an array give
        // such terms.
        terms.dedup_by(|next, term| {
            let is_same = next.step == term.step;
            term.bound += if is_same { next.bound } else { 0 };
            is_same
        });
        let (mut reach, mut divisor) = (SmallVec::from_elem(0, 1), SmallVec::new());
        for term in terms.iter().rev() {
            reach.insert(0, reach[0] + term.step * term.bound);
            divisor.insert(0, gcd(term.step, divisor.first().copied().unwrap_or(0)));
        }
        Self { terms, reach, divisor }
    }

    /// Whether the sum can be `target`, or the search used up its budget.
    fn may_reach(&self, target: i128) -> bool {
        let mut budget = BUDGET;
        self.search(0, target, &mut budget).unwrap_or(true)
    }

    /// Whether the terms from `level` on can sum to `target`; `None` when the budget is used up.
    fn search(&self, level: usize, target: i128, budget: &mut u32) -> Option<bool> {
        let Some(&Term { step, bound }) = self.terms.get(level) else {
            return Some(target == 0);
        };
        if target < 0 || target > self.reach[level] || target % self.divisor[level] != 0 {
            return Some(false);
        }
        let Some(&rest_divisor) = self.divisor.get(level + 1) else {
            return Some(true);
        };
        let rest_reach = self.reach[level + 1];
        let mut x = (target - rest_reach + step - 1).div_euclid(step).max(0);
        let last = (target / step).min(bound);
        let mut stride = 1;
        while x <= last {
            *budget = budget.checked_sub(1)?;
            let rest = target - step * x;
            // From the first `x` whose rest is divisible, every `stride`-th `x` has a divisible rest, and no other.
            if rest % rest_divisor == 0 {
                stride = rest_divisor / self.divisor[level];
                if self.search(level + 1, rest, budget)? {
                    return Some(true);
                }
            }
            x += stride;
        }
        Some(false)
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
