//! What exchanges cost on many GPUs: `cargo run --release -p vkarray-dist --example simulate -- 8 64 1024 16384`.
//!
//! The decompositions, messages and their bytes are those of the real schedules; the machine is assumed. No rank runs,
//! and no device is needed. `docs/scale.md` explains the results.

use std::env;
use std::process::ExitCode;

use vkarray_dist::model::{Connection, Estimate, Machine, Message, halo_messages, redistribute_messages};
use vkarray_dist::{Border, Decomposition, DecompositionError};

/// Hosts of eight GPUs, with a network card of 400 Gbit/s for each. A copy between the device and pinned memory passes the
/// bus with 45 GB/s, and a kernel packs each view. Elements pass between ranks of one host in memory that both devices
/// reach, so that the host copies nothing.
const MACHINE: Machine = Machine {
    ranks_per_host: 8,
    copies: Connection { latency: 20e-6, overhead: 1e-6, bandwidth: 45e9 },
    host: Connection { latency: 1e-6, overhead: 3e-7, bandwidth: f64::INFINITY },
    network: Connection { latency: 3e-6, overhead: 3e-7, bandwidth: 8.0 * 50e9 },
};

/// The machine without such memory: a thread of the host copies 10 GB/s from one process to another one.
const BY_MESSAGES: Machine = Machine { host: Connection { bandwidth: 10e9, ..MACHINE.host }, ..MACHINE };

/// What a GPU computes in a second: bytes of a stencil, elements of a sort, multiplications and additions of a product.
const STENCIL: f64 = 2.5e12;
const SORT: f64 = 25e9;
const PRODUCT: f64 = 40e12;

/// The elements of a rank along each axis of the stencil and of the product, and in the sort; all are `f32`.
const CUBE: usize = 512;
const BLOCK: usize = 16_384;
const KEYS: usize = 1 << 28;

fn main() -> ExitCode {
    let given: Result<Vec<usize>, _> = env::args().skip(1).map(|text| text.parse()).collect();
    let ranks = given.map(|given| if given.is_empty() { vec![10_000] } else { given });
    println!(
        "{:8}{:30}{:>12}{:>14}{:>14}{:>14}{:>9}",
        "ranks", "operation", "messages", "GB", "exchange ms", "work ms", "work %"
    );
    match ranks.map(|ranks| ranks.into_iter().try_for_each(simulate)) {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(error)) => eprintln!("error: {error}"),
        Err(error) => eprintln!("error: the arguments are numbers of ranks: {error}"),
    }
    ExitCode::FAILURE
}

fn simulate(ranks: usize) -> Result<(), DecompositionError> {
    let grid = Decomposition::over([1 << 16; 3], ranks)?.grid().to_vec();
    let shape: Vec<usize> = grid.iter().map(|parts| parts * CUBE).collect();
    let cubes = Decomposition::with_grid(&*shape, &*grid)?.ghosts([(1, 1); 3])?.borders([Border::Periodic; 3])?;
    let cells = CUBE.pow(3) as f64;
    // The stencil reads and writes each element once.
    for (name, machine) in [("stencil step", MACHINE), ("stencil step, by messages", BY_MESSAGES)] {
        show(ranks, name, machine.round(ranks, halo_messages(&cubes, 4)?), cells * 8.0 / STENCIL);
    }
    // For a Fourier transform along the last axis, of which each rank then has whole lines.
    let pencils = Decomposition::with_grid(&*shape, [grid[0], ranks / grid[0], 1])?;
    let to_pencils = MACHINE.round(ranks, redistribute_messages(&cubes, &pencils, 4)?);
    show(ranks, "cubes to pencils", to_pencils, cells * 8.0 / STENCIL);
    show(ranks, "sum by way of rank 0", sum(ranks), cells * 4.0 / STENCIL);
    show(ranks, "sum by a tree", tree(ranks), cells * 4.0 / STENCIL);
    show(ranks, "sort by samples", sort(ranks), 2.0 * KEYS as f64 / SORT);
    let (product, panels) = product(ranks)?;
    let inner = (panels * BLOCK) as f64;
    show(ranks, "product by panels", product, 2.0 * (BLOCK * BLOCK) as f64 * inner / PRODUCT);
    Ok(())
}

fn show(ranks: usize, operation: &str, estimate: Estimate, work: f64) {
    let Estimate { messages, bytes, seconds, .. } = estimate;
    let (gigabytes, share) = (bytes as f64 / 1e9, 100.0 * work / (work + seconds));
    let (exchange, work) = (seconds * 1e3, work * 1e3);
    println!("{ranks:<8}{operation:30}{messages:>12}{gigabytes:>14.3}{exchange:>14.3}{work:>14.3}{share:>9.1}");
}

/// Bytes in the memory of the host.
/// A message of numbers in memory of the host.
fn message(sender: usize, receiver: usize, bytes: usize) -> Message {
    Message { sender, receiver, bytes, views: 0 }
}

/// A message of elements of one view.
fn elements(sender: usize, receiver: usize, bytes: usize) -> Message {
    Message { sender, receiver, bytes, views: 1 }
}

/// All ranks send a number to rank 0, which sends the sum to all.
fn sum(ranks: usize) -> Estimate {
    MACHINE.round(ranks, (1..ranks).map(|rank| message(rank, 0, 4)))
        + MACHINE.round(ranks, (1..ranks).map(|rank| message(0, rank, 4)))
}

/// Numbers are added in pairs up to rank 0, and the sum comes back the same way.
fn tree(ranks: usize) -> Estimate {
    let levels = (0..usize::BITS).map(|level| 1_usize << level).take_while(|&step| step < ranks);
    levels
        .map(|step| {
            let pairs = || (step..ranks).step_by(2 * step);
            MACHINE.round(ranks, pairs().map(|rank| message(rank, rank - step, 4)))
                + MACHINE.round(ranks, pairs().map(|rank| message(rank - step, rank, 4)))
        })
        .fold(Estimate::default(), |sum, level| sum + level)
}

/// Samples of each rank go to each rank, then the places where each rank cuts its part, then the elements. At last
/// ranks exchange the sixteenth of their elements by which their parts differ.
fn sort(ranks: usize) -> Estimate {
    let all = |bytes: usize, of: fn(usize, usize, usize) -> Message| {
        let pairs = (0..ranks).flat_map(move |sender| (0..ranks).map(move |receiver| (sender, receiver)));
        let others = pairs.filter(|(sender, receiver)| sender != receiver);
        MACHINE.round(ranks, others.map(move |(sender, receiver)| of(sender, receiver, bytes)))
    };
    let rest = MACHINE.round(ranks, (1..ranks).map(|rank| elements(rank, rank - 1, KEYS / 16 * 4)));
    all(16 * ranks * 4, message) + all(2 * (ranks - 1) * 4, message) + all(KEYS / ranks * 4, elements) + rest
}

/// One panel after the other: in each row and column of the grid one rank copies its panel for each of the others.
fn product(ranks: usize) -> Result<(Estimate, usize), DecompositionError> {
    let divided = Decomposition::over([1 << 20; 2], ranks)?;
    let &[rows, columns] = divided.grid() else { return Ok((Estimate::default(), 0)) };
    // Where the grid is not square, a panel is a part of a block along one axis.
    let panels = rows.max(columns);
    let (left, right) = (BLOCK * BLOCK * columns / panels * 4, BLOCK * BLOCK * rows / panels * 4);
    let rank = |row: usize, column: usize| row * columns + column;
    let round = |panel: usize| {
        let (own_column, own_row) = (panel * columns / panels, panel * rows / panels);
        let to_right = (0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column)));
        let along_rows = to_right.clone().filter(move |place| place.1 != own_column);
        let along_columns = to_right.filter(move |place| place.0 != own_row);
        let messages = along_rows
            .map(|(row, column)| elements(rank(row, own_column), rank(row, column), left))
            .chain(along_columns.map(|(row, column)| elements(rank(own_row, column), rank(row, column), right)));
        MACHINE.round(ranks, messages)
    };
    Ok(((0..panels).map(round).fold(Estimate::default(), |sum, panel| sum + panel), panels))
}
