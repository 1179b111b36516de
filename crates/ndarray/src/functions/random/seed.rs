//! The key of NumPy's `Philox(seed)`: two numbers of `SeedSequence(seed)`, after O'Neill's `seed_seq`.

/// Number of words in the pool.
const POOL: usize = 4;

/// Mixes a word into a hash. The multiplier of the hash changes with each word.
struct Hash {
    multiplier: u32,
    step: u32,
}

impl Hash {
    fn mix(&mut self, value: u32) -> u32 {
        let value = value ^ self.multiplier;
        self.multiplier = self.multiplier.wrapping_mul(self.step);
        let value = value.wrapping_mul(self.multiplier);
        value ^ (value >> 16)
    }
}

fn combine(x: u32, y: u32) -> u32 {
    let result = x.wrapping_mul(0xca01_f9dd).wrapping_sub(y.wrapping_mul(0x4973_f715));
    result ^ (result >> 16)
}

/// `SeedSequence(seed).generate_state(2, uint64)`.
#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
pub(super) fn philox_key(seed: u64) -> [u64; 2] {
    let mut hash = Hash { multiplier: 0x43b0_d7e5, step: 0x931e_8875 };
    let entropy = [seed as u32, (seed >> 32) as u32, 0, 0];
    let mut pool: [u32; POOL] = entropy.map(|word| hash.mix(word));
    for source in 0..POOL {
        for target in (0..POOL).filter(|&target| target != source) {
            pool[target] = combine(pool[target], hash.mix(pool[source]));
        }
    }
    let mut out = Hash { multiplier: 0x8b51_f9dd, step: 0x58f3_8ded };
    let words = pool.map(|word| u64::from(out.mix(word)));
    [words[0] | words[1] << 32, words[2] | words[3] << 32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_key_that_numpy_makes_of_it() {
        // numpy.random.SeedSequence(seed).generate_state(2, numpy.uint64)
        let cases = [
            (0, [0xdb2c_d7e7_b0f4_78be, 0xabf4_641a_2c71_ba49]),
            (1, [0x672d_8ee5_6d67_91ff, 0x8ae1_9ca1_4eb1_072c]),
            (42, [0x9f1e_2e6d_cd54_0ab7, 0xd578_73dc_79fb_94b6]),
            (0xffffffff, [0x2a05_c5e2_76c1_fe08, 0x2032_e40f_c20e_8198]),
            (0x100000000, [0x50ff_846c_ec53_f444, 0x7a49_18db_e827_8562]),
            (u64::MAX, [0xaebc_a151_928c_ad0d, 0x119c_3044_8638_dc7a]),
        ];
        for (seed, key) in cases {
            assert_eq!(philox_key(seed), key, "{seed}");
        }
    }
}
