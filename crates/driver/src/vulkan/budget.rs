//! How much of each heap this process may use, and does. Asked of the driver each time: other processes change it.
//!
//! Plain numbers; what follows from them is for the allocator crate.

use ash::vk;

use super::LogicalDevice;

/// What the driver says of one heap. Estimates, in bytes.
///
/// ```
/// use vkarray::prelude::*;
///
/// # fn main() -> vkarray::Result<()> {
/// let ctx = Context::open_default()?;
/// for heap in ctx.device().heap_budgets().unwrap_or_default() {
///     println!("{} of {} bytes used", heap.usage, heap.budget);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapBudget {
    /// What this process may use before allocations fail or slow down.
    pub budget: u64,
    /// What this process uses, with what the driver takes for itself.
    pub usage: u64,
}

impl LogicalDevice {
    /// The budget of each heap, in the order of [`DeviceInfo::memory_heaps`](crate::DeviceInfo::memory_heaps);
    /// nothing where the driver does not tell (`VK_EXT_memory_budget`). Never blocks.
    #[doc(alias = "vkGetPhysicalDeviceMemoryProperties2")]
    #[must_use]
    pub fn heap_budgets(&self) -> Option<Vec<HeapBudget>> {
        if !self.plan().extensions.iter().any(|name| name == "VK_EXT_memory_budget") {
            return None;
        }
        let mut budgets = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budgets);
        let physical = self.physical();
        // SAFETY: the physical device is of this live instance, and the device has the extension of the chained struct.
        unsafe { physical.instance().raw().get_physical_device_memory_properties2(physical.raw(), &mut memory) };
        let n_heaps = memory.memory_properties.memory_heap_count as usize;
        let heaps = budgets.heap_budget.iter().zip(&budgets.heap_usage).take(n_heaps);
        Some(heaps.map(|(&budget, &usage)| HeapBudget { budget, usage }).collect())
    }
}
