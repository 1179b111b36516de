//! vkarray-kernel.
