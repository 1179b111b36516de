//! [`DriverFault`]: known faults of drivers by name and version, a table of plain data.
//!
//! `xtask` compiles this file too, so the file uses nothing of the crate.

use std::fmt;

/// A known fault of a driver, which makes a kernel compute something wrong, or not compile, without a message.
///
/// The kernels of vkarray avoid each known fault; kernels of a program may meet one.
///
/// ```
/// use vkarray_driver::DriverFault;
///
/// const LLVMPIPE: i32 = 13; // `VK_DRIVER_ID_MESA_LLVMPIPE`
/// let old: Vec<_> = DriverFault::of(LLVMPIPE, "Mesa 22.3.6 (LLVM 15.0.6)").collect();
/// assert!(old[0].effect.contains("65,535 rounds"));
/// assert_eq!(DriverFault::of(LLVMPIPE, "Mesa 25.0.7 (LLVM 15.0.6)").count(), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverFault {
    /// The driver: `VkDriverId`, as a number.
    driver: i32,
    /// The first major version that is taken to have the fault, and the first major version after it that is taken not
    /// to have it.
    majors: [u32; 2],
    /// What the driver computes wrong.
    pub effect: &'static str,
    /// The versions in which the fault was seen, and versions in which it was not.
    pub versions: &'static str,
    /// What a program can do about the fault.
    pub advice: &'static str,
}

const LLVMPIPE: DriverFault = DriverFault {
    driver: 13,
    majors: [0, 25],
    effect: "all loops of an invocation end after 65,535 rounds together",
    versions: "seen with Mesa 22.3.6, right with 25.0.7",
    advice: "take Mesa 25.0.7 or newer, which Debian 12 has in bookworm-backports",
};

const NVIDIA: DriverFault = DriverFault {
    driver: 4,
    majors: [580, 581],
    effect: "/ and % of 64-bit integers are wrong, or do not compile, where an operand is computed from a select",
    versions: "seen with 580.159.04",
    advice: "write such divisions as the page on shaders says",
};

const KNOWN: [DriverFault; 5] = [
    LLVMPIPE,
    DriverFault {
        effect: "an i32 that is made an i64 is ordered wrongly against constants: i64(x) > 0li is always true",
        ..LLVMPIPE
    },
    DriverFault { effect: "the second of two equal computations in a kernel can be wrong", ..LLVMPIPE },
    NVIDIA,
    DriverFault {
        effect: "a minimum or maximum of f64 by select behind tests of NaN by x == x forgets NaN",
        advice: "test the bits of bitcast<u64>(x) instead",
        ..NVIDIA
    },
];

impl DriverFault {
    /// The known faults of a driver. `driver` is its `VkDriverId`, and `info` its description, whose first number is
    /// the major version.
    pub fn of(driver: i32, info: &str) -> impl Iterator<Item = &'static Self> + use<> {
        let digits = info.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let major: Option<u32> = digits[..end].parse().ok();
        let has = move |fault: &&Self| {
            fault.driver == driver && major.is_some_and(|major| (fault.majors[0]..fault.majors[1]).contains(&major))
        };
        KNOWN.iter().filter(has)
    }
}

impl fmt::Display for DriverFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}); {}", self.effect, self.versions, self.advice)
    }
}
