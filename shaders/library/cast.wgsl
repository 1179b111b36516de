// target[i] = convert(source[i])
//
// An invocation writes one word of the target, or one item of two or four words. The text before this file defines
// `numbers.wgsl`, the workgroup size `GROUP`, the bytes of an item on both sides, `FROM` and `TO`, and
// `fn convert(item: vec4<u32>) -> vec2<u32>`, which converts the bits of an item, the low word first. In a target item of
// 16 bytes the last two words are zero: the imaginary part of a complex number.

struct Items {
    first: u32,
    count: u32,
}
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_: array<u32>;
var<immediate> items: Items;

// Items per word on each side, if items are smaller than a word.
const FROM_IN_WORD = 4u / min(FROM, 4u);
const TO_IN_WORD = 4u / min(TO, 4u);

fn load(item: u32) -> vec4<u32> {
    if FROM == 16u {
        let at = 4u * item;
        return vec4(source[at], source[at + 1u], source[at + 2u], source[at + 3u]);
    }
    if FROM == 8u {
        return vec4(source[2u * item], source[2u * item + 1u], 0u, 0u);
    }
    if FROM == 4u {
        return vec4(source[item], 0u, 0u, 0u);
    }
    let mask = (1u << ((FROM % 4u) * 8u)) - 1u;
    return vec4((source[item / FROM_IN_WORD] >> ((item % FROM_IN_WORD) * FROM * 8u)) & mask, 0u, 0u, 0u);
}

@compute @workgroup_size(GROUP)
fn cast_items(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let place = (group.x + group.y * groups.x) * GROUP + lane;
    if TO >= 4u {
        if place >= items.count {
            return;
        }
        let value = convert(load(items.first + place));
        if TO == 4u {
            target_[place] = value.x;
            return;
        }
        let at = place * (TO / 4u);
        target_[at] = value.x;
        target_[at + 1u] = value.y;
        if TO == 16u {
            target_[at + 2u] = 0u;
            target_[at + 3u] = 0u;
        }
        return;
    }
    // The target is new, so the rest of its last word, after the last item, may be overwritten.
    let mask = (1u << ((TO % 4u) * 8u)) - 1u;
    let first = place * TO_IN_WORD;
    if first >= items.count {
        return;
    }
    var word = 0u;
    for (var i = 0u; i < min(TO_IN_WORD, items.count - first); i++) {
        word |= (convert(load(items.first + first + i)).x & mask) << (i * TO * 8u);
    }
    target_[place] = word;
}
