//! The grid of ranks that cuts an array where it is smallest.

/// The grid of `ranks` ranks over an array of `shape` with the fewest elements beside its cuts. Grids that give each rank
/// elements come first; among equals, the one with the most ranks along the first axes, whose parts are contiguous.
pub(super) fn least_surface(shape: &[usize], ranks: usize) -> Vec<usize> {
    let mut grids = factorisations(ranks, shape.len());
    grids.sort_by(|a, b| b.cmp(a));
    grids.into_iter().min_by_key(|grid| (leaves_empty(shape, grid), surface(shape, grid))).unwrap_or_default()
}

fn leaves_empty(shape: &[usize], grid: &[usize]) -> bool {
    shape.iter().zip(grid).any(|(len, parts)| len < parts)
}

/// The number of elements on one side of all cuts.
fn surface(shape: &[usize], grid: &[usize]) -> u128 {
    (grid.iter().enumerate())
        .map(|(axis, &parts)| {
            let face = shape.iter().enumerate().filter(|&(other, _)| other != axis);
            face.fold(parts as u128 - 1, |size, (_, &len)| size.saturating_mul(len as u128))
        })
        .fold(0, u128::saturating_add)
}

/// All lists of `axes` numbers with the product `ranks`, which must not be 0.
fn factorisations(ranks: usize, axes: usize) -> Vec<Vec<usize>> {
    match axes {
        0 => Vec::new(),
        1 => vec![vec![ranks]],
        _ => divisors(ranks)
            .into_iter()
            .flat_map(|first| {
                let rest = factorisations(ranks / first, axes - 1);
                rest.into_iter().map(move |rest| [vec![first], rest].concat())
            })
            .collect(),
    }
}

fn divisors(number: usize) -> Vec<usize> {
    let small = (1..=number.isqrt()).filter(|divisor| number.is_multiple_of(*divisor));
    small
        .flat_map(|divisor| if divisor == number / divisor { vec![divisor] } else { vec![divisor, number / divisor] })
        .collect()
}
