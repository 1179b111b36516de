//! [`LimitProfile`]: the limits and features of a small device, to which a larger device is restricted. Pure, except
//! for reading a file.
//!
//! `Instance::devices` reduces the limits of the devices that it lists, so every check of this library compares with
//! the smaller limits before the driver is called.

use super::{DeviceInfo, DeviceLimits, Features, environment};
use crate::error::{Error, Result};

/// The environment variable with the profile of instances that choose none.
const VARIABLE: &str = "VKARRAY_LIMITS";

/// The limits that the profile Roadmap 2022 of Vulkan 1.3 requires. Where the profile requires none, the limits of
/// Vulkan itself.
const MOBILE: DeviceLimits = DeviceLimits {
    max_compute_work_group_count: [65535; 3],
    max_compute_work_group_size: [256, 256, 64],
    max_compute_work_group_invocations: 256,
    max_compute_shared_memory_size: 16384,
    max_push_constants_size: 128,
    max_storage_buffer_range: 1 << 27,
    max_uniform_buffer_range: 65536,
    max_bound_descriptor_sets: 4,
    max_per_stage_descriptor_storage_buffers: 30,
    max_per_stage_descriptor_uniform_buffers: 15,
    min_storage_buffer_offset_alignment: 256,
    min_uniform_buffer_offset_alignment: 256,
    non_coherent_atom_size: 256,
    max_memory_allocation_size: 1 << 30,
    max_memory_allocation_count: 4096,
    max_buffer_size: 1 << 30,
    ..DeviceLimits::OPEN
};

/// The default limits of WebGPU. WebGPU has no push constants, so their limit is the one of [`MOBILE`].
const WEBGPU: DeviceLimits = DeviceLimits {
    max_per_stage_descriptor_storage_buffers: 8,
    max_per_stage_descriptor_uniform_buffers: 12,
    max_buffer_size: 1 << 28,
    ..MOBILE
};

/// The limits of SwiftShader 5.0, from its snapshot in `tests/snapshots/`.
const SWIFTSHADER: DeviceLimits = DeviceLimits {
    max_compute_shared_memory_size: 32768,
    max_storage_buffer_range: 1 << 30,
    max_push_descriptors: 0,
    ..MOBILE
};

/// The largest `nonCoherentAtomSize` that Vulkan allows. Memory is cut at multiples of the atom size, so that no two
/// blocks share an atom.
#[cfg(feature = "limit-files")]
const MAX_ATOM: u64 = 256;

/// The profiles that have a name.
const NAMED: [(&str, DeviceLimits); 3] = [("mobile", MOBILE), ("webgpu", WEBGPU), ("swiftshader", SWIFTSHADER)];

/// The limits of a small device. An instance with a profile lists devices whose limits are no larger. So a kernel, an
/// array or a launch that the small device would refuse is refused on a larger device, with the same error.
///
/// A profile from a file can also switch off features and subgroup operations. Extensions and memory stay those of the
/// device.
///
/// ```
/// use vkarray_driver::{Instance, LimitProfile};
///
/// # fn main() -> Result<(), vkarray_driver::Error> {
/// let instance = Instance::builder().limits(LimitProfile::parse("mobile")?).build()?;
/// for device in instance.devices()? {
///     assert!(device.info().limits.max_compute_shared_memory_size <= 16384);
/// }
/// assert!(LimitProfile::parse("fridge").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LimitProfile {
    limits: DeviceLimits,
    features: Features,
    /// `VkSubgroupFeatureFlags`, as bits.
    subgroup_operations: u32,
}

impl LimitProfile {
    const OPEN: Self = Self { limits: DeviceLimits::OPEN, features: Features::ALL, subgroup_operations: u32::MAX };

    /// Finds the profile of the name `mobile`, `webgpu` or `swiftshader`, or reads it from a file whose name ends in
    /// `.json`.
    ///
    /// A file has an object with some of the fields of [`DeviceLimits`]. Or it has an object with fields `limits`, `features`
    /// and `subgroup`, each with some of the fields of [`DeviceLimits`], [`Features`] and [`Subgroup`](super::Subgroup), in
    /// the form that `vkarray devices --json` prints: `{"features": {"shader_float16": false}, "subgroup":
    /// {"operations": 0}}`. Of the subgroup fields only the operations are reduced. Files need the feature
    /// `limit-files`.
    ///
    /// # Errors
    ///
    /// [`Error::BadLimits`] if there is no such name or file, or if the file has an unknown field or an impossible
    /// number.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_from(text, "the program")
    }

    /// Does what [`LimitProfile::parse`] does, and names `origin`, the place of the text, in the error.
    fn parse_from(text: &str, origin: &'static str) -> Result<Self> {
        let text = text.trim();
        let bad = |reason| Error::BadLimits { text: text.to_owned(), origin, reason };
        if let Some((_, limits)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(Self { limits: limits.clone(), ..Self::OPEN });
        }
        if !text.ends_with(".json") {
            return Err(bad("it must be mobile, webgpu, swiftshader or a file that ends in .json".to_owned()));
        }
        let file = std::fs::read_to_string(text).map_err(|error| bad(error.to_string()))?;
        from_json(&file).map_err(bad)
    }

    /// The profile that `VKARRAY_LIMITS` selects, if it is set and not empty.
    ///
    /// # Errors
    ///
    /// [`Error::BadLimits`] if the variable names no profile and no file, or if the file has an unknown field or an
    /// impossible number.
    pub fn from_environment() -> Result<Option<Self>> {
        environment::text(VARIABLE).map(|text| Self::parse_from(&text, VARIABLE)).transpose()
    }

    /// Reduces the limits, features and subgroup operations in the description of a device.
    pub(super) fn apply(&self, device: &mut DeviceInfo) {
        device.limits = self.reduce(&device.limits);
        device.features = device.features.reduced(&self.features);
        device.subgroup.operations &= self.subgroup_operations;
    }

    /// The limits of a device under this profile: for each limit, the stricter value of the two.
    ///
    /// No profile changes the alignment of imported host memory, the alignment of robust accesses or the length of a
    /// timestamp's tick, which are properties of the device.
    #[must_use]
    pub fn reduce(&self, device: &DeviceLimits) -> DeviceLimits {
        device.stricter(&self.limits)
    }
}

/// Reads a profile from JSON. A limit that the text does not name stays open.
#[cfg(feature = "limit-files")]
fn from_json(text: &str) -> std::result::Result<LimitProfile, String> {
    use serde_json::{Value, from_value, to_value};

    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let nothing = Value::Object(serde_json::Map::new());
    let parts = ["limits", "features", "subgroup"].map(|part| value.get(part));
    let is_flat = parts.iter().all(Option::is_none);
    let limits = parts[0].unwrap_or(if is_flat { &value } else { &nothing });
    let mut features = to_value(Features::ALL).map_err(|error| error.to_string())?;
    for (name, flag) in parts[1].unwrap_or(&nothing).as_object().ok_or("`features` is no object")? {
        features.get_mut(name).ok_or_else(|| format!("`{name}` is not a feature"))?.clone_from(flag);
    }
    let operations = parts[2].and_then(|subgroup| subgroup.get("operations")).cloned().unwrap_or(u32::MAX.into());
    Ok(LimitProfile {
        limits: limits_of(limits)?,
        features: from_value(features).map_err(|error| error.to_string())?,
        subgroup_operations: from_value(operations).map_err(|error| format!("`operations`: {error}"))?,
    })
}

#[cfg(feature = "limit-files")]
fn limits_of(value: &serde_json::Value) -> std::result::Result<DeviceLimits, String> {
    let object = value.as_object().ok_or("it has no object of limits")?;
    let mut limits = serde_json::to_value(DeviceLimits::OPEN).map_err(|error| error.to_string())?;
    for (name, number) in object {
        let known = limits.get_mut(name).ok_or_else(|| format!("`{name}` is not a limit"))?;
        let is_zero = *number == 0 || number.as_array().is_some_and(|axes| axes.iter().any(|axis| *axis == 0));
        if is_zero && name.starts_with("max_") && name != "max_push_descriptors" {
            return Err(format!("`{name}` is zero, with which no device is usable"));
        }
        let is_alignment = name.starts_with("min_") || name == "non_coherent_atom_size";
        if is_alignment && !number.as_u64().is_some_and(|bytes| bytes == 0 || bytes.is_power_of_two()) {
            return Err(format!("`{name}` is {number}, and alignments are powers of two"));
        }
        if name == "non_coherent_atom_size" && number.as_u64().is_some_and(|bytes| bytes > MAX_ATOM) {
            return Err(format!("`{name}` is {number}, and no device has more than {MAX_ATOM}"));
        }
        known.clone_from(number);
    }
    serde_json::from_value(limits).map_err(|error| error.to_string())
}

#[cfg(not(feature = "limit-files"))]
fn from_json(_: &str) -> std::result::Result<LimitProfile, String> {
    Err("this program was built without the feature `limit-files` of vkarray".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::machine;

    fn profile(name: &str) -> LimitProfile {
        LimitProfile::parse(name).unwrap()
    }

    #[test]
    fn a_big_device_has_the_limits_of_the_profile() {
        let h100 = machine("h100_580.159").limits;
        for (name, limits) in NAMED {
            let reduced = profile(name).reduce(&h100);
            // A limit stays the device's where the H100 is stricter or the profile leaves it open.
            let expected = DeviceLimits {
                max_push_descriptors: limits.max_push_descriptors.min(h100.max_push_descriptors),
                min_imported_host_pointer_alignment: h100.min_imported_host_pointer_alignment,
                robust_storage_buffer_access_size_alignment: h100.robust_storage_buffer_access_size_alignment,
                timestamp_period_ns: h100.timestamp_period_ns,
                ..limits
            };
            assert_eq!(reduced, expected, "{name}");
        }
    }

    #[test]
    fn no_limit_grows_and_reducing_again_changes_nothing() {
        let limits = ["h100_580.159", "lavapipe_22.3.6", "swiftshader_5.0.0"].map(|name| machine(name).limits);
        for of in &limits {
            for (name, _) in NAMED {
                let reduced = profile(name).reduce(of);
                assert!(reduced.max_compute_shared_memory_size <= of.max_compute_shared_memory_size, "{name}");
                assert!(reduced.max_buffer_size <= of.max_buffer_size, "{name}");
                assert!(reduced.non_coherent_atom_size >= of.non_coherent_atom_size, "{name}");
                assert_eq!(profile(name).reduce(&reduced), reduced, "{name}");
            }
        }
    }

    #[test]
    fn the_profile_swiftshader_is_the_recorded_device() {
        let recorded = machine("swiftshader_5.0.0").limits;
        assert_eq!(profile("swiftshader").reduce(&recorded), recorded);
    }

    #[cfg(feature = "limit-files")]
    #[test]
    fn files_have_some_limits_or_a_snapshot() {
        let small = from_json(r#"{"max_compute_shared_memory_size": 4096}"#).unwrap();
        let limits = DeviceLimits { max_compute_shared_memory_size: 4096, ..DeviceLimits::OPEN };
        assert_eq!(small, LimitProfile { limits, ..LimitProfile::OPEN });
        let swiftshader = machine("swiftshader_5.0.0");
        let snapshot = from_json(&serde_json::to_string(&swiftshader).unwrap()).unwrap();
        let (features, operations) = (swiftshader.features, swiftshader.subgroup.operations);
        assert_eq!(
            snapshot,
            LimitProfile { limits: swiftshader.limits.clone(), features, subgroup_operations: operations }
        );
        // The text of the file, and the start of the reason in the error.
        for (text, reason) in [
            ("{", "EOF while parsing"),
            ("[]", "it has no object of limits"),
            (r#"{"features": []}"#, "`features` is no object"),
            (r#"{"features": {"shader_fun": true}}"#, "`shader_fun` is not a feature"),
            (r#"{"features": {"shader_int8": 1}}"#, "invalid type"),
            (r#"{"subgroup": {"operations": -1}}"#, "`operations`: invalid value"),
            (r#"{"max_fun": 1}"#, "`max_fun` is not a limit"),
            (r#"{"max_buffer_size": 0}"#, "`max_buffer_size` is zero"),
            (r#"{"max_compute_work_group_count": [1, 0, 1]}"#, "`max_compute_work_group_count` is zero"),
            (r#"{"max_buffer_size": -1}"#, "invalid value"),
            (r#"{"max_push_constants_size": 4294967296}"#, "invalid value"),
            (r#"{"non_coherent_atom_size": 48}"#, "`non_coherent_atom_size` is 48, and alignments are powers of two"),
            (r#"{"non_coherent_atom_size": 512}"#, "`non_coherent_atom_size` is 512, and no device has more than 256"),
        ] {
            let error = from_json(text).unwrap_err();
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }

    #[cfg(feature = "limit-files")]
    #[test]
    fn features_are_switched_off_with_those_that_need_them() {
        let mut device = machine("h200_580.159_0");
        let (limits, before) = (device.limits.clone(), device.features);
        assert!(before.variable_pointers && before.robust_buffer_access_2 && device.subgroup.operations & 5 == 5);
        let off =
            r#"{"shader_float16": false, "robust_buffer_access": false, "variable_pointers_storage_buffer": false}"#;
        let text = format!(r#"{{"features": {off}, "subgroup": {{"operations": 1}}}}"#);
        from_json(&text).unwrap().apply(&mut device);
        let expected = Features {
            shader_float16: false,
            robust_buffer_access: false,
            robust_buffer_access_2: false,
            variable_pointers_storage_buffer: false,
            variable_pointers: false,
            ..before
        };
        assert_eq!((device.features, device.subgroup.operations, device.limits), (expected, 1, limits));
        // A profile cannot switch a feature on.
        let mut small = machine("swiftshader_5.0.0");
        let before = (small.features, small.subgroup.operations);
        LimitProfile::OPEN.apply(&mut small);
        assert_eq!((small.features, small.subgroup.operations), before);
    }

    #[test]
    fn an_unknown_profile_is_named() {
        let error = LimitProfile::parse("fridge").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"fridge\" (from the program) is not a limit profile: it must be mobile, webgpu, swiftshader or a file that ends in .json"
        );
        assert!(
            LimitProfile::parse("no/such.json")
                .unwrap_err()
                .to_string()
                .starts_with("\"no/such.json\" (from the program) is not")
        );
    }
}
