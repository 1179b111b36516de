//! The loader, the instance, and the devices that an instance lists: their description, the choice of one, and the plan
//! for opening it.
//!
//! The loader is found when a program asks for it, so that a program built with vkarray starts on a machine without
//! Vulkan and can say what to install. Everything that the runtime reads of a device is copied into plain data first
//! (`query.rs` into `device_info.rs`, features and limits by the tables of `features.rs` and `device_limits.rs`). So the
//! choice of the device (`select.rs`), the plan for opening it (`plan.rs`) and the simulation of a smaller device
//! (`limit_profile.rs`) are pure functions. `driver_fault.rs` has known faults of drivers, `messages.rs` the messages of
//! the validation layer, `fork.rs` the check whether the process was forked, and `close.rs` the end of an instance. The
//! folder `device` opens devices; nothing here does.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use ash::{ext, vk};

use crate::error::{Error, INSTALL_DRIVER, INSTALL_LAYER, Result};
use crate::lock::Rank;

mod close;
mod descriptors;
mod device_info;
mod device_limits;
mod driver_fault;
pub mod environment;
mod external;
mod features;
mod fork;
mod limit_profile;
mod matrix_shape;
mod messages;
mod physical;
mod plan;
mod query;
mod select;

use self::descriptors::or_no_descriptors;
#[cfg(test)]
pub(crate) use self::device_info::machine;
pub use self::device_info::{DeviceInfo, DeviceType, DriverInfo, Heap, MemoryType, QueueFamily, Subgroup, Version};
pub use self::device_limits::DeviceLimits;
pub use self::driver_fault::DriverFault;
pub use self::external::{BUFFER_USAGE, External, HandleSupport};
pub use self::features::Features;
pub use self::fork::ProcessId;
pub use self::limit_profile::LimitProfile;
pub use self::matrix_shape::{MatrixShape, scope_name};
pub use self::messages::ValidationMessage;
use self::messages::{Messages, messenger_info, shader_accesses};
pub use self::physical::PhysicalDevice;
pub(crate) use self::plan::check_support;
use self::plan::{BFLOAT16, COOPERATIVE_MATRIX, MINIMUM_VERSION, SUBGROUP_ROTATE};
pub use self::plan::{DevicePlan, DeviceRequest, QueuePlan};
pub use self::select::Selection;

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// Extensions that layers may be too old for, each with the first version whose layer knows it.
const EXTENSIONS_SINCE: [(&str, u32); 3] = [
    (SUBGROUP_ROTATE, vk::make_api_version(0, 1, 3, 280)),
    (COOPERATIVE_MATRIX, vk::make_api_version(0, 1, 3, 255)),
    (BFLOAT16, vk::make_api_version(0, 1, 4, 311)),
];

/// A function that gets the name and address of an entry point and returns the address to call in its place.
pub type Intercept = fn(&CStr, vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction;

/// Options for an [`Instance`].
///
/// ```
/// use vkarray_driver::Instance;
///
/// # fn main() -> Result<(), vkarray_driver::Error> {
/// let instance = Instance::builder().validation(false).build()?;
/// assert!(!instance.is_validating());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct InstanceBuilder {
    /// `None` if the environment decides.
    validation: Option<bool>,
    instruments_shaders: bool,
    limits: Option<LimitProfile>,
    intercept: Option<Intercept>,
}

impl InstanceBuilder {
    /// Loads the Khronos validation layer. Synchronisation validation is turned on where the layer has it, for shaders
    /// too.
    pub fn validation(mut self, on: bool) -> Self {
        self.validation = Some(on);
        self
    }

    /// Loads the validation layer, which also adds checks of its own to each shader (GPU-assisted validation). If it cannot,
    /// the messages of a device that is opened say why.
    pub fn instrument_shaders(mut self) -> Self {
        self.instruments_shaders = true;
        self.validation(true)
    }

    /// Restricts every device to the limits of a smaller device, and to its features where the profile comes from a
    /// file. Overrides `VKARRAY_LIMITS`; [`LimitProfile`] has an example.
    pub fn limits(mut self, profile: LimitProfile) -> Self {
        self.limits = Some(profile);
        self
    }

    /// Replaces functions of Vulkan, for tests of what happens when a call fails.
    ///
    /// A test reaches device calls by replacing `vkGetDeviceProcAddr`, through which every table is loaded, even the
    /// tables of extensions and of the memory library. Without an interceptor this costs nothing.
    ///
    /// # Safety
    ///
    /// A function that `intercept` returns for an entry point may be called wherever that entry point may be called,
    /// and has the same meaning.
    #[doc(hidden)]
    pub unsafe fn intercept(mut self, intercept: Intercept) -> Self {
        self.intercept = Some(intercept);
        self
    }

    /// Loads Vulkan and creates the instance.
    ///
    /// # Errors
    ///
    /// [`Error::LoaderMissing`] if there is no loader, [`Error::ValidationMissing`] if validation was asked for and is
    /// not installed, [`Error::NoDevice`] if the loader finds no driver at all, [`Error::NoDescriptors`] if hardly any
    /// files can be opened, [`Error::BadLimits`] if `VKARRAY_LIMITS` names no profile, [`Error::BadSetting`] if
    /// `VKARRAY_VALIDATION` is no switch.
    pub fn build(self) -> Result<Arc<Instance>> {
        self.load().map_err(or_no_descriptors)
    }

    fn load(self) -> Result<Arc<Instance>> {
        let limits = self.limits.map_or_else(LimitProfile::from_environment, |profile| Ok(Some(profile)))?;
        let validation =
            self.validation.map_or_else(|| environment::switch("VKARRAY_VALIDATION"), |on| Ok(Some(on)))?;
        let entry = load()?;
        let messages = validation.unwrap_or(false).then(|| Box::new(Messages::new(Rank::Messages, Vec::new())));
        let mut raw = create(&entry, messages.as_deref(), self.instruments_shaders)?;
        if let Some(intercept) = self.intercept {
            raw = intercepted(&entry, &raw, intercept);
        }
        // From here on `Instance::drop` destroys the instance.
        let mut instance =
            Instance { entry, raw, debug: None, messages, limits, is_adopted: false, process: ProcessId::current() };
        instance.create_messenger()?;
        Ok(Arc::new(instance))
    }
}

/// A loaded Vulkan, from which devices are listed and opened.
///
/// An instance holds no device; each device holds its instance.
///
/// ```
/// use vkarray_driver::Instance;
///
/// # fn main() -> Result<(), vkarray_driver::Error> {
/// let instance = Instance::new()?;
/// for device in instance.devices()? {
///     println!("{} ({})", device.info().name, device.info().device_type);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Instance {
    pub(crate) entry: ash::Entry,
    raw: ash::Instance,
    debug: Option<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    messages: Option<Box<Messages>>,
    /// The profile to which the devices are restricted.
    limits: Option<LimitProfile>,
    /// Whether other code created the instance and destroys it.
    is_adopted: bool,
    /// The process that loaded Vulkan.
    pub(crate) process: ProcessId,
}

impl Instance {
    /// Loads Vulkan without validation, unless the environment variable `VKARRAY_VALIDATION` turns it on.
    ///
    /// # Errors
    ///
    /// [`Error::LoaderMissing`] if there is no loader, [`Error::NoDevice`] if the loader finds no driver at all, and
    /// the errors of [`InstanceBuilder::build`].
    pub fn new() -> Result<Arc<Self>> {
        Self::builder().build()
    }

    /// Starts from the defaults: validation is off unless `VKARRAY_VALIDATION` turns it on.
    pub fn builder() -> InstanceBuilder {
        InstanceBuilder::default()
    }

    /// Uses an instance that other code created and goes on using. This library never destroys it.
    ///
    /// The code that created the instance decides about validation, and [`Instance::take_messages`] returns nothing.
    /// `VKARRAY_LIMITS` has no effect on an adopted instance.
    ///
    /// # Safety
    ///
    /// `raw` was loaded through `entry` and created for Vulkan 1.3 or later. It lives until the returned `Instance` and
    /// all devices opened from it are gone; see [`Device::close`](crate::Device::close).
    #[must_use]
    pub unsafe fn adopt(entry: ash::Entry, raw: ash::Instance) -> Arc<Self> {
        let process = ProcessId::current();
        Arc::new(Self { entry, raw, debug: None, messages: None, limits: None, is_adopted: true, process })
    }

    /// Lists the devices, in the loader's order. Every device is listed, even one that cannot be opened.
    ///
    /// A validation layer that is older than cooperative matrices, or than rotation in subgroups, hides them on every device.
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`] if there is no device, [`Error::NoDescriptors`] if hardly any files can be opened,
    /// [`Error::Vulkan`] if the driver fails, [`Error::Forked`] in a forked child of the process that loaded Vulkan.
    pub fn devices(self: &Arc<Self>) -> Result<Vec<PhysicalDevice>> {
        self.process.check()?;
        self.list().map_err(or_no_descriptors)
    }

    fn list(self: &Arc<Self>) -> Result<Vec<PhysicalDevice>> {
        // SAFETY: `raw` is a live instance, owned by `self`.
        let handles = unsafe { self.raw.enumerate_physical_devices() };
        let handles = match handles {
            Ok(handles) if !handles.is_empty() => handles,
            // A loader without a driver either returns this code or lists no device.
            Ok(_) | Err(vk::Result::ERROR_INITIALIZATION_FAILED) => {
                return Err(Error::NoDevice { hint: INSTALL_DRIVER });
            }
            Err(code) => return Err(Error::from_call("vkEnumeratePhysicalDevices")(code)),
        };
        // A layer that is older than the extension reports errors about it and removes its features when a device is
        // created.
        let layer = if self.is_validating() { layer_version(&self.entry)? } else { Some(u32::MAX) };
        let describe = |raw| {
            let mut info = query::device_info(&self.raw, raw)?;
            for (extension, since) in EXTENSIONS_SINCE {
                if layer < Some(since) {
                    info.extensions.remove(extension);
                }
            }
            info.features = info.features.enabled_with(|name| info.extensions.contains(name));
            if info.features.cooperative_matrix {
                info.matrix_shapes = query::matrix_shapes(&self.entry, &self.raw, raw)?;
            }
            if let Some(profile) = &self.limits {
                profile.apply(&mut info);
            }
            Ok(info)
        };
        let mut infos = handles.iter().copied().map(describe).collect::<Result<Vec<_>>>()?;
        external::add_groups(&self.raw, &handles, &mut infos)?;
        let listed = |(raw, info)| PhysicalDevice { instance: Arc::clone(self), raw, info: Arc::new(info) };
        Ok(handles.into_iter().zip(infos).map(listed).collect())
    }

    /// Returns the messages of the validation layer since the last call, oldest first. Without validation the list is
    /// empty.
    ///
    /// ```
    /// use vkarray_driver::Instance;
    ///
    /// # fn main() -> Result<(), vkarray_driver::Error> {
    /// let instance = Instance::new()?;
    /// instance.devices()?;
    /// for message in instance.take_messages() {
    ///     panic!("{message}"); // What a test does with a message.
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn take_messages(&self) -> Vec<ValidationMessage> {
        match &self.messages {
            Some(messages) if !self.process.is_forked() => std::mem::take(&mut *messages.lock()),
            _ => Vec::new(),
        }
    }

    /// Whether the validation layer is loaded and its messages are kept.
    pub fn is_validating(&self) -> bool {
        self.messages.is_some()
    }

    /// The instance's function table, whose calls are `unsafe`.
    pub fn raw(&self) -> &ash::Instance {
        &self.raw
    }

    fn create_messenger(&mut self) -> Result<()> {
        let Some(messages) = &self.messages else { return Ok(()) };
        let table = ext::debug_utils::Instance::new(&self.entry, &self.raw);
        let info = messenger_info(messages);
        // SAFETY: the extension is enabled with validation; the box that `info` points to outlives the messenger,
        // which `drop` destroys first.
        let messenger = unsafe { table.create_debug_utils_messenger(&info, None) }
            .map_err(Error::from_call("vkCreateDebugUtilsMessengerEXT"))?;
        self.debug = Some((table, messenger));
        Ok(())
    }
}

crate::debug_fields!(Instance, this => validation: this.is_validating());

fn load() -> Result<ash::Entry> {
    // SAFETY: loading runs the loader's initialisers, which the system's Vulkan loader keeps harmless.
    unsafe { ash::Entry::load() }
        .map_err(|reason| Error::LoaderMissing { reason: reason.to_string(), hint: INSTALL_DRIVER })
}

fn create(entry: &ash::Entry, messages: Option<&Messages>, instruments_shaders: bool) -> Result<ash::Instance> {
    let application = vk::ApplicationInfo::default().application_name(c"vkarray").api_version(vk::API_VERSION_1_3);
    let mut layers = Vec::new();
    let mut extensions = Vec::new();
    let mut flags = vk::InstanceCreateFlags::empty();
    if has_instance_extension(entry, None, vk::KHR_PORTABILITY_ENUMERATION_NAME)? {
        extensions.push(vk::KHR_PORTABILITY_ENUMERATION_NAME.as_ptr());
        flags |= vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR;
    }
    let mut info = vk::InstanceCreateInfo::default().application_info(&application).flags(flags);
    use vk::ValidationFeatureEnableEXT as Checks;
    let checks = [Checks::SYNCHRONIZATION_VALIDATION, Checks::GPU_ASSISTED, Checks::GPU_ASSISTED_RESERVE_BINDING_SLOT];
    let n_checks = if instruments_shaders { checks.len() } else { 1 };
    let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&checks[..n_checks]);
    let settings = [shader_accesses(&vk::TRUE)];
    let mut settings = vk::LayerSettingsCreateInfoEXT::default().settings(&settings);
    let mut messenger;
    if let Some(messages) = messages {
        if layer_version(entry)?.is_none() {
            return Err(Error::ValidationMissing { hint: INSTALL_LAYER });
        }
        layers.push(VALIDATION_LAYER.as_ptr());
        extensions.push(vk::EXT_DEBUG_UTILS_NAME.as_ptr());
        messenger = messenger_info(messages);
        info = info.push_next(&mut messenger);
        if has_instance_extension(entry, Some(VALIDATION_LAYER), vk::EXT_VALIDATION_FEATURES_NAME)? {
            extensions.push(vk::EXT_VALIDATION_FEATURES_NAME.as_ptr());
            info = info.push_next(&mut features);
        }
        // The layer reads its settings even when their extension, which its manifest may not list, is not enabled.
        info = info.push_next(&mut settings);
    }
    let info = info.enabled_layer_names(&layers).enabled_extension_names(&extensions);
    // SAFETY: `info` and all it points to live across the call; the messages' box lives as long as the instance.
    match unsafe { entry.create_instance(&info, None) } {
        Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER) => Err(Error::NoDevice { hint: INSTALL_DRIVER }),
        other => other.map_err(Error::from_call("vkCreateInstance")),
    }
}

/// Loads the function table of the instance again, with the entries that `intercept` replaces.
fn intercepted(entry: &ash::Entry, raw: &ash::Instance, intercept: Intercept) -> ash::Instance {
    let load = |name: &CStr| {
        // SAFETY: the instance is live, and the name ends with NUL.
        let function = unsafe { entry.get_instance_proc_addr(raw.handle(), name.as_ptr()) };
        intercept(name, function).map_or(std::ptr::null(), |function| function as *const c_void)
    };
    // SAFETY: each address is the driver's, or one that the builder's caller vouches for.
    unsafe { ash::Instance::load_with(load, raw.handle()) }
}

/// The version of Vulkan that the validation layer was made for, if the layer is installed.
fn layer_version(entry: &ash::Entry) -> Result<Option<u32>> {
    // SAFETY: a query of the loader without arguments.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }
        .map_err(Error::from_call("vkEnumerateInstanceLayerProperties"))?;
    let layer = layers.iter().find(|layer| layer.layer_name_as_c_str() == Ok(VALIDATION_LAYER));
    Ok(layer.map(|layer| layer.spec_version))
}

fn has_instance_extension(entry: &ash::Entry, layer: Option<&CStr>, name: &CStr) -> Result<bool> {
    // SAFETY: a query of the loader; `layer` is a NUL-terminated name or nothing.
    let listed = unsafe { entry.enumerate_instance_extension_properties(layer) }
        .map_err(Error::from_call("vkEnumerateInstanceExtensionProperties"))?;
    Ok(listed.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name)))
}
