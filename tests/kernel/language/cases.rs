//! [`Case`]: one kernel with its reference, and the words that kernels are given.

/// The feature that a device must have for a kernel.
#[derive(Clone, Copy)]
pub(super) enum Device {
    Any,
    Int64,
    Float64,
    Float16,
}

/// How the host computes the result.
pub(super) enum Host {
    /// Each word of the result from the word at the same position.
    Each(fn(u32) -> u32),
    /// Each word of the result from two words.
    Pair(fn(u32, u32) -> u32),
    All(fn(&[u32]) -> Vec<u32>),
}

pub(super) struct Case {
    pub(super) entry: &'static str,
    pub(super) input: fn() -> Vec<u32>,
    pub(super) host: Host,
    pub(super) needs: Device,
    pub(super) constants: &'static [(&'static str, f64)],
    /// The initial value of the words of `y`.
    pub(super) start: u32,
    /// The number of invocations, if it is not one for each word of `y`.
    pub(super) items: Option<usize>,
    /// Whether a kernel with checks finds a division that has no result.
    pub(super) divides_by_zero: bool,
    /// Whether `x` and `y` are structs in the shader, so that it takes bytes.
    pub(super) takes_bytes: bool,
    /// Words of `y` that are not compared.
    pub(super) is_padding: fn(usize) -> bool,
}

impl Case {
    fn new(entry: &'static str, input: fn() -> Vec<u32>, host: Host) -> Self {
        Self {
            entry,
            input,
            host,
            needs: Device::Any,
            constants: &[],
            start: 0,
            items: None,
            divides_by_zero: false,
            takes_bytes: false,
            is_padding: |_| false,
        }
    }

    pub(super) fn expected(&self, x: &[u32]) -> Vec<u32> {
        match self.host {
            Host::Each(of) => x.iter().map(|&a| of(a)).collect(),
            Host::Pair(of) => x.chunks_exact(2).map(|pair| of(pair[0], pair[1])).collect(),
            Host::All(of) => of(x),
        }
    }

    pub(super) fn on(mut self, input: fn() -> Vec<u32>) -> Self {
        self.input = input;
        self
    }
}

pub(super) fn each(entry: &'static str, host: fn(u32) -> u32) -> Case {
    Case::new(entry, words, Host::Each(host))
}

pub(super) fn pair(entry: &'static str, host: fn(u32, u32) -> u32) -> Case {
    Case::new(entry, pairs, Host::Pair(host))
}

pub(super) fn all(entry: &'static str, host: fn(&[u32]) -> Vec<u32>) -> Case {
    Case::new(entry, words, Host::All(host))
}

/// A case like [`all`], for kernels with barriers, which run in whole workgroups of 64.
pub(super) fn groups(entry: &'static str, host: fn(&[u32]) -> Vec<u32>) -> Case {
    Case::new(entry, || random(320), Host::All(host))
}

/// The shaders' function `mix`: combines several results in one word.
pub(super) fn mix(h: u32, v: u32) -> u32 {
    (h.rotate_left(5) ^ v).wrapping_mul(0x9e37_79b1)
}

const EDGES: [u32; 22] = [
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
];

pub(super) fn random(n: usize) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(0x6b65_726e);
    (0..n).map(|_| random.u32(..)).collect()
}

/// Words at the edges of the range, and other words.
pub(super) fn words() -> Vec<u32> {
    EDGES.into_iter().chain(random(311)).collect()
}

/// Every pair of words at the edges, and other pairs.
pub(super) fn pairs() -> Vec<u32> {
    let edges = EDGES.into_iter().flat_map(|a| EDGES.map(|b| [a, b])).flatten();
    edges.chain(random(2 * 177)).collect()
}

/// Numbers with a fraction, as bits: none is a NaN or too small to be normal.
pub(super) fn floats() -> Vec<u32> {
    let edges = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.5,
        127.0,
        255.5,
        65504.0,
        2_147_483_520.0,
        2_147_483_648.0,
        4_294_967_040.0,
        4_294_967_296.0,
        1e20,
        f32::MAX,
        f32::INFINITY,
        f32::MIN_POSITIVE,
    ];
    let signed = edges.into_iter().flat_map(|f| [f, -f]);
    let normal = random(299).into_iter().map(|bits| f32::from_bits(bits & 0xbf7f_ffff | 0x0080_0000));
    signed.chain(normal).map(f32::to_bits).collect()
}

/// The words of [`floats`], with NaN of both signs.
pub(super) fn floats_and_nan() -> Vec<u32> {
    floats().into_iter().chain([0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff]).collect()
}

/// Bits that are normal numbers, also as `f32`.
pub(super) fn normal_words(n: usize) -> Vec<u32> {
    random(n).into_iter().map(|bits| bits & 0x7f7f_ffff | 0x0080_0000).collect()
}
