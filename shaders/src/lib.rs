//! WGSL sources.
