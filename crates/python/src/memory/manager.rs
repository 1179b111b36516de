//! Memory managers that are classes of Python, as numba's plugins are.
//!
//! Vulkan's memory is made by the pool. A class decides about each allocation: it passes the request on, refuses it with an
//! exception, counts it, or keeps memory that it got earlier and gives that out. What it gives out is checked to be memory of
//! the pool, of the size that was asked for, and goes back to the pool when the last array on it is dropped.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use vkarray::device::Device;
use vkarray::memory::managers::{
    HostPointer, ManagerFactory, MemoryManager, MemoryPointer, Owner, PoolManager, Request,
};
use vkarray::memory::{BlockLabel, DeferCleanup, Error, HostOptions, MemoryInfo, MemoryKind, Result};
use vkarray::vulkan::ash::vk;
use vkarray_conformance::{Conformance, Outcome};

use crate::context::{Call, Deferred, Figures, reopen};
use crate::error::{exception_of, raise};

thread_local! {
    /// The last error of the pool on this thread, and its exception.
    static OF_POOL: RefCell<Option<(PyErr, vkarray::Error)>> = const { RefCell::new(None) };
}

/// The exception of an error of the pool. If it comes back as it is, the error does.
fn raise_of_pool(error: Error) -> PyErr {
    let error = vkarray::Error::Memory(error);
    let raised = exception_of(&error);
    let kept = Python::attach(|py| raised.clone_ref(py));
    OF_POOL.set(Some((kept, error)));
    raised
}

/// The error of an exception of a manager: that of the pool if the manager let it through, otherwise the exception.
fn refused(raised: PyErr) -> Error {
    let same = |(of_pool, _): &(PyErr, _)| Python::attach(|py| of_pool.value(py).is(raised.value(py)));
    match OF_POOL.take().filter(same) {
        Some((_, vkarray::Error::Memory(error))) => error,
        _ => Error::Manager(Box::new(raised)),
    }
}

/// What a manager gets memory from: the argument `context` of its class.
#[pyclass(frozen, module = "vkarray")]
struct ManagerContext(Arc<PoolManager>);

#[pymethods]
impl ManagerContext {
    /// Device memory of `size` bytes, uninitialised. `finalizer()` is called when the memory comes back.
    #[pyo3(signature = (size, finalizer=None))]
    fn memalloc(&self, py: Python<'_>, size: u64, finalizer: Option<Py<PyAny>>) -> PyResult<Pointer> {
        let memory = py.detach(|| self.0.memalloc(&Request::new(size, MemoryKind::Device))).map_err(raise_of_pool)?;
        Ok(Pointer::new(memory, &self.0, finalizer))
    }

    /// Host memory of `size` bytes that the device addresses, uninitialised.
    #[pyo3(signature = (size, mapped=false, portable=false, wc=false, finalizer=None))]
    #[expect(clippy::too_many_arguments, reason = "they are those of numba's managers")]
    fn memhostalloc(
        &self,
        py: Python<'_>,
        size: u64,
        mapped: bool,
        portable: bool,
        wc: bool,
        finalizer: Option<Py<PyAny>>,
    ) -> PyResult<Pointer> {
        let options = HostOptions::default().mapped(mapped).portable(portable).wc(wc);
        let memory = py.detach(|| self.0.memhostalloc(size, options)).map_err(raise_of_pool)?;
        Ok(Pointer::new(memory.into_pointer(), &self.0, finalizer))
    }

    /// Free and all bytes of the device's memory.
    fn get_memory_info(&self, py: Python<'_>) -> PyResult<Figures> {
        let info = py.detach(|| self.0.get_memory_info()).map_err(raise_of_pool)?;
        Ok(Figures { free: info.free, total: info.total })
    }

    /// Gives all unused memory back to the driver, and waits for the work that used it.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.reset()).map_err(raise_of_pool)
    }

    /// Holds back the freeing of memory while a `with` statement runs.
    fn defer_cleanup(&self) -> Deferred {
        let pool = Arc::clone(&self.0);
        Deferred::new(move || pool.defer_cleanup())
    }
}

/// Memory that no array has yet. It goes back to the pool if no manager gives it out.
#[pyclass(frozen, module = "vkarray", name = "MemoryPointer")]
struct Pointer {
    /// The bytes that were asked for.
    #[pyo3(get)]
    size: u64,
    pool: Arc<PoolManager>,
    /// The memory and its finalizer, until they are given out.
    given: Mutex<Option<Given>>,
}

struct Given {
    memory: MemoryPointer,
    finalizer: Option<Py<PyAny>>,
}

impl Pointer {
    fn new(memory: MemoryPointer, pool: &Arc<PoolManager>, finalizer: Option<Py<PyAny>>) -> Self {
        let size = memory.size();
        Self { size, pool: Arc::clone(pool), given: Mutex::new(Some(Given { memory, finalizer })) }
    }

    fn take(&self) -> Option<Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Pointer {
    fn drop(&mut self) {
        let Some(Given { memory, finalizer }) = self.take() else { return };
        // SAFETY: the pool gave the memory out, nothing has used it, and it is taken out of this object.
        unsafe { self.pool.memfree(memory) };
        finalize(finalizer);
    }
}

/// Calls what a manager wants to be called when memory came back, unless the interpreter has ended.
fn finalize(finalizer: Option<Py<PyAny>>) {
    let Some((finalizer, call)) = finalizer.zip(Call::begin()) else { return };
    call.run(|py| {
        if let Err(error) = finalizer.call0(py) {
            error.write_unraisable(py, Some(finalizer.bind(py)));
        }
    });
}

/// The bytes by which memory is known: its buffer and its place in it.
type Place = (vk::Buffer, u64);

/// A manager that asks an object of Python.
#[derive(Debug)]
struct PythonManager {
    object: Py<PyAny>,
    version: u32,
    pool: Arc<PoolManager>,
    /// Of memory that is given out.
    finalizers: Mutex<HashMap<Place, Py<PyAny>>>,
}

impl PythonManager {
    /// Makes an object of a class. Each context has one.
    fn new(class: &Py<PyAny>, py: Python<'_>) -> PyResult<Self> {
        let pool = Arc::new(PoolManager::new());
        let keywords = pyo3::types::PyDict::new(py);
        keywords.set_item("context", ManagerContext(Arc::clone(&pool)).into_pyobject(py)?)?;
        let object = class.call(py, (), Some(&keywords))?;
        let version = object.getattr(py, "interface_version")?.extract(py)?;
        Ok(Self { object, version, pool, finalizers: Mutex::default() })
    }

    /// Calls a method, which gives memory of `size` bytes of a kind.
    fn ask<'py>(
        &self,
        method: Bound<'py, PyAny>,
        arguments: impl pyo3::call::PyCallArgs<'py>,
        (size, kind): (u64, MemoryKind),
    ) -> PyResult<MemoryPointer> {
        let given = method.call1(arguments)?;
        let pointer = given.cast::<Pointer>().map_err(|_| {
            PyTypeError::new_err(format!("{method} gave {given}, and no memory of its context's `memalloc`"))
        })?;
        let pointer = pointer.get();
        let refuse = |what: &str| PyValueError::new_err(format!("{method} gave {what}"));
        if !Arc::ptr_eq(&pointer.pool, &self.pool) {
            return Err(refuse("memory of another context"));
        }
        if pointer.size != size {
            return Err(refuse(&format!("{} bytes, and {size} were asked for", pointer.size)));
        }
        let Given { memory, finalizer } = pointer.take().ok_or_else(|| refuse("memory that it gave out before"))?;
        if memory.kind() != kind {
            let (found, back) = (memory.kind(), Pointer::new(memory, &self.pool, finalizer));
            drop(back);
            return Err(refuse(&format!("{found} memory, and {kind} memory was asked for")));
        }
        if let Some(finalizer) = finalizer {
            let place = (memory.buffer(), memory.offset());
            self.finalizers.lock().unwrap_or_else(PoisonError::into_inner).insert(place, finalizer);
        }
        Ok(memory)
    }

    /// Calls a method of the object.
    fn call<R: Send>(&self, call: impl Send + FnOnce(&Bound<'_, PyAny>) -> PyResult<R>) -> Result<R> {
        let ended = Error::Unsupported { what: "a memory manager of Python after the end of the interpreter" };
        let called = Call::begin().and_then(|begun| begun.run(|py| call(self.object.bind(py)))).ok_or(ended)?;
        called.map_err(refused)
    }
}

// SAFETY: all memory is the pool's. Each piece is taken once out of the object that holds it, is checked to have the size and
// kind that were asked for, and goes back to the pool unchanged, after it came back or when no one took it.
unsafe impl MemoryManager for PythonManager {
    fn interface_version(&self) -> u32 {
        self.version
    }

    fn upstream(&self) -> Option<&dyn MemoryManager> {
        Some(&*self.pool)
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        self.pool.initialize(device)?;
        self.call(|object| object.call_method0("initialize").map(drop))
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
        if request.kind != MemoryKind::Device {
            return self.pool.memalloc(request);
        }
        let asked = (request.size, request.kind);
        let memory = self.call(|object| self.ask(object.getattr("memalloc")?, (request.size,), asked))?;
        if request.label != BlockLabel::new() {
            self.pool.set_label(&memory, request.label.clone());
        }
        Ok(memory)
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        let HostOptions { mapped, portable, wc, .. } = options;
        let asked = (size, options.kind());
        let memory =
            self.call(|object| self.ask(object.getattr("memhostalloc")?, (size, mapped, portable, wc), asked))?;
        HostPointer::new(memory, mapped).map_err(|memory| {
            drop(Pointer::new(memory, &self.pool, None));
            Error::NotOnHost { kind: options.kind() }
        })
    }

    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, mapped: bool) -> Result<HostPointer> {
        // SAFETY: the caller keeps the same contract.
        unsafe { self.pool.mempin(owner, pointer, size, mapped) }
    }

    unsafe fn memfree(&self, memory: MemoryPointer) {
        let place = (memory.buffer(), memory.offset());
        let finalizer = self.finalizers.lock().unwrap_or_else(PoisonError::into_inner).remove(&place);
        // SAFETY: the caller keeps the same contract, and the pool gave the memory out.
        unsafe { self.pool.memfree(memory) };
        finalize(finalizer);
    }

    fn get_memory_info(&self) -> Result<MemoryInfo> {
        let own = self.pool.get_memory_info()?;
        self.call(|object| {
            let info = object.call_method0("get_memory_info")?;
            let (free, total) = (info.getattr("free")?.extract()?, info.getattr("total")?.extract()?);
            Ok(MemoryInfo { free, total, ..own })
        })
    }

    fn reset(&self) -> Result<()> {
        self.call(|object| object.call_method0("reset").map(drop))
    }

    fn defer_cleanup(&self) -> DeferCleanup {
        let begun = self.call(|object| {
            let deferred = object.call_method0("defer_cleanup")?;
            deferred.call_method0("__enter__")?;
            Ok(deferred.unbind())
        });
        let Ok(deferred) = begun else { return self.pool.defer_cleanup() };
        DeferCleanup::new(move || {
            let Some(call) = Call::begin() else { return };
            call.run(|py| {
                if let Err(error) = deferred.call_method1(py, "__exit__", (py.None(), py.None(), py.None())) {
                    error.write_unraisable(py, Some(deferred.bind(py)));
                }
            });
        })
    }
}

/// Has contexts that are opened later take their memory from objects of a class; with `None`, from the pool. One object is
/// made at once, to check its version.
#[pyfunction]
#[pyo3(signature = (manager))]
fn set_memory_manager(py: Python<'_>, manager: Option<Py<PyAny>>) -> PyResult<()> {
    let factory = match manager {
        None => ManagerFactory::named("default").map_err(raise)?,
        Some(class) => factory(class),
    };
    py.detach(|| vkarray::memory::managers::set_memory_manager(factory)).map_err(raise)
}

fn factory(class: Py<PyAny>) -> ManagerFactory {
    ManagerFactory::new(move || {
        let made = Python::attach(|py| PythonManager::new(&class, py)).map_err(refused)?;
        Ok(Box::new(made))
    })
}

/// Checks managers of a class with the library's kit, on the device of the calls of this thread, opened anew. Returns the
/// name, the outcome (`passed`, `skipped` or `FAILED`) and the reason of each check.
#[pyfunction]
fn check_memory_manager(py: Python<'_>, manager: Py<PyAny>) -> PyResult<Vec<(&'static str, &'static str, String)>> {
    let device = reopen(py)?;
    let report = py.detach(|| Conformance::new(&device, factory(manager)).run());
    let each = report.checks.into_iter().map(|(name, outcome)| match outcome {
        Outcome::Passed => (name, "passed", String::new()),
        Outcome::Skipped(reason) => (name, "skipped", reason),
        Outcome::Failed(reason) => (name, "FAILED", reason),
    });
    Ok(each.collect())
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Pointer>()?;
    module.add_function(wrap_pyfunction!(check_memory_manager, module)?)?;
    module.add_function(wrap_pyfunction!(set_memory_manager, module)?)
}
