//! vkarray-driver.
