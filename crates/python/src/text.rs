//! Kernels whose computation is a text in WGSL: the classes `Elementwise`, `Reduction` and `Scan`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use vkarray::array::{AnyArray, AnyOperand};
use vkarray::primitives::{ElementwiseKernel, ReductionKernel, ScanKernel};

use crate::class::Array;
use crate::convert::{Operand, axes};
use crate::error::raise;

/// Computes each element of its results by statements in WGSL. `vk.elementwise` makes it.
#[pyclass(frozen, module = "vkarray")]
pub(crate) struct Elementwise(ElementwiseKernel);

/// Reduces arrays over axes by expressions in WGSL. `vk.reduction` makes it.
#[pyclass(frozen, module = "vkarray")]
pub(crate) struct Reduction(ReductionKernel);

/// Scans along an axis by an expression in WGSL. `vk.scan` makes it.
#[pyclass(frozen, module = "vkarray")]
pub(crate) struct Scan(ScanKernel);

/// Makes a kernel of statements in WGSL, as CuPy's `ElementwiseKernel`. A name with which a statement begins is a result; a
/// text without `=` is one result. Other names that the text does not declare are arguments, given in the order of their
/// first use or by name: arrays, which broadcast and are not converted, and numbers.
///
///     >>> import vkarray as vk
///     >>> saxpy = vk.elementwise("a * x + y")
///     >>> saxpy(2.0, vk.arange(3, dtype=vk.float32), y=vk.ones(3)).copy_to_host().tolist()
///     [1.0, 3.0, 5.0]
///
/// The types of the results are those with which the text is valid. Several results are a tuple.
#[pyfunction]
fn elementwise(text: &str) -> Elementwise {
    Elementwise(ElementwiseKernel::new(text))
}

/// Makes a reduction of expressions in WGSL, as CuPy's `ReductionKernel`: `map` of the arguments, an associative and
/// commutative `combine` of `a` and `b`, and `finish` of the combined value `a`. The identity changes nothing that it is
/// combined with.
///
///     >>> import vkarray as vk
///     >>> norm = vk.reduction("x * x", "a + b", "sqrt(a)", "0.0")
///     >>> float(norm(vk.asarray([3.0, 4.0])))
///     5.0
#[pyfunction]
#[pyo3(signature = (map, combine, finish="a", identity="0"))]
fn reduction(map: &str, combine: &str, finish: &str, identity: &str) -> Reduction {
    Reduction(ReductionKernel::new(map, combine, finish, identity))
}

/// Makes a scan by `combine`, an associative expression in WGSL of `a` and the later `b`.
///
///     >>> import vkarray as vk
///     >>> running = vk.scan("max(a, b)", "0")
///     >>> running(vk.asarray([2, 1, 3], dtype=vk.int32)).copy_to_host().tolist()
///     [2, 2, 3]
#[pyfunction]
#[pyo3(signature = (combine, identity="0"))]
fn scan(combine: &str, identity: &str) -> Scan {
    Scan(ScanKernel::new(combine, identity))
}

/// A text in WGSL behind the functions of the library that it calls.
#[pyfunction]
fn with_functions(py: Python<'_>, text: &str) -> String {
    py.detach(|| vkarray::primitives::with_functions(text))
}

/// The operands of a call by their names.
fn named(names: &[String], args: &Bound<'_, PyTuple>, by_name: Option<&Bound<'_, PyDict>>) -> PyResult<Named> {
    if args.len() > names.len() {
        let text = format!("the text has the arguments {names:?}, and {} are given", args.len());
        return Err(PyTypeError::new_err(text));
    }
    let mut given = Vec::with_capacity(names.len());
    for (name, value) in names.iter().zip(args) {
        given.extend(Operand::new(&value, true)?.map(|operand| (name.clone(), operand)));
    }
    for (name, value) in by_name.into_iter().flatten() {
        let name: String = name.extract()?;
        given.extend(Operand::new(&value, true)?.map(|operand| (name, operand)));
    }
    Ok(Named(given))
}

struct Named(Vec<(String, Operand)>);

impl Named {
    fn operands(&self) -> Vec<(&str, AnyOperand<'_>)> {
        self.0.iter().map(|(name, operand)| (name.as_str(), operand.as_any())).collect()
    }
}

#[pymethods]
impl Elementwise {
    /// Computes the results for arguments, as new arrays. Returns at once.
    #[pyo3(signature = (*args, **by_name))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        by_name: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let named = named(self.0.arguments(), args, by_name)?;
        let results = py.detach(|| AnyArray::elementwise(&self.0, &named.operands())).map_err(raise)?;
        let results = PyTuple::new(py, results.into_iter().map(Array))?;
        if results.len() == 1 { results.get_item(0) } else { Ok(results.into_any()) }
    }

    /// The names of the arguments, in the order of their first use.
    #[getter]
    fn arguments(&self) -> Vec<String> {
        self.0.arguments().to_vec()
    }
}

#[pymethods]
impl Reduction {
    /// Reduces over axes, or over all. Returns at once.
    #[pyo3(signature = (*args, axis=None, keepdims=false, **by_name))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords of Python")]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        axis: Option<&Bound<'_, PyAny>>,
        keepdims: bool,
        by_name: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Array> {
        let (named, over) = (named(self.0.map().arguments(), args, by_name)?, axis.map(axes).transpose()?);
        let reduce = || AnyArray::reduce_by(&self.0, &named.operands(), over.as_deref(), keepdims);
        py.detach(reduce).map(Array).map_err(raise)
    }
}

#[pymethods]
impl Scan {
    /// Each element combined with those before it along an axis; with `exclusive`, those before it alone. Returns at once.
    #[pyo3(signature = (x, axis=-1, exclusive=false))]
    fn __call__(&self, py: Python<'_>, x: &Array, axis: isize, exclusive: bool) -> PyResult<Array> {
        py.detach(|| x.0.scan_by(&self.0, axis, exclusive)).map(Array).map_err(raise)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Elementwise>()?;
    module.add_class::<Reduction>()?;
    module.add_class::<Scan>()?;
    module.add_function(wrap_pyfunction!(with_functions, module)?)?;
    module.add_function(wrap_pyfunction!(elementwise, module)?)?;
    module.add_function(wrap_pyfunction!(reduction, module)?)?;
    module.add_function(wrap_pyfunction!(scan, module)?)
}
