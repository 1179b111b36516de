//! vkarray-ndarray.
