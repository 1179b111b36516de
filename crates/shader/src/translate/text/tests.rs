//! Texts that are cut into words. All else is tested with `translate/module.rs`.

use std::collections::BTreeMap;

use crate::{Module, Options, Source};

/// Every text that is cut into words is cut between characters: a character outside ASCII may stand anywhere.
#[test]
fn characters_outside_ascii_may_stand_anywhere() {
    let wgsl = "enable f16, subgroups; requires subgroup_id; /* a */ alias half2 = vec2<f16>;
@group(0) @binding(0) var<storage, read_write> x: array<u32>; // b
override N: u32 = 2; fn f(a: float3) -> f32 { return fmod(a.x, 2.0); }
@compute @workgroup_size(1) fn main() { x[0] = u32(bitcast<half2>(x[1]).x); }";
    for (at, letter) in (0..=wgsl.len()).flat_map(|at| ["Θ", "→", "\u{85}", "𝛼/*", "ß;"].map(|letter| (at, letter)))
    {
        let changed = [&wgsl[..at], letter, &wgsl[at..]].concat();
        let Ok(module) = Module::parse(&Source::wgsl(changed).named("Θ.wgsl")) else { continue };
        let _ = module.translate(None, &BTreeMap::new(), &Options::default());
    }
}
