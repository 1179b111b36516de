//! References of `pointers.wgsl`, `element_pointers.wgsl`, `memory_pointers.wgsl`, `structs.wgsl`, `layouts.wgsl`,
//! `memory.wgsl`, `atomics.wgsl`.

use super::cases::{Case, all, each, groups, mix, normal_words};

fn add(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

fn mul(a: u32, b: u32) -> u32 {
    a.wrapping_mul(b)
}

pub(super) fn pointers() -> Vec<Case> {
    vec![
        each("to_a_local", |a| {
            let own = add(a, 3);
            let own = own ^ mul(own, 3);
            let own = add(own, 1);
            mul(own, 3) ^ own
        }),
        each("to_a_local_array", |a| {
            let mut own = [a, a ^ 1, 7, a >> 3, 0];
            let at = (a % 5) as usize;
            for i in 0..5 {
                own[i] = add(mul(own[(i + at) % 5], 2), i as u32);
            }
            own[at] = add(own[at], 11);
            mix(mix(own[0], own[1]), mix(own[2], mix(own[3], own[4])))
        }),
        each("to_private", |a| {
            let mut state: [u32; 7] = std::array::from_fn(|i| mul(a, i as u32));
            for at in [a, a >> 5] {
                let to = (at % 7) as usize;
                state[to] ^= add(state[(add(at, 3) % 7) as usize], 9);
            }
            let last = add(state[4], mul(state[5], state[6]));
            mix(add(mul(a, 5), 1), add(mix(state[0] ^ state[1], state[2] ^ state[3]), last))
        }),
        each("two_of_them", |a| mix(!a >> 3, a)),
        each("to_a_member", |a| {
            let mut rest = [(2, [3, 3, 3]), (a, [4, 4, 4]), (5, [6_u32, 6, 6])];
            let mut first = [a; 3];
            let inner = &mut rest[(a % 3) as usize].1;
            inner[2] = add(inner[2], a);
            inner[0] = 9;
            first[(a % 2) as usize] = add(first[(a % 2) as usize], 1);
            let r = rest[(a % 3) as usize].1;
            mix(mix(first[0], first[1]), mix(add(r[0], r[1]), add(r[2], rest[1].1[0])))
        }),
        each("through_two_functions", |a| {
            let (mut own, mut b) = (a, [1, 2, a]);
            for value in [a % 11, a % 7] {
                own = add(own, value);
                b[(value % 3) as usize] = value;
                b[1] ^= 5;
            }
            mix(mix(own, b[0]), mix(b[1], b[2]))
        }),
    ]
}

pub(super) fn element_pointers() -> Vec<Case> {
    vec![
        each("to_an_element", |a| {
            let mut own = [1, a, 3, !a];
            let at = (a & 3) as usize;
            own[at] = add(own[at], 5);
            own[1] = add(own[1], 7);
            mix(mix(own[0], own[1]), mix(own[2], own[3]))
        }),
        each("to_a_part_of_a_struct", |a| {
            let mut b = [1, 2, 3, 4];
            let at = (a % 4) as usize;
            b[at] = add(b[at], a);
            mix(add(a, 5), mix(mix(b[0], b[1]), mix(b[2], b[3])))
        }),
        each("to_a_private_element", |a| {
            let mut state: [u32; 6] = std::array::from_fn(|i| add(i as u32, a));
            let at = (a % 6) as usize;
            state[at] = add(mul(state[at], 5), 1);
            mix(mix(state[0], state[1]), mix(state[2], state[3])) ^ mul(state[4], state[5])
        }),
    ]
}

pub(super) fn memory_pointers() -> Vec<Case> {
    vec![
        groups("to_workgroup_memory", |x| {
            let of_group = |x: &[u32]| {
                let total = (0..64).fold(0, |sum, i| add(sum, mul(x[63 - i], i as u32 + 1)));
                // Invocation l fills part l % 4 of pair l / 4, and reads part l / 16 of pair l % 16.
                let pair = |l: usize| {
                    let from = l % 16 * 4 + l / 16;
                    x[from] ^ from as u32
                };
                (0..64).map(|l| mix(total, pair(l))).collect::<Vec<u32>>()
            };
            x.chunks(64).flat_map(of_group).collect()
        }),
        all("to_storage", |x| {
            let at = |i: u32| x[i as usize % x.len()];
            (0..x.len()).map(|i| mix(at(x[i]), at(i as u32 + 5))).collect()
        }),
        each("to_a_storage_element", |a| mul(a, 3)),
    ]
}

#[derive(Clone, Copy, Default)]
struct Leaf(u32, [u32; 3]);

impl Leaf {
    fn new(value: u32) -> Self {
        Self(value, [value % 5, 1, value % 3])
    }

    fn weight(self) -> u32 {
        add(mul(self.0, 2), self.1[0] + 2 * self.1[1] + 4 * self.1[2])
    }
}

pub(super) fn structs() -> Vec<Case> {
    vec![
        each("trees", |a| {
            let mut branches: [([Leaf; 2], u32); 3] =
                std::array::from_fn(|i| ([Leaf::new(add(a, i as u32)), Leaf::new(a ^ i as u32)], i as u32));
            let root = branches[(a % 3) as usize].0[(a & 1) as usize];
            branches[1].0.reverse();
            branches[1].1 = branches[1].1.wrapping_neg();
            branches
                .iter()
                .fold(root.weight(), |h, (leaves, n)| mix(leaves.iter().fold(h, |h, leaf| mix(h, leaf.weight())), *n))
        }),
        each("arrays_of_arrays", |a| {
            let mut cube = [[[0_u32; 3]; 4]; 5];
            for i in 0..60 {
                cube[i / 12][i / 3 % 4][i % 3] = mul(i as u32, a);
            }
            let plane = cube[(a % 5) as usize];
            cube[1] = plane;
            cube[2][(a % 4) as usize] = plane[((a >> 2) % 4) as usize];
            (0..60).fold(0, |h, i| mix(h, cube[i % 5][i / 5 % 4][i / 20]))
        }),
        each("tables", |a| {
            let table = [3, 1, 4, 1, 5, 9, 2, 6];
            let pair = [[1, 2], [3, 4], [5, 6]][(a % 3) as usize];
            add(mix(table[(a % 8) as usize], table[((a >> 3) % 8) as usize]), pair[(a % 2) as usize])
        }),
        each("zero_values", |a| a),
    ]
}

/// Words of an `Item`: its members lie at 0, 4 to 6, 8 to 11, three columns at 12, 16 and 20, and 24.
const ITEM: usize = 28;

fn is_padding(word: usize) -> bool {
    matches!(word % ITEM, 1..=3 | 7 | 15 | 19 | 23 | 25..)
}

pub(super) fn layouts() -> Vec<Case> {
    let item =
        |case: Case| Case { items: Some(13), takes_bytes: true, is_padding, ..case }.on(|| normal_words(13 * ITEM));
    vec![
        item(all("padded", |x| {
            let one = |(i, x): (usize, &[u32])| {
                let mut y = [0; ITEM];
                y[0] = x[24];
                y[4..7].copy_from_slice(&[x[6], x[4], x[5]]);
                let c = 8 + 2 * (i & 1);
                y[c..c + 2].copy_from_slice(&x[10..12]);
                y[24] = add(x[0], x[9]);
                let columns = [[x[4] % 16, x[5] % 16, x[6] % 16], [x[0] % 8, 1, 2], [0, 4, x[24] % 32]];
                for (row, column) in (0..9).map(|i| (i / 3, i % 3)) {
                    y[12 + 4 * row + column] = (columns[column][row] as f32).to_bits();
                }
                y[12 + 4 * (i % 3) + 1] = 9_f32.to_bits();
                y
            };
            x.chunks(ITEM).enumerate().flat_map(one).collect()
        })),
        item(all("whole", |x| x.chunks(ITEM).rev().flatten().copied().collect())),
    ]
}

pub(super) fn memory() -> Vec<Case> {
    vec![
        each("private_zeros", |a| mix(5, add(a, 6))),
        each("private_thousand", |a| {
            let large: Vec<u32> = (0..1024).map(|i| add(mul(i, a), mul(i, 3))).collect();
            (0..1024).fold(0, |h, i| mix(h, large[(add(i * 37, a) & 1023) as usize]))
        }),
        each("local_zeros", |a| a),
        each("zero_in_each_round", |a| {
            (0..5).fold(0, |h, i: u32| mix(h, add(a, (i + 1) * [1, 2, 3, 5][(i & 3) as usize])))
        }),
        each("local_thousand", |a| {
            let mut cells: Vec<u32> = (0..1024).map(|i| a ^ mul(i, 2_654_435_761)).collect();
            for i in 0..1024 {
                let j = (cells[i] ^ i as u32) & 1023;
                cells.swap(i, j as usize);
            }
            cells.into_iter().fold(0, mix)
        }),
        groups("workgroup_zeros", |x| {
            let of_group =
                |x: &[u32]| (0..64).map(|l| if (63 - l) % 3 == 0 { x[63 - l] } else { 0 }).collect::<Vec<_>>();
            x.chunks(64).flat_map(of_group).collect()
        }),
        groups("workgroup_count", |x| {
            let of_group = |x: &[u32]| {
                let n: u32 = x.iter().filter(|&x| x & 1 == 1).map(|x| x & 0xffff).sum();
                (0..64).map(move |l| n ^ l).collect::<Vec<_>>()
            };
            x.chunks(64).flat_map(of_group).collect()
        }),
        groups("workgroup_thousand", |x| {
            let of_group = |x: &[u32]| {
                let sheet: Vec<u32> = (0..1024).map(|i| mul(x[i % 64], i as u32 / 64 + 1)).collect();
                (0..64).map(|l| (0..16).fold(0, |h, i| mix(h, sheet[(l * 16 + i) ^ 5]))).collect::<Vec<_>>()
            };
            x.chunks(64).flat_map(of_group).collect()
        }),
    ]
}

pub(super) fn atomics() -> Vec<Case> {
    const START: u32 = 0x7fff_ffff;
    let run_on_x = |case: Case| Case { items: Some(333), ..case };
    vec![
        Case {
            start: START,
            ..run_on_x(all("gathers", |x| {
                let least = x.iter().map(|a| !a).fold(START, u32::min);
                vec![
                    x.iter().copied().fold(START, add),
                    x.iter().fold(START, |sum, a| sum.wrapping_sub(*a)),
                    x.iter().copied().fold(START, u32::max),
                    least,
                    x.iter().fold(START, |all, a| all | (a & 0x0f0f_0f0f)),
                    x.iter().fold(START, |all, a| all ^ a),
                    x.iter().fold(START, |all, a| all & (a | 7)),
                    (!least).max(START),
                ]
            }))
        },
        run_on_x(all("multiplies", |x| vec![x.iter().fold(1, |product, a| mul(product, a | 1))])),
        run_on_x(all("tickets", |x| {
            let n = x.len() as u32;
            [n].into_iter().chain(x.iter().map(|_| 1)).chain([5, 5 * (n - 1)]).collect()
        })),
        groups("extremes", |x| {
            let of_group = |x: &[u32]| {
                let signed = || x.iter().map(|x| x.cast_signed());
                let (least, most) = (signed().min().unwrap(), signed().max().unwrap());
                (0..64).map(|l| if l & 1 == 1 { most } else { least }.cast_unsigned()).collect::<Vec<_>>()
            };
            x.chunks(64).flat_map(of_group).collect()
        }),
    ]
}
