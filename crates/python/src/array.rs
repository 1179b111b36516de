//! The methods of the class `Array`.

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use vkarray::DType;
use vkarray::array::{AnyArray, AnyReduction, AnyScalar, Category};

use crate::class::Array;
use crate::context::Stream;
use crate::convert::{Operand, axes, compute, computed, dtype, from_host, number, numpy_dtype, shape, to_host};
use crate::error::raise;
use crate::index::{Key, get, places, put};
use crate::operate::{assign_result, operate, operate_in_place};

#[pymethods]
impl Array {
    /// An operator with an array on its left, or on its right: an elementwise function by its name.
    #[pyo3(name = "_operate")]
    fn operator(array: &Bound<'_, Self>, name: &str, other: &Bound<'_, PyAny>, reflected: bool) -> PyResult<Py<PyAny>> {
        operate(array, name, other, reflected)
    }

    /// An operator that changes its array.
    #[pyo3(name = "_operate_in_place")]
    fn operator_in_place(array: &Bound<'_, Self>, name: &str, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operate_in_place(array, name, other)
    }

    /// Writes the result of an operator that changes its array.
    #[pyo3(name = "_assign_result")]
    fn assign_result(&self, py: Python<'_>, name: &str, result: &Self) -> PyResult<()> {
        assign_result(py, &self.0, name, &result.0)
    }

    fn __richcmp__(array: &Bound<'_, Self>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let name = match op {
            CompareOp::Lt => "less",
            CompareOp::Le => "less_equal",
            CompareOp::Eq => "equal",
            CompareOp::Ne => "not_equal",
            CompareOp::Gt => "greater",
            CompareOp::Ge => "greater_equal",
        };
        operate(array, name, other, false)
    }

    /// The product of matrices of one type.
    #[pyo3(name = "_matmul")]
    fn matmul(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        py.detach(|| self.0.matmul(&other.0)).map(Self).map_err(raise)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        compute(py, "negative", &[Operand::Array(self.0.clone())])
    }

    fn __pos__(&self) -> Self {
        Self(self.0.clone())
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<Self> {
        compute(py, "abs", &[Operand::Array(self.0.clone())])
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
        let name = if self.0.dtype() == DType::Bool { "logical_not" } else { "bitwise_invert" };
        compute(py, name, &[Operand::Array(self.0.clone())])
    }

    /// NumPy's arrays leave operators with an array of this class to this class.
    #[classattr]
    fn __array_ufunc__() -> Option<bool> {
        None
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy_dtype(py, self.0.dtype())
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// Bytes from one element to the next along each axis.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let itemsize = self.0.dtype().itemsize() as isize;
        PyTuple::new(py, self.0.layout().strides().iter().map(|stride| stride * itemsize))
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.0.ndim()
    }

    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.nbytes()
    }

    #[getter]
    fn itemsize(&self) -> u32 {
        self.0.dtype().itemsize()
    }

    /// Whether the elements lie in C order without gaps.
    #[getter]
    fn is_c_contiguous(&self) -> bool {
        self.0.layout().is_c_contiguous()
    }

    /// The array with its axes reversed: a view.
    #[getter(T)]
    fn reversed_axes(&self) -> PyResult<Self> {
        self.0.transpose(None).map(Self).map_err(raise)
    }

    /// The array with its last two axes swapped: a view.
    #[getter(mT)]
    fn matrix_transpose(&self) -> PyResult<Self> {
        let ndim = self.0.ndim().cast_signed();
        if ndim < 2 {
            return Err(PyValueError::new_err(format!("a matrix has two axes or more, not {ndim}")));
        }
        let axes: Vec<isize> = (0..ndim - 2).chain([ndim - 1, ndim - 2]).collect();
        self.0.transpose(Some(&axes)).map(Self).map_err(raise)
    }

    /// The name of the device that holds the array.
    #[getter]
    fn device(&self) -> String {
        self.0.context().info().name.clone()
    }

    fn __len__(&self) -> PyResult<usize> {
        self.0.shape().first().copied().ok_or_else(|| PyTypeError::new_err("an array without axes has no length"))
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let key = Key::new(key)?;
        py.detach(|| get(&self.0, &key)).map(Self)
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (key, value) = (Key::new(key)?, Operand::new(value, true)?);
        let Some(value) = value else { unreachable!("everything is an operand here") };
        let value = match value {
            Operand::Number(number) => AnyArray::full(self.0.context(), self.0.dtype(), &[], number).map_err(raise)?,
            Operand::Array(array) => array,
        };
        py.detach(|| put(&self.0, &key, &value)).map_err(raise)
    }

    fn __iter__<'py>(array: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = array.py();
        let rows = (0..array.get().__len__()?).map(|row| array.get_item(row)).collect::<PyResult<Vec<_>>>()?;
        pyo3::types::PyList::new(py, rows)?.into_any().try_iter().map(Bound::into_any)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text: String = to_host(py, &self.0)?.repr()?.extract()?;
        Ok(text.replacen("array", "vkarray", 1))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.item(py)?.bind(py).is_truthy()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("builtins")?.getattr("int")?.call1((self.item(py)?,))
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        py.import("builtins")?.getattr("float")?.call1((self.item(py)?,))?.extract()
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("builtins")?.getattr("complex")?.call1((self.item(py)?,))
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match Category::of(self.0.dtype()) {
            Some(Category::Integer) => self.item(py),
            _ => Err(PyTypeError::new_err(format!("an array of {} is no index", self.0.dtype()))),
        }
    }

    /// The only element, as a Python number. Waits for it.
    fn item(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.0.size() != 1 {
            let text = format!("an array of shape {:?} is not one number", self.0.shape());
            return Err(PyTypeError::new_err(text));
        }
        let value: AnyScalar = py.detach(|| self.0.item()).map_err(raise)?;
        number(py, value)
    }

    #[pyo3(signature = (dtype=None, *, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err("the elements are on a device, and are copied"));
        }
        let array = to_host(py, &self.0)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((py.import("vkarray")?.getattr("asarray")?, (to_host(py, &self.0)?,)))
    }

    /// A copy with elements of another type.
    #[pyo3(signature = (dtype, /, *, copy=true))]
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>, copy: bool) -> PyResult<Self> {
        let dtype = computed(self.0.context(), dtype)?;
        if !copy && dtype == self.0.dtype() {
            return Ok(Self(self.0.clone()));
        }
        py.detach(|| self.0.astype(dtype)).map(Self).map_err(raise)
    }

    /// The memory as elements of another type, by the rules of NumPy's `view`.
    fn view(&self, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.0.view(self::dtype(dtype)?).map(Self).map_err(raise)
    }

    /// Whether one array begins in memory before the other ends.
    #[pyo3(name = "_overlaps")]
    fn overlaps(&self, other: &Self) -> bool {
        self.0.overlaps(&other.0)
    }

    /// The elements in another shape: a view where there is one, otherwise a copy.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let shape = if shape.len() == 1 { axes(&shape.get_item(0)?)? } else { shape.extract()? };
        py.detach(|| self.0.reshape(&shape)).map(Self).map_err(raise)
    }

    /// The array with its axes in another order: a view.
    #[pyo3(signature = (axes=None))]
    fn transpose(&self, axes: Option<Vec<isize>>) -> PyResult<Self> {
        self.0.transpose(axes.as_deref()).map(Self).map_err(raise)
    }

    /// The array without axes of length one: a view.
    fn squeeze(&self, axis: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.0.squeeze(Some(&axes(axis)?)).map(Self).map_err(raise)
    }

    /// The array with new axes of length one: a view.
    fn expand_dims(&self, axis: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.0.expand_dims(&axes(axis)?).map(Self).map_err(raise)
    }

    /// The array repeated along axes of length one, up to a shape: a view.
    fn broadcast_to(&self, shape: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.0.broadcast_to(&self::shape(shape)?).map(Self).map_err(raise)
    }

    /// The array with its elements reversed along axes: a view.
    #[pyo3(signature = (axis=None))]
    fn flip(&self, axis: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let axes = axis.map(axes).transpose()?;
        self.0.flip(axes.as_deref()).map(Self).map_err(raise)
    }

    /// A copy in new memory.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        py.detach(|| self.0.copy()).map(Self).map_err(raise)
    }

    /// The array with another stream for its work.
    fn on(&self, stream: &Stream) -> Self {
        Self(self.0.on(&stream.0))
    }

    /// A reduction by its name: `sum`, `prod`, `min`, `max`, `any`, `all`, `argmin`, `argmax`, `count_nonzero`, `mean`,
    /// `var`, `std`.
    #[pyo3(signature = (name, axis=None, keepdims=false, correction=0.0))]
    #[expect(clippy::too_many_arguments, reason = "they are the keywords of the array API standard")]
    fn reduce(
        &self,
        py: Python<'_>,
        name: &str,
        axis: Option<&Bound<'_, PyAny>>,
        keepdims: bool,
        correction: f64,
    ) -> PyResult<Self> {
        let reduction = match name {
            "sum" => AnyReduction::Sum,
            "prod" => AnyReduction::Prod,
            "min" => AnyReduction::Min,
            "max" => AnyReduction::Max,
            "any" => AnyReduction::Any,
            "all" => AnyReduction::All,
            "argmin" => AnyReduction::Argmin,
            "argmax" => AnyReduction::Argmax,
            "count_nonzero" => AnyReduction::CountNonzero,
            "mean" => AnyReduction::Mean,
            "var" => AnyReduction::Var(correction),
            "std" => AnyReduction::Std(correction),
            _ => return Err(PyTypeError::new_err(format!("there is no reduction `{name}`"))),
        };
        let axes = axis.map(axes).transpose()?;
        py.detach(|| self.0.reduce(reduction, axes.as_deref(), keepdims)).map(Self).map_err(raise)
    }

    /// Running sums along an axis, or running products.
    fn cumulate(&self, py: Python<'_>, axis: isize, product: bool) -> PyResult<Self> {
        py.detach(|| self.0.cumulate(product, axis)).map(Self).map_err(raise)
    }

    /// The elements along an axis in order.
    fn sort(&self, py: Python<'_>, axis: isize, descending: bool) -> PyResult<Self> {
        py.detach(|| self.0.sort(axis, descending)).map(Self).map_err(raise)
    }

    /// The places of the elements along an axis in order.
    fn argsort(&self, py: Python<'_>, axis: isize, descending: bool) -> PyResult<Self> {
        py.detach(|| places(&self.0.argsort(axis, descending)?)).map(Self).map_err(raise)
    }

    /// The elements at places along an axis; with `along`, a list of places for each row.
    #[pyo3(signature = (indices, axis, along=false))]
    fn take(&self, py: Python<'_>, indices: &Self, axis: isize, along: bool) -> PyResult<Self> {
        let take = || {
            let places = crate::index::wide(&indices.0)?;
            if along { self.0.take_along_axis(&places, axis) } else { self.0.take(&places, axis) }
        };
        py.detach(take).map(Self).map_err(raise)
    }

    /// The places of the elements that are not zero, one array for each axis. Waits for their number.
    fn nonzero(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        let found = py.detach(|| self.0.nonzero()?.iter().map(places).collect::<vkarray::Result<Vec<_>>>());
        Ok(found.map_err(raise)?.into_iter().map(Self).collect())
    }

    /// Values, first places, inverse and counts. Waits for their number.
    fn unique_all(&self, py: Python<'_>) -> PyResult<[Self; 4]> {
        let typed = |[values, a, b, c]: [AnyArray; 4]| Ok([values, places(&a)?, places(&b)?, places(&c)?]);
        py.detach(|| self.0.unique_all().and_then(typed)).map(|parts| parts.map(Self)).map_err(raise)
    }

    /// Where values are to be put into the sorted array.
    fn searchsorted(&self, py: Python<'_>, values: &Self, right: bool) -> PyResult<Self> {
        py.detach(|| places(&self.0.searchsorted(&values.0, right)?)).map(Self).map_err(raise)
    }

    /// The elements shifted along an axis, where the last come round to the front.
    fn roll(&self, py: Python<'_>, shift: isize, axis: isize) -> PyResult<Self> {
        py.detach(|| self.0.roll(shift, axis)).map(Self).map_err(raise)
    }

    /// Each element repeated along an axis.
    fn repeat(&self, py: Python<'_>, n: usize, axis: isize) -> PyResult<Self> {
        py.detach(|| self.0.repeat(n, axis)).map(Self).map_err(raise)
    }

    /// The sum of products along pairs of axes.
    fn tensordot(&self, py: Python<'_>, other: &Self, own: Vec<isize>, others: Vec<isize>) -> PyResult<Self> {
        py.detach(|| self.0.tensordot(&other.0, &own, &others)).map(Self).map_err(raise)
    }

    /// Writes elements of the host, in place.
    fn copy_from_host(&self, py: Python<'_>, host: &Bound<'_, PyAny>) -> PyResult<()> {
        let source = from_host(self.0.context(), host, Some(self.0.dtype()))?;
        if source.shape() != self.0.shape() {
            let text = format!("a host array of shape {:?} does not fit {:?}", source.shape(), self.0.shape());
            return Err(PyValueError::new_err(text));
        }
        py.detach(|| self.0.assign(&source)).map_err(raise)
    }

    /// A new array with elements of the host, on the device and the stream of this one.
    #[pyo3(name = "_beside", signature = (host, dtype=None))]
    fn beside(&self, host: &Bound<'_, PyAny>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let array = from_host(self.0.context(), host, dtype.map(self::dtype).transpose()?)?;
        Ok(Self(array.on(self.0.stream())))
    }
}
