//! Adopted devices: the test creates an instance, a device and a queue with raw Vulkan, lends them to the library, and
//! uses and destroys them afterwards.

use std::ffi::{CStr, c_void};
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ash::{ext, vk};
use vkarray::device::{Device, Error as DriverError, Features, Instance};
use vkarray::vulkan::{Adopted, ExternalQueue, QueueLock};
use vkarray::{Context, Groups, Stream};

use crate::fixture::contents;
use crate::fixture::kernels::{keep_busy, kept_busy, spin, step, stepped};

const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn an_adopted_device_works_and_is_not_destroyed() {
    let owner = Owner::new();
    let device = owner.lend(None);
    {
        let ctx = Context::on(&device).unwrap();
        let step = step(&ctx);
        let array = ctx.slice_to_device(&[1_u32; 100]).unwrap();
        for round in 0..300_u32 {
            step.dispatch(ctx.default_stream(), Groups::covering([100]), (&array, round)).unwrap();
        }
        assert_eq!(contents(&array), [(0..300).fold(1, stepped); 100]);
    }
    device.close(LIMIT).unwrap();
    owner.use_queue();
    owner.end();
}

#[test]
fn closing_a_busy_adopted_device_waits_for_its_work() {
    let (sender, receiver) = mpsc::channel();
    let owner = Owner::new();
    let device = owner.lend(None);
    {
        let ctx = Context::on(&device).unwrap();
        let (spin, array) = (spin(&ctx), ctx.slice_to_device(&[1_u32]).unwrap());
        keep_busy(ctx.default_stream(), &spin, &array);
        let stream = ctx.default_stream();
        stream.add_callback(move |outcome| sender.send(outcome.is_ok()).unwrap()).unwrap();
        stream.flush().unwrap();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty), "the device is not kept busy");
    }
    device.close(LIMIT).unwrap();
    assert_eq!(receiver.try_recv(), Ok(true), "the device was closed before its work was done");
    owner.end();
}

#[test]
fn owner_and_library_share_a_queue_under_its_lock() {
    let owner = Owner::new();
    let lock = QueueLock::default();
    let device = owner.lend(Some(Arc::clone(&lock)));
    {
        let ctx = Context::on(&device).unwrap();
        let queue = ExternalQueue { raw: owner.queue, family: owner.family, lock: Some(Arc::clone(&lock)) };
        // SAFETY: the owner holds the lock whenever it uses the queue.
        let stream = unsafe { Stream::external(&device, queue) }.unwrap();
        let (spin, array) = (spin(&ctx), ctx.slice_to_device(&[1_u32]).unwrap());
        keep_busy(&stream, &spin, &array);
        for _ in 0..50 {
            let _held = lock.lock().unwrap();
            owner.use_queue();
        }
        assert_eq!(contents(&array), [kept_busy(1)]);
    }
    device.close(LIMIT).unwrap();
    owner.end();
}

/// A long wait asks the driver whether the device is lost, by the queues that nobody holds.
#[test]
fn a_long_wait_ends_while_its_caller_holds_the_lock_of_the_queue() {
    let owner = Owner::new();
    let lock = QueueLock::default();
    let device = owner.lend(Some(Arc::clone(&lock)));
    {
        let ctx = Context::on(&device).unwrap();
        let (spin, array) = (spin(&ctx), ctx.slice_to_device(&[1_u32]).unwrap());
        let stream = ctx.default_stream();
        (0..4).for_each(|_| keep_busy(stream, &spin, &array));
        let point = stream.point().unwrap();
        stream.flush().unwrap();
        let _held = lock.lock().unwrap();
        point.wait(None).unwrap();
    }
    device.close(LIMIT).unwrap();
    owner.end();
}

#[test]
fn closing_a_device_in_use_is_an_error() {
    let owner = Owner::new();
    let device = owner.lend(None);
    let ctx = Context::on(&device).unwrap();
    let error = device.close(Duration::from_millis(1)).unwrap_err();
    let DriverError::StillHeld { holders, .. } = &error else { panic!("{error}") };
    assert!(*holders > 0, "{error}");
    let device = Arc::clone(ctx.device());
    drop(ctx);
    device.close(LIMIT).unwrap();
    owner.end();
}

#[test]
fn adopting_a_device_without_a_needed_feature_or_queue_family_is_refused() {
    let owner = Owner::new();
    let instance = owner.instance();
    let physical = instance.devices().unwrap().into_iter().find(|device| device.raw() == owner.physical).unwrap();
    let adopt = |features, family| {
        let queues = vec![ExternalQueue { raw: owner.queue, family, lock: None }];
        let (device, physical) = (owner.device.clone(), physical.clone());
        // SAFETY: the adoption is refused before the handles are used.
        unsafe { Device::adopt(Adopted { physical, device, queues, extensions: Vec::new(), features }) }
    };
    let complaint = |result: Result<Arc<Device>, DriverError>| result.unwrap_err().to_string();
    let without = Features { timeline_semaphore: false, ..owner.features() };
    assert!(complaint(adopt(without, owner.family)).ends_with("opened without the feature timeline_semaphore"));
    assert!(complaint(adopt(owner.features(), 99)).ends_with("it has no queue family 99"));
    drop((instance, physical));
    owner.end();
}

/// An instance, a device and a queue of the program, under validation.
struct Owner {
    entry: ash::Entry,
    instance: ash::Instance,
    messenger: (ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT),
    messages: Box<Messages>,
    physical: vk::PhysicalDevice,
    device: ash::Device,
    family: u32,
    queue: vk::Queue,
}

type Messages = Mutex<Vec<String>>;

impl Owner {
    fn new() -> Self {
        // SAFETY: the call loads the system's Vulkan.
        let entry = unsafe { ash::Entry::load() }.unwrap();
        let messages = Box::<Messages>::default();
        let instance = create_instance(&entry);
        let debug = ext::debug_utils::Instance::new(&entry, &instance);
        let info = messenger_info(&messages);
        // SAFETY: the extension is enabled; the messages' box outlives the messenger.
        let messenger = unsafe { debug.create_debug_utils_messenger(&info, None) }.unwrap();
        // SAFETY: the instance is alive.
        let physical = unsafe { instance.enumerate_physical_devices() }.unwrap()[0];
        // SAFETY: the physical device belongs to that instance.
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        let computes = |f: &vk::QueueFamilyProperties| f.queue_flags.contains(vk::QueueFlags::COMPUTE);
        let family = u32::try_from(families.iter().position(computes).unwrap()).unwrap();
        let device = create_device(&instance, physical, family);
        // SAFETY: the device was created with one queue of that family.
        let queue = unsafe { device.get_device_queue(family, 0) };
        Self { entry, instance, messenger: (debug, messenger), messages, physical, device, family, queue }
    }

    fn instance(&self) -> Arc<Instance> {
        // SAFETY: created through this entry for Vulkan 1.3; each test drops the adopted instance before `end`.
        unsafe { Instance::adopt(self.entry.clone(), self.instance.clone()) }
    }

    fn features(&self) -> Features {
        Features { timeline_semaphore: true, synchronization2: true, ..Features::default() }
    }

    fn lend(&self, lock: Option<QueueLock>) -> Arc<Device> {
        let instance = self.instance();
        assert!(!instance.is_validating());
        let physical = instance.devices().unwrap().into_iter().find(|device| device.raw() == self.physical).unwrap();
        let queues = vec![ExternalQueue { raw: self.queue, family: self.family, lock }];
        let (device, features) = (self.device.clone(), self.features());
        // SAFETY: these features are what `create_device` enabled, with maintenance4 and no extension; the queue is of
        // that family, and is used here only under the lock or after the device is closed.
        unsafe { Device::adopt(Adopted { physical, device, queues, extensions: Vec::new(), features }) }.unwrap()
    }

    /// Submits an empty batch and waits for it.
    fn use_queue(&self) {
        // SAFETY: the callers ensure that nothing else uses the queue now.
        unsafe { self.device.queue_submit2(self.queue, &[vk::SubmitInfo2::default()], vk::Fence::null()) }.unwrap();
        // SAFETY: the callers ensure that nothing else uses the queue now.
        unsafe { self.device.queue_wait_idle(self.queue) }.unwrap();
    }

    /// Destroys everything; fails if validation has reported anything, such as objects that were not destroyed.
    fn end(self) {
        // SAFETY: the device is alive, and no thread uses its queue.
        unsafe { self.device.device_wait_idle() }.unwrap();
        // SAFETY: the device was created here, and is destroyed once.
        unsafe { self.device.destroy_device(None) };
        // SAFETY: the messenger was created here, and is destroyed once.
        unsafe { self.messenger.0.destroy_debug_utils_messenger(self.messenger.1, None) };
        // SAFETY: the instance was created here, and is destroyed once, after all of its objects.
        unsafe { self.instance.destroy_instance(None) };
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.retain(|message| !message.contains("VideoEncode")); // See `fixture/validation.rs`.
        assert!(messages.is_empty(), "validation:\n{}", messages.join("\n"));
    }
}

fn create_instance(entry: &ash::Entry) -> ash::Instance {
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let layers = [c"VK_LAYER_KHRONOS_validation".as_ptr()];
    let extensions = [vk::EXT_DEBUG_UTILS_NAME.as_ptr()];
    let info = vk::InstanceCreateInfo::default()
        .application_info(&application)
        .enabled_layer_names(&layers)
        .enabled_extension_names(&extensions);
    // SAFETY: `info` and everything it points to live across the call.
    unsafe { entry.create_instance(&info, None) }.unwrap()
}

fn create_device(instance: &ash::Instance, physical: vk::PhysicalDevice, family: u32) -> ash::Device {
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
    let mut v13 = vk::PhysicalDeviceVulkan13Features::default().synchronization2(true).maintenance4(true);
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut v12).push_next(&mut v13);
    // SAFETY: every device of the suite has these features; `info` borrows everything that it points to.
    unsafe { instance.create_device(physical, &info, None) }.unwrap()
}

fn messenger_info(messages: &Messages) -> vk::DebugUtilsMessengerCreateInfoEXT<'_> {
    use vk::{DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Type};
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(Severity::WARNING | Severity::ERROR)
        .message_type(Type::VALIDATION)
        .pfn_user_callback(Some(on_message))
        .user_data(std::ptr::from_ref(messages).cast_mut().cast())
}

unsafe extern "system" fn on_message(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    message: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the `Messages` given to `messenger_info`, which outlive the messenger.
    let messages = unsafe { &*user.cast::<Messages>() };
    // SAFETY: the message is valid for the length of this call.
    let message = unsafe { &*message };
    // SAFETY: the text is NUL-terminated or null, for the length of this call.
    let text =
        unsafe { message.message_as_c_str() }.map_or_else(String::new, |text| CStr::to_string_lossy(text).into_owned());
    messages.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    vk::FALSE
}
