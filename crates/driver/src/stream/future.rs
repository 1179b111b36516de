//! [`Completion`]: a future for a point in a stream's work, for any async runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::device::Device;
use crate::error::Result;
use crate::lock::{Mutex, Rank, assert_none_held};
use crate::tracker::Point;

/// A future that is ready when the device has reached a point, with the error if it cannot reach it.
///
/// The device's waiting thread wakes the task that polled last. Dropping the future cancels no work.
///
/// ```
/// use std::pin::pin;
/// use std::task::{Context as TaskContext, Poll, Waker};
/// use vkarray_driver::{Device, Instance, Stream};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// let stream = Stream::new(&device)?;
/// let mut done = pin!(stream.async_done()?);
/// stream.synchronize()?;
/// assert!(matches!(done.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())), Poll::Ready(Ok(()))));
/// # Ok(())
/// # }
/// ```
pub struct Completion {
    pub(super) device: Arc<Device>,
    pub(super) point: Point,
    pub(super) waiting: Option<Arc<Mutex<Waiting>>>, // Present after a poll that found the point pending.
}

#[derive(Default)]
pub(super) struct Waiting {
    outcome: Option<Result<()>>,
    waker: Option<Waker>,
}

impl Completion {
    /// The point that the future waits for.
    #[must_use]
    pub fn point(&self) -> &Point {
        &self.point
    }

    fn register(&mut self, waker: &Waker) -> Result<()> {
        let waiting = Waiting { outcome: None, waker: Some(waker.clone()) };
        let waiting = Arc::new(Mutex::new(Rank::Future, waiting));
        self.waiting = Some(Arc::clone(&waiting));
        let callback = move |outcome| {
            let waker = {
                let mut waiting = waiting.lock();
                waiting.outcome = Some(outcome);
                waiting.waker.take()
            };
            if let Some(waker) = waker {
                assert_none_held("a waker");
                waker.wake(); // Outside the lock: it may poll at once.
            }
        };
        self.device.add_callback(self.point.clone(), callback)
    }
}

impl Future for Completion {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.point.is_reached() {
            Ok(true) => return Poll::Ready(Ok(())),
            Ok(false) => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
        let Some(waiting) = &self.waiting else {
            return match self.register(context.waker()) {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            };
        };
        // Cloning and dropping a waker run code of the program's async runtime, so this thread holds no lock meanwhile.
        let waker = context.waker().clone();
        let mut locked = waiting.lock();
        if let Some(outcome) = locked.outcome.clone() {
            return Poll::Ready(outcome);
        }
        let former = locked.waker.replace(waker);
        drop(locked);
        drop(former);
        Poll::Pending
    }
}

crate::debug_fields!(Completion, this => point: this.point);
