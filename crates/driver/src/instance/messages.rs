//! The validation layer's messages, and the setting that makes it check the accesses of shaders.

use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::fmt;

use ash::vk;

use super::VALIDATION_LAYER;
use crate::lock::Mutex;
use crate::sync::log_in_drop;

/// The setting that makes synchronisation validation check the accesses of shaders. Layers since the middle of 2024
/// need it.
///
/// Every layer receives the setting, since the version in a manifest may differ from the layer's own. Older layers
/// check these accesses anyway and report the setting as an unknown structure; [`is_about_settings`] recognises that
/// message.
const SHADER_ACCESSES: &CStr = c"syncval_shader_accesses_heuristic";

/// One message of the validation layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationMessage {
    /// The rule broken, such as `VUID-vkCmdDispatch-None-08114`; empty where the layer names none.
    pub id: String,
    /// The message.
    pub text: String,
}

impl fmt::Display for ValidationMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.id, self.text)
    }
}

/// The messages of the validation layer so far. They are boxed in the instance, because the layer holds their address.
pub(super) type Messages = Mutex<Vec<ValidationMessage>>;

/// The structure that turns on the setting [`SHADER_ACCESSES`].
pub(super) fn shader_accesses(on: &vk::Bool32) -> vk::LayerSettingEXT<'_> {
    let setting = vk::LayerSettingEXT::default()
        .layer_name(VALIDATION_LAYER)
        .setting_name(SHADER_ACCESSES)
        .ty(vk::LayerSettingTypeEXT::BOOL32);
    // Ash's method `values` is not used: it sets the count of bytes where Vulkan expects the count of values.
    vk::LayerSettingEXT { value_count: 1, p_values: std::ptr::from_ref(on).cast(), ..setting }
}

/// Asks for warnings and errors about validation and performance, and not for the loader's general messages.
pub(super) fn messenger_info(messages: &Messages) -> vk::DebugUtilsMessengerCreateInfoEXT<'_> {
    use vk::{DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Type};
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(Severity::WARNING | Severity::ERROR)
        .message_type(Type::VALIDATION | Type::PERFORMANCE)
        .pfn_user_callback(Some(on_message))
        .user_data(std::ptr::from_ref(messages).cast_mut().cast())
}

/// Called by the validation layer, on the thread that made the offending call.
///
/// # Safety
///
/// `user` points to live [`Messages`], and `data` to a valid structure, for the length of the call.
unsafe extern "system" fn on_message(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _type: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer passes the `Messages` given to `messenger_info`, in a box that outlives the messenger and the
    // instance; they are shared, and a mutex guards them.
    let messages = unsafe { &*user.cast::<Messages>() };
    // SAFETY: the layer passes a valid structure for the length of this call.
    let data = unsafe { &*data };
    // SAFETY: the structure's texts are NUL-terminated or null, for the length of this call.
    let id = unsafe { data.message_id_name_as_c_str() }.map_or(Cow::Borrowed(""), CStr::to_string_lossy);
    // SAFETY: the structure's texts are NUL-terminated or null, for the length of this call.
    let text = unsafe { data.message_as_c_str() }.map_or(Cow::Borrowed(""), CStr::to_string_lossy);
    if is_about_settings(&id, &text) {
        return vk::FALSE;
    }
    log_in_drop(|| log::error!(target: "vkarray::validation", "{id}: {text}"));
    let message = ValidationMessage { id: id.into_owned(), text: text.into_owned() };
    messages.lock().push(message);
    vk::FALSE
}

/// Whether a message only reports the structure of [`SHADER_ACCESSES`] as unknown.
fn is_about_settings(id: &str, text: &str) -> bool {
    let structure = vk::StructureType::LAYER_SETTINGS_CREATE_INFO_EXT.as_raw();
    id == "VUID-VkInstanceCreateInfo-pNext-pNext" && text.contains(&format!("unknown VkStructureType ({structure})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_message_about_the_own_setting_is_ignored() {
        let text =
            |structure| format!("pNext chain includes a structure with unknown VkStructureType ({structure}); …");
        let id = "VUID-VkInstanceCreateInfo-pNext-pNext";
        assert!(is_about_settings(id, &text(1_000_496_000)));
        assert!(!is_about_settings(id, &text(1_000_496_001)));
        assert!(!is_about_settings("VUID-VkDeviceCreateInfo-pNext-pNext", &text(1_000_496_000)));
        assert!(!is_about_settings(id, "1000496000"));
    }
}
