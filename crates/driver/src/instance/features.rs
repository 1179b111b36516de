//! [`Features`], and the structures of Vulkan that hold them. One table says in which structure each feature is read
//! and enabled.
//!
//! `query.rs` reads the structures from a driver; `vulkan/create.rs` passes them to a new device.

use std::ptr;

use ash::vk;
use serde::{Deserialize, Serialize};

use super::plan::{BFLOAT16, COOPERATIVE_MATRIX, SUBGROUP_ROTATE};

/// `VkPhysicalDeviceShaderBfloat16FeaturesKHR`, which `ash` 0.38 does not have.
#[repr(C)]
struct Bfloat16Features {
    s_type: vk::StructureType,
    p_next: *mut std::ffi::c_void,
    shader_bfloat16_type: vk::Bool32,
    shader_bfloat16_dot_product: vk::Bool32,
    shader_bfloat16_cooperative_matrix: vk::Bool32,
}

impl Default for Bfloat16Features {
    fn default() -> Self {
        Self {
            s_type: vk::StructureType::from_raw(1_000_141_000),
            p_next: ptr::null_mut(),
            shader_bfloat16_type: vk::FALSE,
            shader_bfloat16_dot_product: vk::FALSE,
            shader_bfloat16_cooperative_matrix: vk::FALSE,
        }
    }
}

// SAFETY: Vulkan lets the structure of this type number extend `VkPhysicalDeviceFeatures2`, and the fields are the ones of
// Vulkan in Vulkan's order and layout; the first two are the ones of every structure in a chain.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for Bfloat16Features {}

/// Names the type and the extension of each structure that belongs to an extension. The others belong to Vulkan 1.3.
macro_rules! structures_of_extensions {
    ($($structure:ident: $type:ty = $extension:expr,)*) => {
        /// The structures of Vulkan that hold the features of the table.
        #[derive(Default)]
        pub(crate) struct FeatureStructs {
            core: vk::PhysicalDeviceFeatures,
            v11: vk::PhysicalDeviceVulkan11Features<'static>,
            v12: vk::PhysicalDeviceVulkan12Features<'static>,
            v13: vk::PhysicalDeviceVulkan13Features<'static>,
            $($structure: $type,)*
        }

        /// The extensions of the table.
        pub(super) const EXTENSIONS: &[&str] = &[$($extension),*];

        impl FeatureStructs {
            /// The chain of the structures that belong to Vulkan 1.3 or to an extension that the device has.
            pub(crate) fn chain(&mut self, has: impl Fn(&str) -> bool) -> vk::PhysicalDeviceFeatures2<'_> {
                let mut chain = vk::PhysicalDeviceFeatures2::default()
                    .features(self.core)
                    .push_next(&mut self.v11)
                    .push_next(&mut self.v12)
                    .push_next(&mut self.v13);
                $(if has($extension) {
                    chain = chain.push_next(&mut self.$structure);
                })*
                chain
            }
        }

        /// The extension that a structure belongs to; `None` for a structure of Vulkan 1.3.
        fn extension_of(structure: &str) -> Option<&'static str> {
            match structure {
                $(name if name == stringify!($structure) => Some($extension),)*
                _ => None,
            }
        }
    };
}

structures_of_extensions! {
    cooperative_matrix: vk::PhysicalDeviceCooperativeMatrixFeaturesKHR<'static> = COOPERATIVE_MATRIX,
    robustness: vk::PhysicalDeviceRobustness2FeaturesEXT<'static> = "VK_EXT_robustness2",
    pipelines: vk::PhysicalDevicePipelineRobustnessFeaturesEXT<'static> = "VK_EXT_pipeline_robustness",
    atomic_float: vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT<'static> = "VK_EXT_shader_atomic_float",
    atomic_float_2: vk::PhysicalDeviceShaderAtomicFloat2FeaturesEXT<'static> = "VK_EXT_shader_atomic_float2",
    shared_layout: vk::PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR<'static>
        = "VK_KHR_workgroup_memory_explicit_layout",
    rotate: vk::PhysicalDeviceShaderSubgroupRotateFeaturesKHR<'static> = SUBGROUP_ROTATE,
    clock: vk::PhysicalDeviceShaderClockFeaturesKHR<'static> = "VK_KHR_shader_clock",
    bfloat16: Bfloat16Features = BFLOAT16,
}

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident: $structure:ident.$field:ident,)*) => {
        /// The features that the runtime or its kernels may use.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)] // A snapshot may be older than a feature.
        pub struct Features {
            $($(#[$doc])* pub $name: bool,)*
        }

        impl Features {
            /// The features of a device that has the extensions. `fill` passes the chain of structures to the driver,
            /// which fills it.
            pub(super) fn read(
                has: impl Fn(&str) -> bool,
                fill: impl FnOnce(&mut vk::PhysicalDeviceFeatures2<'_>),
            ) -> Self {
                let mut from = FeatureStructs::default();
                let mut chain = from.chain(has);
                fill(&mut chain);
                from.core = chain.features;
                Self { $($name: from.$structure.$field != 0,)* }
            }

            /// The structures that enable the features, with `maintenance4`, which every device of Vulkan 1.3 has.
            pub(crate) fn structs(&self) -> FeatureStructs {
                let mut to = FeatureStructs::default();
                $(to.$structure.$field = self.$name.into();)*
                to.v13.maintenance4 = vk::TRUE;
                to
            }

            /// The name of the first feature that is set here and not set in `available`.
            ///
            /// ```
            /// use vkarray_driver::Features;
            ///
            /// let wanted = Features { shader_float16: true, ..Features::default() };
            /// assert_eq!(wanted.missing_from(&Features::default()), Some("shader_float16"));
            /// assert_eq!(wanted.missing_from(&wanted), None);
            /// ```
            pub fn missing_from(&self, available: &Self) -> Option<&'static str> {
                [$((stringify!($name), self.$name && !available.$name)),*]
                    .into_iter()
                    .find_map(|(name, is_missing)| is_missing.then_some(name))
            }

            /// The features that belong to Vulkan 1.3 or to an enabled extension.
            pub(super) fn enabled_with(&self, enabled: impl Fn(&str) -> bool) -> Self {
                let of = |structure| extension_of(structure).is_none_or(&enabled);
                Self { $($name: self.$name && of(stringify!($structure)),)* }
            }

            pub(super) const ALL: Self = Self { $($name: true,)* };

            /// The features that are set in both `self` and `other`. A feature that depends on another feature is only
            /// set if that one is set too.
            pub(super) fn reduced(&self, other: &Self) -> Self {
                let both = Self { $($name: self.$name && other.$name,)* };
                Self {
                    robust_buffer_access_2: both.robust_buffer_access_2 && both.robust_buffer_access,
                    variable_pointers: both.variable_pointers && both.variable_pointers_storage_buffer,
                    cooperative_matrix_robust_buffers: both.cooperative_matrix_robust_buffers && both.cooperative_matrix,
                    ..both
                }
            }
        }
    };
}

features! {
    /// Timeline semaphores. Required.
    timeline_semaphore: v12.timeline_semaphore,
    /// `vkQueueSubmit2` and its barriers. Required.
    synchronization2: v13.synchronization2,
    /// Out-of-range buffer accesses are defined.
    robust_buffer_access: core.robust_buffer_access,
    /// Out-of-range buffer accesses read zero and write nothing, by the range that is bound.
    robust_buffer_access_2: robustness.robust_buffer_access2,
    /// Robust access can be chosen for each pipeline.
    pipeline_robustness: pipelines.pipeline_robustness,
    /// `f64` in shaders.
    shader_float64: core.shader_float64,
    /// `i64` and `u64` in shaders.
    shader_int64: core.shader_int64,
    /// 16-bit integers in shaders.
    shader_int16: core.shader_int16,
    /// `f16` arithmetic in shaders.
    shader_float16: v12.shader_float16,
    /// 8-bit integers in shaders.
    shader_int8: v12.shader_int8,
    /// 16-bit elements in storage buffers.
    storage_buffer_16bit: v11.storage_buffer16_bit_access,
    /// 16-bit elements in uniform buffers.
    uniform_buffer_16bit: v11.uniform_and_storage_buffer16_bit_access,
    /// 16-bit push constants.
    push_constant_16bit: v11.storage_push_constant16,
    /// 8-bit elements in storage buffers.
    storage_buffer_8bit: v12.storage_buffer8_bit_access,
    /// 8-bit elements in uniform buffers.
    uniform_buffer_8bit: v12.uniform_and_storage_buffer8_bit_access,
    /// 8-bit push constants.
    push_constant_8bit: v12.storage_push_constant8,
    /// Pointers into one storage buffer that are chosen at run time.
    variable_pointers_storage_buffer: v11.variable_pointers_storage_buffer,
    /// Pointers that are chosen at run time.
    variable_pointers: v11.variable_pointers,
    /// Arrays of storage buffers indexed by a computed number (`shaderStorageBufferArrayDynamicIndexing`).
    storage_arrays_dynamic: core.shader_storage_buffer_array_dynamic_indexing,
    /// Arrays of storage buffers indexed by a number that differs between invocations
    /// (`shaderStorageBufferArrayNonUniformIndexing`).
    storage_arrays_non_uniform: v12.shader_storage_buffer_array_non_uniform_indexing,
    /// Arrays of uniform buffers indexed by a computed number (`shaderUniformBufferArrayDynamicIndexing`).
    uniform_arrays_dynamic: core.shader_uniform_buffer_array_dynamic_indexing,
    /// Arrays of uniform buffers indexed by a number that differs between invocations
    /// (`shaderUniformBufferArrayNonUniformIndexing`).
    uniform_arrays_non_uniform: v12.shader_uniform_buffer_array_non_uniform_indexing,
    /// 64-bit integer atomics in buffers.
    buffer_int64_atomics: v12.shader_buffer_int64_atomics,
    /// 64-bit integer atomics in workgroup memory.
    shared_int64_atomics: v12.shader_shared_int64_atomics,
    /// `f32` in buffers read, written and exchanged atomically.
    buffer_float32_atomics: atomic_float.shader_buffer_float32_atomics,
    /// `f32` in buffers added to atomically.
    buffer_float32_atomic_add: atomic_float.shader_buffer_float32_atomic_add,
    /// Atomic minimum and maximum of `f32` in buffers.
    buffer_float32_atomic_min_max: atomic_float_2.shader_buffer_float32_atomic_min_max,
    /// `f64` in buffers read, written and exchanged atomically.
    buffer_float64_atomics: atomic_float.shader_buffer_float64_atomics,
    /// `f64` in buffers added to atomically.
    buffer_float64_atomic_add: atomic_float.shader_buffer_float64_atomic_add,
    /// Atomic minimum and maximum of `f64` in buffers.
    buffer_float64_atomic_min_max: atomic_float_2.shader_buffer_float64_atomic_min_max,
    /// `f16` in buffers read, written and exchanged atomically.
    buffer_float16_atomics: atomic_float_2.shader_buffer_float16_atomics,
    /// `f16` in buffers added to atomically.
    buffer_float16_atomic_add: atomic_float_2.shader_buffer_float16_atomic_add,
    /// Atomic minimum and maximum of `f16` in buffers.
    buffer_float16_atomic_min_max: atomic_float_2.shader_buffer_float16_atomic_min_max,
    /// `f32` in workgroup memory read, written and exchanged atomically.
    shared_float32_atomics: atomic_float.shader_shared_float32_atomics,
    /// `f32` in workgroup memory added to atomically.
    shared_float32_atomic_add: atomic_float.shader_shared_float32_atomic_add,
    /// Atomic minimum and maximum of `f32` in workgroup memory.
    shared_float32_atomic_min_max: atomic_float_2.shader_shared_float32_atomic_min_max,
    /// `f64` in workgroup memory read, written and exchanged atomically.
    shared_float64_atomics: atomic_float.shader_shared_float64_atomics,
    /// `f64` in workgroup memory added to atomically.
    shared_float64_atomic_add: atomic_float.shader_shared_float64_atomic_add,
    /// Atomic minimum and maximum of `f64` in workgroup memory.
    shared_float64_atomic_min_max: atomic_float_2.shader_shared_float64_atomic_min_max,
    /// `f16` in workgroup memory read, written and exchanged atomically.
    shared_float16_atomics: atomic_float_2.shader_shared_float16_atomics,
    /// `f16` in workgroup memory added to atomically.
    shared_float16_atomic_add: atomic_float_2.shader_shared_float16_atomic_add,
    /// Atomic minimum and maximum of `f16` in workgroup memory.
    shared_float16_atomic_min_max: atomic_float_2.shader_shared_float16_atomic_min_max,
    /// Workgroup memory whose layout the shader declares (`VK_KHR_workgroup_memory_explicit_layout`).
    shared_layout: shared_layout.workgroup_memory_explicit_layout,
    /// Workgroup memory of an explicit layout with 8-bit numbers.
    shared_layout_8bit: shared_layout.workgroup_memory_explicit_layout8_bit_access,
    /// Workgroup memory of an explicit layout with 16-bit numbers.
    shared_layout_16bit: shared_layout.workgroup_memory_explicit_layout16_bit_access,
    /// Workgroup memory with the layout of C.
    shared_layout_scalar: shared_layout.workgroup_memory_explicit_layout_scalar_block_layout,
    /// Rotation of values in a subgroup (`VK_KHR_shader_subgroup_rotate`).
    subgroup_rotate: rotate.shader_subgroup_rotate,
    /// Rotation of values in parts of a subgroup.
    subgroup_rotate_clustered: rotate.shader_subgroup_rotate_clustered,
    /// A clock that all invocations of a subgroup share (`VK_KHR_shader_clock`).
    subgroup_clock: clock.shader_subgroup_clock,
    /// A clock that all invocations on the device share.
    device_clock: clock.shader_device_clock,
    /// Texels out of the range of an image read zero, and are not written. Vulkan 1.3 requires it.
    robust_image_access: v13.robust_image_access,
    /// Storage images in formats beyond those that every device has.
    storage_image_extended_formats: core.shader_storage_image_extended_formats,
    /// Storage images read without a format in the shader.
    storage_image_read_without_format: core.shader_storage_image_read_without_format,
    /// Storage images written without a format in the shader.
    storage_image_write_without_format: core.shader_storage_image_write_without_format,
    /// Four texels gathered at an offset.
    image_gather_extended: core.shader_image_gather_extended,
    /// Buffer device addresses.
    buffer_device_address: v12.buffer_device_address,
    /// Scalar (C-like) layout of buffer blocks.
    scalar_block_layout: v12.scalar_block_layout,
    /// Required subgroup sizes.
    subgroup_size_control: v13.subgroup_size_control,
    /// Whole subgroups on request.
    compute_full_subgroups: v13.compute_full_subgroups,
    /// The Vulkan memory model.
    vulkan_memory_model: v12.vulkan_memory_model,
    /// Device scope in the Vulkan memory model.
    vulkan_memory_model_device_scope: v12.vulkan_memory_model_device_scope,
    /// Query pools reset from the host.
    host_query_reset: v12.host_query_reset,
    /// Workgroup memory zeroed by the driver.
    zero_initialize_workgroup_memory: v13.shader_zero_initialize_workgroup_memory,
    /// Packed integer dot products.
    integer_dot_product: v13.shader_integer_dot_product,
    /// Matrices that a subgroup holds together (`VK_KHR_cooperative_matrix`).
    cooperative_matrix: cooperative_matrix.cooperative_matrix,
    /// Cooperative matrices are loaded and stored within the bounds of buffers (`cooperativeMatrixRobustBufferAccess`).
    cooperative_matrix_robust_buffers: cooperative_matrix.cooperative_matrix_robust_buffer_access,
    /// `bf16` in shaders, in conversions and in memory (`VK_KHR_shader_bfloat16`).
    bfloat16: bfloat16.shader_bfloat16_type,
    /// Dot products of vectors of `bf16`.
    bfloat16_dot_product: bfloat16.shader_bfloat16_dot_product,
    /// Cooperative matrices of `bf16`.
    bfloat16_cooperative_matrix: bfloat16.shader_bfloat16_cooperative_matrix,
}
