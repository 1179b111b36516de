//! The budget of each heap: how much of it this process may use, and how much it uses. The driver is asked each time,
//! since other processes change the budgets.

use ash::vk;

use super::LogicalDevice;

/// The driver's estimates for one heap, in bytes.
///
/// ```
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// for heap in device.heap_budgets().unwrap_or_default() {
///     println!("{} of {} bytes used", heap.usage, heap.budget);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapBudget {
    /// How much this process may use before allocations fail or slow down.
    pub budget: u64,
    /// How much this process uses, including the driver's own memory.
    pub usage: u64,
}

impl LogicalDevice {
    /// The budget of each heap, in the order of [`DeviceInfo::memory_heaps`](crate::DeviceInfo::memory_heaps); `None`
    /// if the driver does not report budgets (`VK_EXT_memory_budget`). Never blocks.
    #[doc(alias = "vkGetPhysicalDeviceMemoryProperties2")]
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
