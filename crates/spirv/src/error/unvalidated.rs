//! Why a module of SPIR-V has not passed Khronos's validator: [`Unvalidated`], which [`Error::Validator`] carries.
//!
//! `binary/validator.rs` makes it.
//!
//! [`Error::Validator`]: crate::Error::Validator

use std::io;

/// Why Khronos's validator has not passed a module of SPIR-V.
///
/// ```
/// use vkarray_spirv::Unvalidated;
///
/// let invalid = Unvalidated::Invalid { reason: "line 12: OpFAdd takes floats".to_owned() };
/// assert_eq!(invalid.to_string(), "it is not valid SPIR-V for Vulkan 1.3: line 12: OpFAdd takes floats");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum Unvalidated {
    /// The module breaks a rule.
    #[error("it is not valid SPIR-V for Vulkan 1.3: {reason}")]
    Invalid { reason: String },
    /// The module uses what this validator does not know.
    #[error(
        "{program} is too old for it ({reason}); install a newer one, name that in VKARRAY_SPIRV_VAL, or answer for the \
         module yourself with the unsafe `Source::spirv_unchecked`"
    )]
    TooOld { program: String, reason: String },
    /// There is no validator.
    #[error(
        "{program} cannot be started ({reason}), and without it no SPIR-V is given to a driver; install it (Debian, Ubuntu, Fedora, \
         Arch, Homebrew: `spirv-tools`; elsewhere the Vulkan SDK), name it in VKARRAY_SPIRV_VAL, or answer for the module \
         yourself with the unsafe `Source::spirv_unchecked`"
    )]
    Missing { program: String, reason: io::Error },
    /// The validator did not answer.
    #[error("{program} gave no answer: {reason}")]
    Failed { program: String, reason: String },
}
