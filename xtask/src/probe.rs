//! What Vulkan offers on this machine, asked in a process of its own.
//!
//! `probe` loads the loader, makes an instance and lists devices; it is the only file here that calls Vulkan.
//! `ask` runs it in a child process: a driver that crashes or hangs ends the child only, and a driver installed
//! a moment ago is seen, because the child loads everything anew.
//! What is missing, and what to do about it, is decided in `plan.rs`.

use std::env;
use std::fmt;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use ash::{Entry, Instance, vk};
use serde::{Deserialize, Serialize};

use crate::command::CommandLine;

/// How long listing the devices may take; the slowest drivers need a few seconds to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// vkarray stands on timeline semaphores and `vkQueueSubmit2`; 1.3 made the latter part of Vulkan itself.
const LEAST_API: (u32, u32) = (1, 3);

/// What one process sees of Vulkan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Vulkan {
    /// Version of the loader.
    pub(crate) loader: Option<String>,
    pub(crate) devices: Vec<Device>,
    /// Whether `VK_LAYER_KHRONOS_validation` can be turned on.
    pub(crate) validation_layer: bool,
    /// Why something is not there, in the loader's words.
    pub(crate) notes: Vec<String>,
}

/// One physical device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) api: String,
    /// Why vkarray cannot work on it.
    pub(crate) refused: Option<String>,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, Vulkan {})", self.name, self.kind, self.api)?;
        self.refused.iter().try_for_each(|why| write!(f, ", not usable: {why}"))
    }
}

/// The kinds of device, the likely fastest first.
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

/// Prints what this process sees: the body of the hidden `probe` task.
pub(crate) fn report(json: bool) -> Result<()> {
    let vulkan = probe();
    if json {
        println!("{}", serde_json::to_string(&vulkan).context("cannot write the probe's answer")?);
    } else {
        println!("{vulkan:#?}");
    }
    Ok(())
}

/// Asks a child process what it sees.
pub(crate) fn ask() -> Result<Vulkan> {
    let exe = env::current_exe().context("cannot find xtask's own executable")?;
    let exe = exe.to_str().context("the path of xtask's executable is not UTF-8")?;
    let mut process = CommandLine::new([exe, "probe", "--json"]).process();
    let answer = answer_of(&mut process, PATIENCE)?;
    // Layers and drivers may print as well; the answer is the last line.
    let line = answer.lines().last().context("the Vulkan probe gave no answer")?;
    serde_json::from_str(line).with_context(|| format!("cannot read the Vulkan probe's answer `{line}`"))
}

/// What `process` prints before it ends well.
fn answer_of(process: &mut Command, patience: Duration) -> Result<String> {
    let mut child = process.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start the probe")?;
    let status = wait(&mut child, patience)?;
    let mut answer = String::new();
    let mut stdout = child.stdout.take().expect("stdout is piped, and taken once");
    stdout.read_to_string(&mut answer).context("cannot read the probe's answer")?;
    if !status.success() {
        bail!(
            "the Vulkan loader or a driver crashed while the devices were listed ({status}); \
             name the drivers to load in VK_DRIVER_FILES, or remove the broken one, and run this again"
        );
    }
    Ok(answer)
}

fn wait(child: &mut Child, patience: Duration) -> Result<std::process::ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for the probe")? {
            return Ok(status);
        }
        if start.elapsed() > patience {
            child.kill().context("cannot end the probe")?;
            child.wait().context("cannot wait for the probe")?;
            bail!(
                "the Vulkan loader or a driver hung for {} s while the devices were listed; \
                 name the drivers to load in VK_DRIVER_FILES, or remove the broken one, and run this again",
                patience.as_secs()
            );
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Looks at Vulkan from this process.
fn probe() -> Vulkan {
    // SAFETY: loading runs the initialisers of the system's own Vulkan loader; the caller runs us in a process of
    // its own, with no other thread that they could disturb.
    let entry = match unsafe { Entry::load() } {
        Ok(entry) => entry,
        Err(error) => return Vulkan { notes: vec![error.to_string()], ..Vulkan::default() },
    };
    // SAFETY: `entry` is loaded and lives through the call.
    let version = unsafe { entry.try_enumerate_instance_version() }.ok().flatten().unwrap_or(vk::API_VERSION_1_0);
    let mut vulkan = Vulkan { loader: Some(version_text(version)), ..Vulkan::default() };
    match has_validation_layer(&entry) {
        Ok(there) => vulkan.validation_layer = there,
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
    // MoltenVK shows itself only to those who ask for incomplete drivers too.
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
    // SAFETY: nothing made from `instance` outlives this line; physical devices are described, not kept.
    unsafe { instance.destroy_instance(None) };
    devices
}

fn describe(instance: &Instance, device: vk::PhysicalDevice) -> Device {
    // SAFETY: the caller listed `device` from `instance`, which it keeps alive.
    let properties = unsafe { instance.get_physical_device_properties(device) };
    // SAFETY: as above.
    let families = unsafe { instance.get_physical_device_queue_family_properties(device) };
    let has_compute = families.iter().any(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE));
    Device {
        name: properties.device_name_as_c_str().map_or_else(|_| "unnamed".into(), |name| name.to_string_lossy()).into(),
        kind: properties.device_type.into(),
        api: version_text(properties.api_version),
        refused: refusal(properties.api_version, has_compute),
    }
}

/// Why a device of this version, with or without a compute queue, is of no use.
fn refusal(api: u32, has_compute: bool) -> Option<String> {
    let (major, minor) = LEAST_API;
    if (vk::api_version_major(api), vk::api_version_minor(api)) < LEAST_API {
        Some(format!("its driver speaks Vulkan {}, vkarray needs {major}.{minor}", version_text(api)))
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
mod tests {
    use super::*;

    #[test]
    fn a_device_is_refused_for_its_version_or_its_queues() {
        for (version, has_compute, why) in [
            ((1, 0, 3), true, Some("its driver speaks Vulkan 1.0.3, vkarray needs 1.3")),
            ((1, 2, 999), true, Some("its driver speaks Vulkan 1.2.999, vkarray needs 1.3")), // One before the least.
            ((1, 3, 0), true, None),                                                          // The least.
            ((1, 4, 300), true, None),
            ((2, 0, 0), true, None), // A minor of zero is not old.
            ((1, 3, 0), false, Some("it has no compute queue")),
        ] {
            let api = vk::make_api_version(0, version.0, version.1, version.2);
            assert_eq!(refusal(api, has_compute).as_deref(), why, "{version:?} {has_compute}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_probe_that_crashes_or_hangs_is_an_error_that_says_so() {
        let long = Duration::from_secs(60);
        for (script, patience, said) in [
            ("kill -SEGV $$", long, "crashed while the devices were listed (signal: 11"),
            ("exit 3", long, "crashed while the devices were listed (exit status: 3)"),
            ("exec sleep 60", Duration::ZERO, "hung for 0 s"),
        ] {
            let error = answer_of(Command::new("sh").args(["-c", script]), patience).unwrap_err().to_string();
            assert!(error.contains(said), "{script}: {error}");
        }
        let answer = answer_of(Command::new("sh").args(["-c", "echo one; echo two"]), long).unwrap();
        assert_eq!(answer, "one\ntwo\n");
    }

    #[test]
    fn the_answer_survives_its_way_between_processes() {
        let vulkan = Vulkan {
            loader: Some("1.3.239".to_owned()),
            devices: vec![Device {
                name: "a \"quoted\" name".to_owned(),
                kind: Kind::Cpu,
                api: "1.1.0".to_owned(),
                refused: Some("old".to_owned()),
            }],
            validation_layer: true,
            notes: vec!["first".to_owned()],
        };
        let line = serde_json::to_string(&vulkan).unwrap();
        assert_eq!(line.lines().count(), 1, "the answer is one line: {line}");
        assert_eq!(serde_json::from_str::<Vulkan>(&line).unwrap(), vulkan);
    }
}
