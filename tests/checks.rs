//! The checks of `vkarray check`, each as a test under the validation layer. A device that lacks a feature that a check
//! needs has to refuse the check with the library's error for a missing capability. The checks are in `crates/checks`.

use vkarray::kernel::Error as KernelError;
use vkarray::prelude::*;

use crate::fixture::Fixture;

fn passes(name: &str) {
    let fixture = Fixture::open();
    let check = vkarray_checks::CHECKS.iter().find(|check| check.name == name).unwrap();
    let lacks = check.need.filter(|(_, has)| !has(fixture.info()));
    match ((check.run)(&fixture), lacks) {
        (Ok(()), None) | (Err(Error::Kernel(KernelError::Capability { .. })), Some(_)) => {}
        (Ok(()), Some((feature, _))) => panic!("{name} passes without {feature}, so it does not need it"),
        (Err(error), _) => panic!("{name}: {error}"),
    }
}

macro_rules! tests {
    ($($room:ident::$file:ident { $($name:ident $($need:ident)?,)* })*) => {
        $($(#[test]
        fn $name() {
            passes(stringify!($name));
        })*)*
    };
}
vkarray_checks::for_each_check!(tests);
