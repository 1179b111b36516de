//! The class `Kernel`: a compute shader that is called with arrays and numbers.

use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyTuple};
use vkarray::array::AnyArray;
use vkarray::kernel::signature::{Param, Signature, given_numbers};
use vkarray::kernel::{Arg, AsArg, Error as KernelError, KernelBuilder, ScalarValue};
use vkarray::{Context, DType, Groups, Source};

use crate::class::Array;
use crate::context::{Stream, context};
use crate::convert::{axes, from_host, numpy, to_host};
use crate::error::raise;

/// A compute shader. `kernel[groups](x, y, 2.0)` runs it with these numbers of workgroups, `kernel[groups, stream](…)` on a
/// stream; `kernel.covering(shape)(…)` with as many as have an invocation for each element.
#[pyclass(frozen, module = "vkarray")]
pub(crate) struct Kernel(Arc<Built>);

/// A kernel, and what its calls give in order if no array has gaps.
struct Built {
    kernel: vkarray::Kernel,
    context: Context,
    expected: Vec<Expected>,
}

/// A kernel with the number of its workgroups.
#[pyclass(frozen, module = "vkarray")]
struct Launch {
    built: Arc<Built>,
    groups: Groups<'static>,
    stream: Option<vkarray::Stream>,
}

/// Builds a kernel of a shader in WGSL or GLSL (text) or in SPIR-V (bytes). `language` is `wgsl`, `glsl` or `spirv`; without
/// it, bytes are SPIR-V, and a text that begins with `#version` is GLSL. While the driver compiles, a warning of the logger
/// `vkarray` says so every `report_every` seconds, and Ctrl-C ends the call.
#[pyfunction]
#[pyo3(signature = (source, entry=None, *, language=None, constants=None, sanitize=None, report_every=5.0))]
#[expect(clippy::too_many_arguments, reason = "they are keywords of Python")]
pub(crate) fn kernel(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    entry: Option<&str>,
    language: Option<&str>,
    constants: Option<&Bound<'_, PyDict>>,
    sanitize: Option<bool>,
    report_every: f64,
) -> PyResult<Kernel> {
    let source = match (source.cast::<PyBytes>(), language) {
        (Ok(bytes), None | Some("spirv")) => Source::spirv(bytes.as_bytes().to_vec()),
        (Err(_), None | Some("wgsl" | "glsl")) => {
            let text: String = source.extract()?;
            let is_glsl = language.map_or_else(|| text.trim_start().starts_with("#version"), |name| name == "glsl");
            if is_glsl { Source::glsl(text) } else { Source::wgsl(text) }
        }
        (_, Some(name)) => return Err(PyValueError::new_err(format!("`{name}` is no language of this source"))),
    };
    let context = context(py)?;
    let mut builder = context.kernel(source);
    if let Some(entry) = entry {
        builder = builder.entry(entry);
    }
    for (name, value) in constants.into_iter().flatten() {
        builder = builder.constant(&name.extract::<String>()?, value.extract::<f64>()?);
    }
    if let Some(sanitize) = sanitize {
        builder = builder.sanitize(sanitize);
    }
    let kernel = built(py, &builder, report_every)?;
    let expected = expected(kernel.signature(), &[]);
    Ok(Kernel(Arc::new(Built { kernel, context, expected })))
}

/// Builds a kernel, and reports while it takes long. A driver's compiler cannot be stopped: where Python ends the wait, the
/// build goes on.
fn built(py: Python<'_>, builder: &KernelBuilder, report_every: f64) -> PyResult<vkarray::Kernel> {
    let unusable = |_| PyValueError::new_err(format!("report_every is {report_every}, not a number of seconds"));
    let limit = Duration::try_from_secs_f64(report_every).map_err(unusable)?.max(Duration::from_millis(1));
    let mut waited = Duration::ZERO;
    loop {
        match py.detach(|| builder.clone().build_within(limit)) {
            Err(KernelError::BuildLimit { source_name, kernel, .. }) => {
                py.check_signals()?;
                waited += limit;
                let text = format!("still building {kernel} of {source_name}, for {:.3} s", waited.as_secs_f64());
                let logger = py.import("logging")?.call_method1("getLogger", ("vkarray",))?;
                logger.call_method1("warning", (text,))?;
            }
            result => return result.map_err(raise),
        }
    }
}

/// Whether the device adds and exchanges 32-bit floats in buffers atomically, which decides how kernels are translated.
#[pyfunction]
pub(crate) fn device_has_float_atomics(py: Python<'_>) -> PyResult<bool> {
    let context = context(py)?;
    let features = context.info().features;
    Ok(features.buffer_float32_atomics && features.buffer_float32_atomic_add)
}

#[pymethods]
impl Kernel {
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Launch> {
        let pair = key.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
        let last = pair.map(|pair| pair.get_item(1)).transpose()?;
        let stream = last.as_ref().and_then(|last| last.cast::<Stream>().ok()).map(|stream| stream.get().0.clone());
        let groups = if stream.is_some() { key.get_item(0)? } else { key.clone() };
        let groups = counts(&groups)?.map(u32::try_from);
        let [Ok(x), Ok(y), Ok(z)] = groups else {
            return Err(PyValueError::new_err("a number of workgroups is an integer of 32 bits"));
        };
        Ok(Launch { built: self.0.clone(), groups: Groups::exact([x, y, z]), stream })
    }

    /// The kernel with an invocation for each element of a shape, whose last axis is x.
    #[pyo3(signature = (shape, stream=None))]
    fn covering(&self, shape: &Bound<'_, PyAny>, stream: Option<&Stream>) -> PyResult<Launch> {
        let mut axes = axes(shape)?;
        axes.reverse();
        let items = counts(&PyTuple::new(shape.py(), axes)?.into_any())?;
        Ok(Launch {
            built: self.0.clone(),
            groups: Groups::covering(items),
            stream: stream.map(|stream| stream.0.clone()),
        })
    }

    /// The parameters, as the shader declares them.
    #[getter]
    fn signature(&self) -> String {
        self.0.kernel.signature().to_string()
    }

    /// Invocations of a workgroup along x, y and z.
    #[getter]
    fn workgroup_size(&self) -> (u32, u32, u32) {
        let [x, y, z] = self.0.kernel.signature().workgroup_size;
        (x, y, z)
    }

    fn __repr__(&self) -> String {
        format!("<vkarray kernel {}>", self.0.kernel.signature().entry)
    }
}

/// One to three counts.
fn counts(value: &Bound<'_, PyAny>) -> PyResult<[usize; 3]> {
    let given = axes(value)?;
    if given.is_empty() || given.len() > 3 || given.iter().any(|&count| count < 0) {
        return Err(PyValueError::new_err("one to three counts are given, none of them negative"));
    }
    Ok([0, 1, 2].map(|axis| given.get(axis).map_or(1, |count| count.unsigned_abs())))
}

/// What a call gives at a place: an array, or the numbers of a push constant, with its name and the types of the numbers.
enum Expected {
    Array,
    Numbers { name: String, dtypes: Vec<DType> },
}

/// What calls give, if they give the arrays of some parameters with their strides: push constants that ask for these get no
/// number.
fn expected(signature: &Signature, strided: &[&Param]) -> Vec<Expected> {
    let numbers = given_numbers(signature, strided).map(|member| Expected::Numbers {
        name: member.name.clone(),
        dtypes: member.leaves().map(|(_, dtype)| dtype).collect(),
    });
    signature.params.iter().map(|_| Expected::Array).chain(numbers).collect()
}

/// An argument that is held for the time of a call.
enum Held<'py> {
    Array(Bound<'py, Array>),
    /// A host array, and its copy on the device, which is copied back after the call.
    Host(Bound<'py, PyAny>, AnyArray),
    Number(ScalarValue),
    Numbers(Vec<ScalarValue>),
}

impl<'py> Held<'py> {
    /// The arguments of a call.
    fn all(built: &Built, args: &Bound<'py, PyTuple>) -> PyResult<Vec<Self>> {
        let has_gaps = |value: &Bound<'_, PyAny>| {
            value.cast::<Array>().is_ok_and(|array| !array.get().0.layout().is_c_contiguous())
        };
        let signature = built.kernel.signature();
        let strided = signature.params.iter().zip(args).filter(|(_, value)| has_gaps(value));
        let strided: Vec<_> = strided.map(|(param, _)| param).collect();
        let of_call = if strided.is_empty() { None } else { Some(expected(signature, &strided)) };
        let mut expected = of_call.as_ref().unwrap_or(&built.expected).iter();
        args.iter().map(|value| Self::new(&built.context, &value, expected.next())).collect()
    }

    fn new(context: &Context, value: &Bound<'py, PyAny>, expected: Option<&Expected>) -> PyResult<Self> {
        if let Ok(array) = value.cast::<Array>() {
            return Ok(Self::Array(array.clone()));
        }
        let Some(Expected::Numbers { name, dtypes }) = expected else {
            let host = numpy(value.py(), "asarray")?.call1((value,))?;
            let device = from_host(context, &host, None)?;
            return Ok(Self::Host(value.clone(), device));
        };
        let given = |place: usize, part: &Bound<'_, PyAny>| {
            number(part, dtypes.get(place).copied().unwrap_or(DType::F64), name)
        };
        if let Some(one) = python_number(value) {
            return given(0, &one).map(Self::Number);
        }
        let Ok(parts) = value.try_iter() else { return given(0, value).map(Self::Number) };
        let parts = parts.enumerate().map(|(place, part)| {
            let part = part?;
            given(place, python_number(&part).as_ref().unwrap_or(&part))
        });
        parts.collect::<PyResult<_>>().map(Self::Numbers)
    }

    fn arg(&self) -> Arg<'_> {
        match self {
            Self::Array(array) => array.get().0.as_arg(),
            Self::Host(_, array) => array.as_arg(),
            Self::Number(value) => Arg::Scalar(*value),
            Self::Numbers(values) => match values.as_slice() {
                [value] => Arg::Scalar(*value),
                values => Arg::Scalars(values.iter().copied().collect()),
            },
        }
    }
}

/// A number of Python, also of what NumPy has that is one number.
fn python_number<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let is_number = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>();
    if is_number(value) {
        return Some(value.clone());
    }
    value.call_method0(intern!(value.py(), "item")).ok().filter(is_number)
}

/// The number of a push constant. What is no finite number of Python that the type has is read as text, which accepts
/// infinities and NaN, and says what is wrong with all else.
fn number(value: &Bound<'_, PyAny>, dtype: DType, name: &str) -> PyResult<ScalarValue> {
    let direct = if value.is_instance_of::<PyBool>() {
        None
    } else if let (Ok(float), true) = (value.cast::<PyFloat>(), dtype.is_float()) {
        ScalarValue::from_f64(float.value(), dtype)
    } else if value.is_instance_of::<PyInt>() {
        value.extract::<i64>().ok().and_then(|whole| ScalarValue::from_integer(whole.into(), dtype))
    } else {
        None
    };
    if let Some(direct) = direct {
        return Ok(direct);
    }
    let text = value.str()?.to_string().to_lowercase();
    ScalarValue::parse(&text, dtype).map_err(|reason| PyTypeError::new_err(format!("`{name}`: {reason}")))
}

#[pymethods]
impl Launch {
    /// Runs the kernel. Returns at once, unless a NumPy array is among the arguments: such an array is copied to the device,
    /// and back when the kernel has run, as numba does.
    #[pyo3(signature = (*args))]
    fn __call__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        let held = Held::all(&self.built, args)?;
        let given: Vec<Arg<'_>> = held.iter().map(Held::arg).collect();
        let run = || match &self.stream {
            Some(stream) => self.built.kernel.dispatch(stream, self.groups, given.as_slice()),
            None => self.built.kernel.launch(self.groups, given.as_slice()),
        };
        py.detach(run).map_err(raise)?;
        drop(given);
        for value in &held {
            let Held::Host(host, device) = value else { continue };
            if host.hasattr("__array_interface__")? && host.getattr("flags")?.getattr("writeable")?.extract::<bool>()? {
                numpy(py, "copyto")?.call1((host, to_host(py, device)?))?;
            }
        }
        Ok(())
    }
}
