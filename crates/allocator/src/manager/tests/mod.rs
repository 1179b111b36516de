//! The fake that the tests of managers share.

pub(crate) mod fake;
