//! vkarray-driver.

pub mod hazard;
