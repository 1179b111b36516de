//! [`Profile`]: a way in which every test runs.

use std::fmt;
use std::str::FromStr;

use vkarray::device::LimitProfile;

/// A way in which the tests run on a device. Each test is a trial of its own under each profile.
///
/// ```
/// use vkarray_test::Profile;
///
/// assert_eq!("sanitized".parse(), Ok(Profile::Sanitized));
/// assert_eq!(Profile::GpuAv.to_string(), "gpu-av");
/// assert_eq!("limits-mobile".parse(), Ok(Profile::Limits("mobile".to_owned())));
/// assert!("sanitised".parse::<Profile>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profile {
    /// As in a program. Trials are named after the test and the device alone.
    Plain,
    /// Every kernel is built with the checks of the sanitizer. Names of trials end in `sanitized`.
    Sanitized,
    /// The validation layer adds checks of its own to every kernel (GPU-assisted validation), as a second opinion to those of
    /// the sanitizer. A test is skipped where the layer says that the device does not allow it. Names of trials end in
    /// `gpu-av`.
    GpuAv,
    /// The device has the limits of a smaller one: see [`LimitProfile::parse`]. Names of trials end in `limits-` and
    /// this name.
    Limits(String),
}

impl Profile {
    /// The limits of the profile, if it has limits.
    pub(crate) fn limits(&self) -> Result<Option<LimitProfile>, vkarray::device::Error> {
        match self {
            Self::Limits(text) => LimitProfile::parse(text).map(Some),
            Self::Plain | Self::Sanitized | Self::GpuAv => Ok(None),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::Sanitized => f.write_str("sanitized"),
            Self::GpuAv => f.write_str("gpu-av"),
            Self::Limits(text) => write!(f, "limits-{text}"),
        }
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let profile = match (text, text.strip_prefix("limits-")) {
            ("plain", _) => Self::Plain,
            ("sanitized", _) => Self::Sanitized,
            ("gpu-av", _) => Self::GpuAv,
            (_, Some(limits)) => Self::Limits(limits.to_owned()),
            _ => return Err(format!("`{text}` is no profile: there are plain, sanitized, gpu-av and limits-…")),
        };
        profile.limits().map_err(|error| error.to_string())?;
        Ok(profile)
    }
}
