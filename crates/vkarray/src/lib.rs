//! vkarray-vkarray.
