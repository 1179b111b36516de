//! A device opened with raw Vulkan: queues, memory, pipelines, submissions. Nothing of our runtime is used.
//!
//! The process ends with its measurements, so that nothing is destroyed and every handle lives as long as the `Gpu`.
//! `commands.rs` records, the other files measure.

use std::ffi::CStr;

use anyhow::{Context as _, Result, ensure};
use ash::{Entry, Instance, ext, khr, vk};

/// A device, and the objects of it that every measurement uses.
pub(crate) struct Gpu {
    _entry: Entry,
    pub(crate) instance: Instance,
    pub(crate) physical: vk::PhysicalDevice,
    pub(crate) device: ash::Device,
    pub(crate) push_descriptor: khr::push_descriptor::Device,
    /// If the device has the extension.
    pub(crate) descriptor_buffer: Option<ext::descriptor_buffer::Device>,
    family: u32,
    /// Up to eight queues, of a family that computes and, where there is such a family, does not draw.
    pub(crate) queues: Vec<vk::Queue>,
    /// Two storage buffers, and eight bytes of push constants.
    pub(crate) layout: vk::PipelineLayout,
}

/// The place of a buffer's memory.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Device,
    /// Device memory that the host writes to.
    Bar,
    Pinned,
    /// Device memory with an address, where the device has descriptor buffers.
    Addressed,
    /// Device memory that the host writes descriptors to, with an address.
    Descriptors,
}

/// The usage of a descriptor buffer.
pub(crate) const DESCRIPTORS: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS.as_raw()
        | vk::BufferUsageFlags::RESOURCE_DESCRIPTOR_BUFFER_EXT.as_raw(),
);

/// A timeline semaphore, and the value that it has when all submitted work is complete.
pub(crate) struct Timeline {
    pub(crate) semaphore: vk::Semaphore,
    pub(crate) value: u64,
}

impl Gpu {
    /// Opens the device of that name, or without a name the first device.
    pub(crate) fn open(name: Option<&str>) -> Result<Self> {
        // SAFETY: the loader is the system's own, and nothing of the library is used after `_entry` is gone.
        let entry = unsafe { Entry::load() }.context("loading Vulkan")?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: the structure is filled, and what it borrows outlives the call.
        let instance = unsafe { entry.create_instance(&create, None) }.context("creating an instance")?;
        // SAFETY: the instance is alive.
        let all = unsafe { instance.enumerate_physical_devices() }.context("listing devices")?;
        let is_wanted =
            |&physical: &vk::PhysicalDevice| name.is_none_or(|name| device_name(&instance, physical) == name);
        let physical = all.into_iter().find(is_wanted).with_context(|| format!("no device {name:?}"))?;
        let (family, n_queues) = compute_family(&instance, physical)?;
        let (device, has_descriptor_buffers) = create_device(&instance, physical, (family, n_queues))?;
        // SAFETY: the device was created with at least `i + 1` queues of the family.
        let queue = |i| unsafe { device.get_device_queue(family, i) };
        let queues = (0..n_queues).map(queue).collect();
        let push_descriptor = khr::push_descriptor::Device::new(&instance, &device);
        let descriptor_buffer = has_descriptor_buffers.then(|| ext::descriptor_buffer::Device::new(&instance, &device));
        let (_, layout) = create_layout(&device, vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR)?;
        let _entry = entry;
        Ok(Self { _entry, instance, physical, device, push_descriptor, descriptor_buffer, family, queues, layout })
    }

    pub(crate) fn name(&self) -> String {
        device_name(&self.instance, self.physical)
    }

    /// Makes a buffer with memory of its own.
    pub(crate) fn buffer(&self, bytes: u64, place: Place) -> Result<vk::Buffer> {
        Ok(self.bound(bytes, place)?.0)
    }

    /// Makes a buffer with memory of its own, and maps the memory. Returns its address too.
    pub(crate) fn mapped(&self, bytes: u64, place: Place) -> Result<(vk::Buffer, *mut u8)> {
        let (buffer, memory) = self.bound(bytes, place)?;
        // SAFETY: the memory is of a type that the host sees, and nothing has mapped it.
        let address = unsafe { self.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) }?;
        Ok((buffer, address.cast()))
    }

    fn bound(&self, bytes: u64, place: Place) -> Result<(vk::Buffer, vk::DeviceMemory)> {
        let more = match place {
            Place::Addressed => vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
            Place::Descriptors => DESCRIPTORS,
            _ => vk::BufferUsageFlags::empty(),
        };
        let usage = more
            | vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let create = vk::BufferCreateInfo::default().size(bytes).usage(usage);
        // SAFETY: the structure is filled; the device is alive.
        let buffer = unsafe { self.device.create_buffer(&create, None) }?;
        // SAFETY: the buffer belongs to the device.
        let needs = unsafe { self.device.get_buffer_memory_requirements(buffer) };
        let memory_type = self.memory_type(needs.memory_type_bits, place).context("no such memory")?;
        let mut address = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut allocate = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(memory_type);
        if !more.is_empty() {
            allocate = allocate.push_next(&mut address);
        }
        // SAFETY: the memory type is one of the device's.
        let memory = unsafe { self.device.allocate_memory(&allocate, None) }?;
        // SAFETY: the buffer takes memory of this type and size, and neither is bound to anything else.
        unsafe { self.device.bind_buffer_memory(buffer, memory, 0) }?;
        Ok((buffer, memory))
    }

    /// The first memory type that has the place's properties and, for device memory, that the host does not see.
    fn memory_type(&self, allowed: u32, place: Place) -> Option<u32> {
        use vk::MemoryPropertyFlags as Flags;
        // SAFETY: the physical device belongs to the instance.
        let memory = unsafe { self.instance.get_physical_device_memory_properties(self.physical) };
        let pinned = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
        let (preferred, avoided) = match place {
            Place::Device | Place::Addressed => ([Flags::DEVICE_LOCAL; 2], [Flags::HOST_VISIBLE, Flags::empty()]),
            Place::Bar | Place::Descriptors => ([pinned | Flags::DEVICE_LOCAL; 2], [Flags::empty(); 2]),
            Place::Pinned => ([pinned | Flags::HOST_CACHED, pinned], [Flags::DEVICE_LOCAL, Flags::empty()]),
        };
        let find = |(preferred, avoided): (Flags, Flags)| {
            let fits = |(i, flags): (u32, Flags)| {
                (allowed & (1 << i) != 0 && flags.contains(preferred) && !flags.intersects(avoided)).then_some(i)
            };
            let types = (0_u32..).zip(memory.memory_types_as_slice());
            types.map(|(i, memory_type)| (i, memory_type.property_flags)).find_map(fits)
        };
        preferred.into_iter().zip(avoided).find_map(find)
    }

    /// Makes a pipeline of SPIR-V, for [`Gpu::layout`].
    pub(crate) fn pipeline(&self, words: &[u32], entry: &CStr) -> Result<vk::Pipeline> {
        self.pipeline_of(self.layout, vk::PipelineCreateFlags::empty(), words, entry)
    }

    /// Makes a pipeline of SPIR-V, for another layout of the same bindings.
    pub(crate) fn pipeline_of(
        &self,
        layout: vk::PipelineLayout,
        flags: vk::PipelineCreateFlags,
        words: &[u32],
        entry: &CStr,
    ) -> Result<vk::Pipeline> {
        let create = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the words were written and validated by naga.
        let module = unsafe { self.device.create_shader_module(&create, None) }?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(entry);
        let create = [vk::ComputePipelineCreateInfo::default().flags(flags).stage(stage).layout(layout)];
        // SAFETY: the module has the entry point, and uses only bindings of the layout.
        let made = unsafe { self.device.create_compute_pipelines(vk::PipelineCache::null(), &create, None) };
        Ok(made.map_err(|(_, error)| error)?[0])
    }

    pub(crate) fn command_buffer(&self) -> Result<vk::CommandBuffer> {
        let create = vk::CommandPoolCreateInfo::default()
            .queue_family_index(self.family)
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        // SAFETY: the family is one of the device's.
        let pool = unsafe { self.device.create_command_pool(&create, None) }?;
        let allocate = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        // SAFETY: the pool was made above, and no other thread has it.
        let buffers = unsafe { self.device.allocate_command_buffers(&allocate) }?;
        Ok(buffers[0])
    }

    pub(crate) fn timeline(&self) -> Result<Timeline> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let create = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the structures are filled; timeline semaphores were enabled.
        let semaphore = unsafe { self.device.create_semaphore(&create, None) }?;
        Ok(Timeline { semaphore, value: 0 })
    }

    /// Submits a recorded buffer, or none, that raises a timeline by one, after another timeline has reached its value.
    pub(crate) fn submit(
        &self,
        queue: vk::Queue,
        commands: Option<vk::CommandBuffer>,
        after: Option<&Timeline>,
        raises: &mut Timeline,
    ) -> Result<()> {
        let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
        let info = |timeline: &Timeline, value| {
            vk::SemaphoreSubmitInfo::default().semaphore(timeline.semaphore).value(value).stage_mask(stage)
        };
        let waits = after.map(|after| info(after, after.value));
        let signals = [info(raises, raises.value + 1)];
        let commands = commands.map(|commands| vk::CommandBufferSubmitInfo::default().command_buffer(commands));
        let submit = [vk::SubmitInfo2::default()
            .wait_semaphore_infos(waits.as_slice())
            .command_buffer_infos(commands.as_slice())
            .signal_semaphore_infos(&signals)];
        // SAFETY: the buffer is recorded and may be pending more than once; the value is larger than all earlier
        // values; the awaited value has been submitted; no other thread uses the queue meanwhile.
        unsafe { self.device.queue_submit2(queue, &submit, vk::Fence::null()) }?;
        raises.value += 1;
        Ok(())
    }

    /// Polls until all work that raises the timeline is complete.
    pub(crate) fn poll(&self, timeline: &Timeline) -> Result<()> {
        // SAFETY: the semaphore is a timeline of the device.
        let reached = || unsafe { self.device.get_semaphore_counter_value(timeline.semaphore) };
        while reached()? < timeline.value {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// Whether the timeline has reached a value.
    pub(crate) fn has_reached(&self, timeline: &Timeline, value: u64) -> Result<bool> {
        // SAFETY: the semaphore is a timeline of the device.
        Ok(unsafe { self.device.get_semaphore_counter_value(timeline.semaphore) }? >= value)
    }
}

fn device_name(instance: &Instance, physical: vk::PhysicalDevice) -> String {
    // SAFETY: the physical device belongs to the instance.
    let properties = unsafe { instance.get_physical_device_properties(physical) };
    let name = properties.device_name_as_c_str().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// A family for compute, if possible without graphics, and how many of its queues are used.
fn compute_family(instance: &Instance, physical: vk::PhysicalDevice) -> Result<(u32, u32)> {
    // SAFETY: the physical device belongs to the instance.
    let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
    let computes = |family: &&(u32, vk::QueueFamilyProperties)| family.1.queue_flags.contains(vk::QueueFlags::COMPUTE);
    let draws = |family: &&(u32, vk::QueueFamilyProperties)| family.1.queue_flags.contains(vk::QueueFlags::GRAPHICS);
    let families: Vec<_> = (0_u32..).zip(families).collect();
    let (family, properties) =
        families.iter().filter(computes).min_by_key(draws).context("the device does not compute")?;
    Ok((*family, properties.queue_count.min(8)))
}

/// Also whether the device has descriptor buffers.
fn create_device(instance: &Instance, physical: vk::PhysicalDevice, queues: (u32, u32)) -> Result<(ash::Device, bool)> {
    // SAFETY: the physical device belongs to the instance.
    let has = unsafe { instance.enumerate_device_extension_properties(physical) }?;
    let push_descriptor = khr::push_descriptor::NAME;
    let has = |name| has.iter().any(|has| has.extension_name_as_c_str() == Ok(name));
    ensure!(has(push_descriptor), "the device lacks {push_descriptor:?}");
    let priorities = [1.0; 8];
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(queues.0)
        .queue_priorities(&priorities[..queues.1 as usize])];
    let has_buffers = has(ext::descriptor_buffer::NAME);
    let extensions = [push_descriptor.as_ptr(), ext::descriptor_buffer::NAME.as_ptr()];
    let mut buffers = vk::PhysicalDeviceDescriptorBufferFeaturesEXT::default().descriptor_buffer(true);
    let mut timelines =
        vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true).buffer_device_address(has_buffers);
    let mut submits = vk::PhysicalDeviceVulkan13Features::default().synchronization2(true);
    let mut create = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions[..1 + usize::from(has_buffers)])
        .push_next(&mut timelines)
        .push_next(&mut submits);
    if has_buffers {
        create = create.push_next(&mut buffers);
    }
    // SAFETY: the family has this many queues; the device has the extensions with their features, and the other features
    // where it has Vulkan 1.3.
    Ok((unsafe { instance.create_device(physical, &create, None) }.context("opening the device")?, has_buffers))
}

/// Makes a layout of two storage buffers and eight bytes of constants. The extension of the kind was enabled.
pub(crate) fn create_layout(
    device: &ash::Device,
    kind: vk::DescriptorSetLayoutCreateFlags,
) -> Result<(vk::DescriptorSetLayout, vk::PipelineLayout)> {
    let stage = vk::ShaderStageFlags::COMPUTE;
    let bindings = [0, 1].map(|binding| {
        vk::DescriptorSetLayoutBinding::default()
            .binding(binding)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(1)
            .stage_flags(stage)
    });
    let create = vk::DescriptorSetLayoutCreateInfo::default().flags(kind).bindings(&bindings);
    // SAFETY: the structure is filled; the callers enabled the extension of its flag.
    let set_layout = unsafe { device.create_descriptor_set_layout(&create, None) }?;
    let (sets, constants) = ([set_layout], [vk::PushConstantRange::default().stage_flags(stage).size(8)]);
    let create = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&constants);
    // SAFETY: the set layout belongs to the device; every device has at least eight bytes of push constants.
    Ok((set_layout, unsafe { device.create_pipeline_layout(&create, None) }?))
}
