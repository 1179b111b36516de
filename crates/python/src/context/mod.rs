//! The contexts of the process: one for each device that is used, opened by the first call that needs it.
//!
//! | file | what it has |
//! |---|---|
//! | `device.rs` | the classes `Device` and `Context` |
//! | `stream.rs` | streams and events |
//! | `interpreter.rs` | calls of Python code by threads of the library |

mod device;
mod interpreter;
mod stream;

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use vkarray::Context;
use vkarray::device::{Device as OpenDevice, DeviceInfo, Instance, PhysicalDevice, Selection};

use crate::error::{VkError, raise};

pub(crate) use device::{Deferred, Figures};
pub(crate) use interpreter::Call;
pub(crate) use stream::{Stream, on_stream};

/// A context with the place of its device among the devices of the machine, and a number of its own.
#[derive(Clone)]
struct Opened {
    place: usize,
    number: u64,
    context: Context,
}

/// The contexts of the process. When the interpreter ends, [`shutdown`] takes them away, so that the devices are closed
/// while their drivers are still loaded.
enum Contexts {
    /// The contexts of the devices in use, and the one that calls use: at first none, which is opened by need.
    Running { kept: Vec<Opened>, chosen: Option<Opened> },
    /// The interpreter ends. A thread that goes on must not open a device again.
    Ended,
}

const NONE: Contexts = Contexts::Running { kept: Vec::new(), chosen: None };

static CONTEXTS: Mutex<Contexts> = Mutex::new(NONE);

/// How many contexts were opened.
static N_OPENED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The contexts of the thread's `with` statements, the innermost last.
    static ENTERED: RefCell<Vec<Opened>> = const { RefCell::new(Vec::new()) };
}

fn contexts() -> MutexGuard<'static, Contexts> {
    CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts other contexts into [`CONTEXTS`] and drops those before, which may close devices.
fn replace(py: Python<'_>, contexts: Contexts) {
    let before = std::mem::replace(&mut *self::contexts(), contexts);
    py.detach(|| drop(before));
}

fn ended() -> PyErr {
    VkError::new_err("the interpreter ends, and its device is closed")
}

/// The context of the calls of this thread: that of its innermost `with` statement, otherwise that of the process, whose
/// device the environment variable `VKARRAY_DEVICE` chooses at first.
pub(crate) fn context(py: Python<'_>) -> PyResult<Context> {
    current(py).map(|opened| opened.context)
}

fn current(py: Python<'_>) -> PyResult<Opened> {
    if let Some(entered) = ENTERED.with_borrow(|entered| entered.last().cloned()) {
        return Ok(entered);
    }
    let chosen = py.detach(|| match &*contexts() {
        Contexts::Running { chosen, .. } => Ok(chosen.clone()),
        Contexts::Ended => Err(ended()),
    })?;
    match chosen {
        Some(chosen) => Ok(chosen),
        None => choose(py, None),
    }
}

/// The devices of the machine that `VKARRAY_VISIBLE_DEVICES` lets through, in its order.
fn visible() -> Result<Vec<PhysicalDevice>, vkarray::device::Error> {
    let devices = Instance::builder().build()?.devices()?;
    let infos: Vec<DeviceInfo> = devices.iter().map(|device| (**device.info()).clone()).collect();
    let visible = Selection::from_environment(None).visible(&infos)?;
    Ok(visible.into_iter().map(|idx| devices[idx].clone()).collect())
}

/// Makes a device that of the process, named as in `VKARRAY_DEVICE`; without a name, the one that the variable names.
fn choose(py: Python<'_>, selector: Option<&str>) -> PyResult<Opened> {
    let find = || {
        let infos: Vec<DeviceInfo> = visible()?.iter().map(|device| (**device.info()).clone()).collect();
        // The variable filters and orders the devices, which is done.
        let selection = Selection { visible_variable: None, ..Selection::from_environment(selector) };
        selection.choose(&infos)
    };
    let opened = open(py, py.detach(find).map_err(raise)?)?;
    if let Contexts::Running { chosen, .. } = &mut *contexts() {
        *chosen = Some(opened.clone());
    }
    Ok(opened)
}

/// The context of the device at a place among those that are visible. Opened without a lock, since the memory manager may be
/// code of the program; where two threads open one device at once, both get the context of the first.
fn open(py: Python<'_>, place: usize) -> PyResult<Opened> {
    let find = |contexts: &Contexts| match contexts {
        Contexts::Running { kept, .. } => Ok(kept.iter().find(|opened| opened.place == place).cloned()),
        Contexts::Ended => Err(ended()),
    };
    if let Some(kept) = py.detach(|| find(&contexts()))? {
        return Ok(kept);
    }
    let opened = py.detach(|| -> vkarray::Result<Option<Context>> {
        let devices = visible()?;
        let Some(device) = devices.get(place) else { return Ok(None) };
        Context::on(&OpenDevice::open(device)?).map(Some)
    });
    let context = opened.map_err(raise)?;
    let context = context.ok_or_else(|| PyIndexError::new_err(format!("there is no device {place}; see `vk.gpus`")))?;
    let opened = Opened { place, number: N_OPENED.fetch_add(1, Ordering::Relaxed), context };
    py.detach(|| {
        let mut contexts = contexts();
        if let Some(first) = find(&contexts)? {
            drop(contexts);
            return Ok(first); // Drops the second without the lock.
        }
        if let Contexts::Running { kept, .. } = &mut *contexts {
            kept.push(opened.clone());
        }
        Ok(opened)
    })
}

/// The device of the calls of this thread, opened once more.
pub(crate) fn reopen(py: Python<'_>) -> PyResult<Arc<OpenDevice>> {
    let place = current(py)?.place;
    py.detach(|| OpenDevice::open(&visible()?.swap_remove(place))).map_err(raise)
}

/// Whether arrays of both contexts can be used together.
pub(crate) fn is_same(left: &Context, right: &Context) -> bool {
    Arc::ptr_eq(left.device(), right.device())
}

/// Makes a device that of the process, given as in `VKARRAY_DEVICE`. Arrays that exist keep theirs.
#[pyfunction]
fn select_device(py: Python<'_>, selector: &str) -> PyResult<()> {
    choose(py, Some(selector)).map(drop)
}

/// Lets all contexts go. Arrays that exist keep theirs; the next call that needs a device opens it again.
#[pyfunction]
fn close(py: Python<'_>) {
    replace(py, NONE);
}

/// Waits for callbacks and other calls of Python code, and closes the devices of which no array is left.
#[pyfunction]
fn shutdown(py: Python<'_>) {
    interpreter::end(py);
    replace(py, Contexts::Ended);
}

/// Waits until everything that was recorded on the streams of the context is complete.
#[pyfunction]
fn synchronize(py: Python<'_>) -> PyResult<()> {
    let context = context(py)?;
    py.detach(|| context.device().synchronize()).map_err(raise)
}

/// The name of the device and of its driver.
#[pyfunction]
fn device_name(py: Python<'_>) -> PyResult<(String, String)> {
    let context = context(py)?;
    let info = context.info();
    Ok((info.name.clone(), format!("{} {}", info.driver.name, info.driver.info).trim().to_owned()))
}

/// Whether the device computes 64-bit floats and 64-bit integers.
#[pyfunction]
fn device_has_doubles_and_longs(py: Python<'_>) -> PyResult<(bool, bool)> {
    let context = context(py)?;
    let features = context.info().features;
    Ok((features.shader_float64, features.shader_int64))
}

/// A number that no other context has: what is built for a context is kept by it.
#[pyfunction]
fn context_number(py: Python<'_>) -> PyResult<u64> {
    current(py).map(|opened| opened.number)
}

/// Bytes of device memory that are free, and bytes of all of it.
#[pyfunction]
fn memory_info(py: Python<'_>) -> PyResult<(u64, u64)> {
    let info = context(py)?.memory_info().map_err(raise)?;
    Ok((info.free, info.total))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(select_device, module)?)?;
    module.add_function(wrap_pyfunction!(close, module)?)?;
    module.add_function(wrap_pyfunction!(shutdown, module)?)?;
    module.add_function(wrap_pyfunction!(synchronize, module)?)?;
    module.add_function(wrap_pyfunction!(device_name, module)?)?;
    module.add_function(wrap_pyfunction!(device_has_doubles_and_longs, module)?)?;
    module.add_function(wrap_pyfunction!(memory_info, module)?)?;
    module.add_function(wrap_pyfunction!(context_number, module)?)?;
    device::register(module)?;
    stream::register(module)
}
