//! Lists the Vulkan devices and layers of this machine, in a child process.
//!
//! This is the only file of xtask that calls Vulkan: it loads the loader, creates an instance and lists devices. `ask`
//! does so in a child process, so that a driver that crashes or hangs ends the child only, and a driver that was just
//! installed is found, because the child loads everything again. `plan.rs` decides what is missing and what to do about
//! it.

use std::env;
use std::ffi::CStr;
use std::fmt;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use ash::{Entry, Instance, vk};
use serde::{Deserialize, Serialize};

use crate::command::CommandLine;
use crate::driver_fault::DriverFault;

/// The time limit for listing the devices; the slowest drivers need a few seconds to start.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The lowest version of Vulkan that vkarray supports; `vkQueueSubmit2` is part of Vulkan since 1.3.
const MIN_API: (u32, u32) = (1, 3);

/// The Vulkan loader, devices and layers that a process finds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Vulkan {
    /// Version of the loader.
    pub(crate) loader: Option<String>,
    pub(crate) devices: Vec<Device>,
    /// Whether `VK_LAYER_KHRONOS_validation` can be turned on.
    pub(crate) validation_layer: bool,
    /// Errors of the loader for what could not be found.
    pub(crate) notes: Vec<String>,
}

/// One physical device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) api: String,
    /// Why vkarray cannot use the device; `None` if it can.
    pub(crate) refused: Option<String>,
    /// The known faults of the device's driver, and what to do about each.
    pub(crate) faults: Vec<String>,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, Vulkan {})", self.name, self.kind, self.api)?;
        self.refused.iter().try_for_each(|why| write!(f, ", not usable: {why}"))?;
        self.faults.iter().try_for_each(|fault| write!(f, "\n  known fault of its driver: {fault}"))
    }
}

/// The kinds of device, the one that is likely the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    Discrete,
    Integrated,
    Virtual,
    Other,
    Cpu,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discrete => "discrete GPU",
            Self::Integrated => "integrated GPU",
            Self::Virtual => "virtual GPU",
            Self::Other => "other device",
            Self::Cpu => "CPU driver",
        })
    }
}

impl From<vk::PhysicalDeviceType> for Kind {
    fn from(kind: vk::PhysicalDeviceType) -> Self {
        match kind {
            vk::PhysicalDeviceType::DISCRETE_GPU => Self::Discrete,
            vk::PhysicalDeviceType::INTEGRATED_GPU => Self::Integrated,
            vk::PhysicalDeviceType::VIRTUAL_GPU => Self::Virtual,
            vk::PhysicalDeviceType::CPU => Self::Cpu,
            _ => Self::Other,
        }
    }
}

/// Prints what this process finds; the hidden `probe` task.
pub(crate) fn report(json: bool) -> Result<()> {
    let vulkan = probe();
    if json {
        println!("{}", serde_json::to_string(&vulkan).context("cannot write the probe's output")?);
    } else {
        println!("{vulkan:#?}");
    }
    Ok(())
}

/// Runs `probe` in a child process and returns what it finds.
pub(crate) fn ask() -> Result<Vulkan> {
    let exe = env::current_exe().context("cannot find xtask's own executable")?;
    let exe = exe.to_str().context("the path of xtask's executable is not UTF-8")?;
    let mut process = CommandLine::new([exe, "probe", "--json"]).process();
    let output = output_of(&mut process, TIME_LIMIT)?;
    // Layers and drivers may print too; the probe's own line is the last.
    let line = output.lines().last().context("the Vulkan probe printed nothing")?;
    serde_json::from_str(line).with_context(|| format!("cannot parse the Vulkan probe's output `{line}`"))
}

/// The standard output of `process`, which must end successfully and in time.
fn output_of(process: &mut Command, limit: Duration) -> Result<String> {
    let mut child = process.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start the probe")?;
    let status = wait(&mut child, limit)?;
    let mut output = String::new();
    let mut stdout = child.stdout.take().expect("stdout is piped, and taken once");
    stdout.read_to_string(&mut output).context("cannot read the probe's output")?;
    if !status.success() {
        bail!(
            "the Vulkan loader or a driver crashed while the devices were listed ({status}); \
             name the drivers to load in VK_DRIVER_FILES, or remove the broken one, and run this again"
        );
    }
    Ok(output)
}

fn wait(child: &mut Child, limit: Duration) -> Result<std::process::ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for the probe")? {
            return Ok(status);
        }
        if start.elapsed() > limit {
            child.kill().context("cannot end the probe")?;
            child.wait().context("cannot wait for the probe")?;
            bail!(
                "the Vulkan loader or a driver hung for {} s while the devices were listed; \
                 name the drivers to load in VK_DRIVER_FILES, or remove the broken one, and run this again",
                limit.as_secs()
            );
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Lists what this process finds.
fn probe() -> Vulkan {
    // SAFETY: loading runs the initialisers of the system's own Vulkan loader; the caller runs this in a process of
    // its own, with no other thread that they could interfere with.
    let entry = match unsafe { Entry::load() } {
        Ok(entry) => entry,
        Err(error) => return Vulkan { notes: vec![error.to_string()], ..Vulkan::default() },
    };
    // SAFETY: `entry` is loaded and lives through the call.
    let version = unsafe { entry.try_enumerate_instance_version() }.ok().flatten().unwrap_or(vk::API_VERSION_1_0);
    let mut vulkan = Vulkan { loader: Some(version_text(version)), ..Vulkan::default() };
    match has_validation_layer(&entry) {
        Ok(is_found) => vulkan.validation_layer = is_found,
        Err(error) => vulkan.notes.push(format!("cannot list the layers: {error}")),
    }
    match list_devices(&entry, version) {
        Ok(devices) => vulkan.devices = devices,
        Err(error) => vulkan.notes.push(format!("cannot list the devices: {error}")),
    }
    vulkan
}

fn has_validation_layer(entry: &Entry) -> Result<bool, vk::Result> {
    // SAFETY: `entry` is loaded and lives through the call.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }?;
    Ok(layers.iter().any(|layer| layer.layer_name_as_c_str() == Ok(c"VK_LAYER_KHRONOS_validation")))
}

fn list_devices(entry: &Entry, version: u32) -> Result<Vec<Device>, vk::Result> {
    // SAFETY: `entry` is loaded and lives through the call.
    let extensions = unsafe { entry.enumerate_instance_extension_properties(None) }?;
    // The loader lists MoltenVK only to instances that accept incomplete implementations.
    let portability = ash::khr::portability_enumeration::NAME;
    let is_known = extensions.iter().any(|extension| extension.extension_name_as_c_str() == Ok(portability));
    let (names, flags) = if is_known {
        (vec![portability.as_ptr()], vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR)
    } else {
        (vec![], vk::InstanceCreateFlags::empty())
    };
    let application = vk::ApplicationInfo::default().api_version(version.min(vk::API_VERSION_1_3));
    let create =
        vk::InstanceCreateInfo::default().application_info(&application).enabled_extension_names(&names).flags(flags);
    // SAFETY: `create` borrows `application` and `names`, whose one pointer is to a static string.
    let instance = unsafe { entry.create_instance(&create, None) }?;
    // SAFETY: `instance` is alive until the call after the next.
    let devices = unsafe { instance.enumerate_physical_devices() };
    let devices = devices.map(|devices| devices.into_iter().map(|device| describe(&instance, device)).collect());
    // SAFETY: no object of `instance` is used after this line; of the physical devices only descriptions are kept.
    unsafe { instance.destroy_instance(None) };
    devices
}

fn describe(instance: &Instance, device: vk::PhysicalDevice) -> Device {
    // SAFETY: the caller listed `device` from `instance`, which it keeps alive.
    let properties = unsafe { instance.get_physical_device_properties(device) };
    // SAFETY: the caller listed `device` from `instance`, which it keeps alive.
    let families = unsafe { instance.get_physical_device_queue_family_properties(device) };
    let has_compute = families.iter().any(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE));
    let refused = refusal(properties.api_version, has_compute);
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    if refused.is_none() {
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
        // SAFETY: the caller listed `device` from `instance`, which it keeps alive; both are of a version that has both
        // structures.
        unsafe { instance.get_physical_device_properties2(device, &mut all) };
    }
    let info = driver.driver_info_as_c_str().map(CStr::to_string_lossy).unwrap_or_default();
    Device {
        name: properties.device_name_as_c_str().map_or_else(|_| "unnamed".into(), |name| name.to_string_lossy()).into(),
        kind: properties.device_type.into(),
        api: version_text(properties.api_version),
        faults: DriverFault::of(driver.driver_id.as_raw(), &info).map(ToString::to_string).collect(),
        refused,
    }
}

/// Why vkarray cannot use a device of this version, with or without a compute queue.
fn refusal(api: u32, has_compute: bool) -> Option<String> {
    let (major, minor) = MIN_API;
    if (vk::api_version_major(api), vk::api_version_minor(api)) < MIN_API {
        Some(format!("its driver supports Vulkan {}, vkarray needs {major}.{minor}", version_text(api)))
    } else if !has_compute {
        Some("it has no compute queue".to_owned())
    } else {
        None
    }
}

fn version_text(version: u32) -> String {
    let (major, minor) = (vk::api_version_major(version), vk::api_version_minor(version));
    format!("{major}.{minor}.{}", vk::api_version_patch(version))
}

#[cfg(test)]
impl Device {
    /// A device of Vulkan 1.3 for tests.
    pub(crate) fn example(name: &str, kind: Kind, refused: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            api: "1.3.0".to_owned(),
            refused: refused.map(str::to_owned),
            faults: vec![],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_refused_for_its_version_or_its_queues() {
        for (version, has_compute, why) in [
            ((1, 0, 3), true, Some("its driver supports Vulkan 1.0.3, vkarray needs 1.3")),
            ((1, 2, 999), true, Some("its driver supports Vulkan 1.2.999, vkarray needs 1.3")), // One version too old.
            ((1, 3, 0), true, None), // The oldest supported version.
            ((1, 4, 300), true, None),
            ((2, 0, 0), true, None), // The major version counts before the minor one.
            ((1, 3, 0), false, Some("it has no compute queue")),
        ] {
            let api = vk::make_api_version(0, version.0, version.1, version.2);
            assert_eq!(refusal(api, has_compute).as_deref(), why, "{version:?} {has_compute}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_probe_that_crashes_or_hangs_is_reported_as_an_error() {
        let long = Duration::from_secs(60);
        for (script, limit, message) in [
            ("kill -SEGV $$", long, "crashed while the devices were listed (signal: 11"),
            ("exit 3", long, "crashed while the devices were listed (exit status: 3)"),
            ("exec sleep 60", Duration::ZERO, "hung for 0 s"),
        ] {
            let error = output_of(Command::new("sh").args(["-c", script]), limit).unwrap_err().to_string();
            assert!(error.contains(message), "{script}: {error}");
        }
        let output = output_of(Command::new("sh").args(["-c", "echo one; echo two"]), long).unwrap();
        assert_eq!(output, "one\ntwo\n");
    }

    #[test]
    fn the_output_is_one_line_of_json_that_parses_back() {
        let vulkan = Vulkan {
            loader: Some("1.3.239".to_owned()),
            devices: vec![Device {
                name: "a \"quoted\" name".to_owned(),
                kind: Kind::Cpu,
                api: "1.1.0".to_owned(),
                refused: Some("old".to_owned()),
                faults: vec!["wrong".to_owned()],
            }],
            validation_layer: true,
            notes: vec!["first".to_owned()],
        };
        let line = serde_json::to_string(&vulkan).unwrap();
        assert_eq!(line.lines().count(), 1, "{line}");
        assert_eq!(serde_json::from_str::<Vulkan>(&line).unwrap(), vulkan);
    }
}
