//! The class `Kernel`: a compute shader that is called with arrays and numbers.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use vkarray::array::AnyArray;
use vkarray::kernel::{Arg, AsArg, Parameter, ScalarValue, Signature, given_numbers};
use vkarray::{DType, Groups, Source};

use crate::class::Array;
use crate::context::{Stream, context};
use crate::convert::{axes, from_host, numpy, to_host};
use crate::error::raise;

/// A compute shader. `kernel[groups](x, y, 2.0)` runs it with these numbers of workgroups, `kernel[groups, stream](…)` on a
/// stream; `kernel.covering(shape)(…)` with as many as have an invocation for each element.
#[pyclass(frozen, module = "vkarray")]
pub(crate) struct Kernel(vkarray::Kernel);

/// A kernel with the number of its workgroups.
#[pyclass(frozen, module = "vkarray")]
struct Launch {
    kernel: vkarray::Kernel,
    groups: Groups<'static>,
    stream: Option<vkarray::Stream>,
}

/// Builds a kernel of a shader in WGSL or GLSL (text) or in SPIR-V (bytes). `language` is `wgsl`, `glsl` or `spirv`; without
/// it, bytes are SPIR-V, and a text that begins with `#version` is GLSL.
#[pyfunction]
#[pyo3(signature = (source, entry=None, *, language=None, constants=None, sanitize=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords of Python")]
pub(crate) fn kernel(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    entry: Option<&str>,
    language: Option<&str>,
    constants: Option<&Bound<'_, PyDict>>,
    sanitize: Option<bool>,
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
    let mut builder = context(py)?.kernel(source);
    if let Some(entry) = entry {
        builder = builder.entry(entry);
    }
    for (name, value) in constants.into_iter().flatten() {
        builder = builder.constant(&name.extract::<String>()?, value.extract::<f64>()?);
    }
    if let Some(sanitize) = sanitize {
        builder = builder.sanitize(sanitize);
    }
    py.detach(|| builder.build()).map(Kernel).map_err(raise)
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
        let (groups, stream) = match key.extract::<(Bound<'_, PyAny>, PyRef<'_, Stream>)>() {
            Ok((groups, stream)) => (groups, Some(stream.0.clone())),
            Err(_) => (key.clone(), None),
        };
        let groups = counts(&groups)?.map(u32::try_from);
        let [Ok(x), Ok(y), Ok(z)] = groups else {
            return Err(PyValueError::new_err("a number of workgroups is an integer of 32 bits"));
        };
        Ok(Launch { kernel: self.0.clone(), groups: Groups::exact([x, y, z]), stream })
    }

    /// The kernel with an invocation for each element of a shape, whose last axis is x.
    #[pyo3(signature = (shape, stream=None))]
    fn covering(&self, shape: &Bound<'_, PyAny>, stream: Option<&Stream>) -> PyResult<Launch> {
        let mut axes = axes(shape)?;
        axes.reverse();
        let items = counts(&PyTuple::new(shape.py(), axes)?.into_any())?;
        Ok(Launch {
            kernel: self.0.clone(),
            groups: Groups::covering(items),
            stream: stream.map(|stream| stream.0.clone()),
        })
    }

    /// The parameters, as the shader declares them.
    #[getter]
    fn signature(&self) -> String {
        self.0.signature().to_string()
    }

    /// Invocations of a workgroup along x, y and z.
    #[getter]
    fn workgroup_size(&self) -> (u32, u32, u32) {
        let [x, y, z] = self.0.signature().workgroup_size;
        (x, y, z)
    }

    fn __repr__(&self) -> String {
        format!("<vkarray kernel {}>", self.0.signature().entry)
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

/// An argument that is held for the time of a call.
enum Held<'py> {
    Array(AnyArray),
    /// A host array, and its copy on the device, which is copied back after the call.
    Host(Bound<'py, PyAny>, AnyArray),
    Numbers(Vec<ScalarValue>),
}

impl<'py> Held<'py> {
    /// The arguments of a call. Push constants that ask for strides are those of an array with gaps, and get no number.
    fn all(signature: &Signature, args: &Bound<'py, PyTuple>) -> PyResult<Vec<Self>> {
        let has_gaps = |value: &Bound<'_, PyAny>| {
            value.cast::<Array>().is_ok_and(|array| !array.get().0.layout().is_c_contiguous())
        };
        let strided = signature.params.iter().zip(args).filter(|(_, value)| has_gaps(value));
        let strided: Vec<_> = strided.map(|(param, _)| param).collect();
        let numbers = given_numbers(signature, &strided).map(Parameter::Scalar);
        let mut parameters = signature.params.iter().map(Parameter::Array).chain(numbers);
        args.iter().map(|value| Self::new(&value, parameters.next().as_ref())).collect()
    }

    fn new(value: &Bound<'py, PyAny>, parameter: Option<&Parameter<'_>>) -> PyResult<Self> {
        if let Ok(array) = value.cast::<Array>() {
            return Ok(Self::Array(array.get().0.clone()));
        }
        let Some(Parameter::Scalar(member)) = parameter else {
            let host = numpy(value.py(), "asarray")?.call1((value,))?;
            let device = from_host(&context(value.py())?, &host, None)?;
            return Ok(Self::Host(value.clone(), device));
        };
        let leaves = member.ty.leaves();
        let parts: Vec<Bound<'_, PyAny>> = match value.try_iter() {
            Ok(parts) => parts.collect::<PyResult<_>>()?,
            Err(_) => vec![value.clone()],
        };
        let parse = |(i, part): (usize, &Bound<'_, PyAny>)| {
            let text = part.str()?.to_string().to_lowercase();
            let dtype = leaves.get(i).map_or(DType::F64, |&(_, dtype)| dtype);
            ScalarValue::parse(&text, dtype)
                .map_err(|reason| PyTypeError::new_err(format!("`{}`: {reason}", member.name)))
        };
        parts.iter().enumerate().map(parse).collect::<PyResult<_>>().map(Self::Numbers)
    }

    fn arg(&self) -> Arg<'_> {
        match self {
            Self::Array(array) | Self::Host(_, array) => array.as_arg(),
            Self::Numbers(values) => match values.as_slice() {
                [value] => Arg::Scalar(*value),
                values => Arg::Scalars(values.iter().copied().collect()),
            },
        }
    }
}

#[pymethods]
impl Launch {
    /// Runs the kernel. Returns at once, unless a NumPy array is among the arguments: such an array is copied to the device,
    /// and back when the kernel has run, as numba does.
    #[pyo3(signature = (*args))]
    fn __call__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        let held = Held::all(self.kernel.signature(), args)?;
        let given: Vec<Arg<'_>> = held.iter().map(Held::arg).collect();
        let run = || match &self.stream {
            Some(stream) => self.kernel.dispatch(stream, self.groups, given.as_slice()),
            None => self.kernel.launch(self.groups, given.as_slice()),
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
