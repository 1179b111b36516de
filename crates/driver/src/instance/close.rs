//! The end of an instance. The first instance with devices is not destroyed.
//!
//! When the last instance is destroyed, the loader unmaps the drivers. Some drivers can be mapped only a few times:
//! glibc does not take back all of the static TLS that NVIDIA's driver needs, so a process that opened and closed some
//! thirty devices found no driver any more.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::Instance;

/// Whether an instance with devices was left open for the rest of the process, which keeps the drivers mapped.
static DRIVERS_STAY_LOADED: AtomicBool = AtomicBool::new(false);

impl Drop for Instance {
    fn drop(&mut self) {
        if self.process.is_forked() {
            // The instance belongs to the parent process, and the layer may write messages until the child ends.
            mem::forget(self.messages.take());
            return;
        }
        if let Some((table, messenger)) = self.debug.take() {
            // SAFETY: created from this instance and destroyed once.
            unsafe { table.destroy_debug_utils_messenger(messenger, None) };
        }
        if self.is_adopted {
            return;
        }
        if self.keeps_drivers_loaded() {
            // The loader stays mapped too, and so do the `messages` that the layer may write to.
            return mem::forget((self.entry.clone(), self.messages.take()));
        }
        // SAFETY: every device holds an `Arc` of its instance, so none is left.
        unsafe { self.raw.destroy_instance(None) };
    }
}

impl Instance {
    /// Whether this is the first instance with devices that ends.
    fn keeps_drivers_loaded(&self) -> bool {
        if DRIVERS_STAY_LOADED.load(Relaxed) {
            return false;
        }
        // SAFETY: `raw` is a live instance, owned by `self`.
        let handles = unsafe { self.raw.enumerate_physical_devices() };
        handles.is_ok_and(|handles| !handles.is_empty()) && !DRIVERS_STAY_LOADED.swap(true, Relaxed)
    }
}
