//! A trace of overlapped exchanges: the device computes the interior while the host exchanges messages.
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]

use std::cell::{Cell, RefCell};
use std::time::Instant;

use serde_json::Value;
use vkarray::device::DeviceType;
use vkarray::prelude::*;
use vkarray::stream::Trace;
use vkarray_dist::{Border, Decomposition, DistArray, DistError, Place, Region, ThreadRank, Transport, TransportError};

/// Rows and columns of a rank's part, enough for a CPU driver to compute for some milliseconds.
const ROWS: usize = 500;
const COLUMNS: usize = 2003;

/// Rounds, of which one has to show it: a thread of a rank may be kept from a busy machine's cores for a whole interior.
const ROUNDS: usize = 5;

/// A transport with an exchange that lasts until an event has completed, if there is one.
#[derive(Debug)]
struct Waiting<'t> {
    rank: &'t ThreadRank,
    event: RefCell<Option<Event>>,
    /// When the last exchange with an event began.
    began: Cell<Instant>,
}

impl Transport for Waiting<'_> {
    fn rank(&self) -> usize {
        self.rank.rank()
    }

    fn size(&self) -> usize {
        self.rank.size()
    }

    fn exchange(&self, outgoing: &[(usize, &[u8])], incoming: &mut [(usize, &mut [u8])]) -> Result<(), TransportError> {
        if let Some(event) = self.event.take() {
            self.began.set(Instant::now());
            event.synchronize().unwrap();
        }
        self.rank.exchange(outgoing, incoming)
    }

    fn barrier(&self) -> Result<(), TransportError> {
        self.rank.barrier()
    }

    fn place(&self) -> Place {
        self.rank.place()
    }
}

#[test]
fn the_trace_shows_the_interior_in_the_time_of_the_exchange() {
    let shares = ThreadRank::run(2, |rank| -> Result<Vec<f64>, DistError> {
        let waiting = Waiting { rank, event: RefCell::default(), began: Cell::new(Instant::now()) };
        let ctx = Context::open_default()?; // Each rank has streams of its own.
        let parts = Decomposition::with_grid([2 * ROWS, COLUMNS], [2, 1])?;
        let parts = parts.ghosts([(1, 1), (1, 1)])?.borders([Border::Periodic; 2])?;
        let x = DistArray::from_fn(&ctx, &waiting, &parts, |at| (at[0] + at[1]) as f32)?;
        let y = DistArray::full(&ctx, &waiting, &parts, 0.0_f32)?;
        let step = |piece: &Region| -> Result<(), DistError> {
            let beside = x.window(piece, &[-1, 0])? + x.window(piece, &[1, 0])?;
            Ok(beside.sin().exp().sin().exp().assign_to(&y.window(piece, &[0, 0])?)?)
        };
        // A GPU takes some microseconds for a step, and a CPU driver some milliseconds.
        let steps = if ctx.info().device_type == DeviceType::Cpu { 1 } else { 300 };
        x.overlap(step, step)?; // Builds the kernels.
        ctx.synchronize()?;
        let start = Instant::now();
        let trace = Trace::start(ctx.device()).unwrap();
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let mut batch = 0;
            let interior = |piece: &Region| {
                (0..steps).try_for_each(|_| step(piece))?;
                let event = Event::new(ctx.device());
                event.record(ctx.default_stream()).unwrap();
                batch = event.point().unwrap().value();
                waiting.event.replace(Some(event));
                Ok(())
            };
            x.overlap(interior, step)?;
            rounds.push((batch, waiting.began.get().duration_since(start).as_secs_f64() * 1e6));
        }
        let mut text = Vec::new();
        trace.finish(&mut text).unwrap();
        let file: Value = serde_json::from_slice(&text).unwrap();
        Ok(rounds.into_iter().map(|(batch, began)| share_after(&file, batch, began)).collect())
    });
    for shares in shares.into_iter().map(Result::unwrap) {
        assert!(shares.iter().any(|&share| share > 0.5), "{shares:?} of the interiors were computed in exchanges");
    }
}

/// The part of a batch's time on the device that lies after a time in microseconds from the start of the trace. The exchange
/// that began then ended after the batch.
fn share_after(file: &Value, batch: u64, began: f64) -> f64 {
    let events = file["traceEvents"].as_array().unwrap().iter();
    let name = format!("batch {batch}");
    let [work] = events.filter(|event| event["name"] == name).collect::<Vec<_>>()[..] else {
        panic!("the trace has not one {name}");
    };
    let [start, duration] = ["ts", "dur"].map(|key| work[key].as_f64().unwrap());
    (start + duration - began) / duration
}
