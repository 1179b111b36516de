// What the text of this crate's examples leaves out: an open device with memory, a stream and a cache of kernels as
// `Context`, and a block of numbers as `DeviceArray`. Programs use the types of `vkarray`.

#[derive(Clone)]
struct Context {
    allocator: std::sync::Arc<vkarray_allocator::Allocator>,
    stream: vkarray_driver::Stream,
    kernels: std::sync::Arc<vkarray_kernel::KernelCache>,
}

impl Context {
    fn open_default() -> anyhow::Result<Self> {
        let device = vkarray_driver::Device::open_selected(&vkarray_driver::Instance::builder().build()?, None)?;
        let stream = vkarray_driver::Stream::new(&device)?;
        let kernels = vkarray_kernel::KernelCache::for_stream(&stream, vkarray_kernel::CacheSettings::from_environment()?)?;
        Ok(Self { allocator: vkarray_allocator::Allocator::new(&device)?, stream, kernels })
    }

    fn device(&self) -> &std::sync::Arc<vkarray_driver::Device> {
        self.allocator.device()
    }

    fn info(&self) -> &vkarray_driver::DeviceInfo {
        self.device().info()
    }

    fn allocator(&self) -> &std::sync::Arc<vkarray_allocator::Allocator> {
        &self.allocator
    }

    fn default_stream(&self) -> &vkarray_driver::Stream {
        &self.stream
    }

    fn kernel_cache(&self) -> &std::sync::Arc<vkarray_kernel::KernelCache> {
        &self.kernels
    }

    fn kernel(&self, source: vkarray_kernel::Source) -> vkarray_kernel::KernelBuilder {
        self.kernels.kernel(source)
    }

    fn to_device<T: vkarray_kernel::Element>(&self, values: &[T]) -> anyhow::Result<DeviceArray<T>> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let block = self.allocator.allocate(bytes.len() as u64, vkarray_allocator::MemoryKind::Device)?;
        block.copy_from_host(&self.stream, 0, bytes)?;
        Ok(DeviceArray { block, shape: [values.len()], stream: self.stream.clone(), element: std::marker::PhantomData })
    }

    fn zeros<T: vkarray_kernel::Element>(&self, len: usize) -> anyhow::Result<DeviceArray<T>> {
        self.full(len, bytemuck::Zeroable::zeroed())
    }

    fn full<T: vkarray_kernel::Element>(&self, len: usize, value: T) -> anyhow::Result<DeviceArray<T>> {
        self.to_device(&vec![value; len])
    }
}

impl vkarray_allocator::MemoryContext for Context {
    fn allocator(&self) -> &std::sync::Arc<vkarray_allocator::Allocator> {
        &self.allocator
    }

    fn stream(&self) -> &vkarray_driver::Stream {
        &self.stream
    }
}

struct DeviceArray<T> {
    block: std::sync::Arc<vkarray_allocator::Block>,
    shape: [usize; 1],
    stream: vkarray_driver::Stream,
    element: std::marker::PhantomData<T>,
}

impl<T: vkarray_kernel::Element> DeviceArray<T> {
    fn block(&self) -> &std::sync::Arc<vkarray_allocator::Block> {
        &self.block
    }

    fn to_vec(&self) -> anyhow::Result<Vec<T>> {
        let mut values = vec![bytemuck::Zeroable::zeroed(); self.shape[0]];
        self.block.copy_to_host(&self.stream, 0, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }
}

impl<T: vkarray_kernel::Element> vkarray_kernel::AsArg for DeviceArray<T> {
    fn as_arg(&self) -> vkarray_kernel::Arg<'_> {
        vkarray_kernel::Arg::Array(vkarray_kernel::AsArray::as_array(self))
    }
}

impl<T: vkarray_kernel::Element> vkarray_kernel::AsArray for DeviceArray<T> {
    fn as_array(&self) -> vkarray_kernel::ArrayArg<'_> {
        let nbytes = (self.shape[0] * size_of::<T>()) as u64;
        let shape = vkarray_kernel::ArrayShape::new(vkarray_kernel::DType::of::<T>(), &self.shape, nbytes);
        vkarray_kernel::ArrayArg::new(&self.block, shape)
    }
}
