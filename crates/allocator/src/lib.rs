//! vkarray-allocator.
