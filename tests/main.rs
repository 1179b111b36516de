//! Tests that open a device.
