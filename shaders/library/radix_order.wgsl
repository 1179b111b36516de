// The places that keys had at first, which `radix.wgsl` moves with them

const HAS_ORDER = true;

@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read_write> new_order: array<u32>;

// The place that the key at `at` of its row had at first.
fn order_of(index: u32, at: u32, is_first: bool, is_key: bool) -> u32 {
    if is_first || !is_key {
        return at;
    }
    return order[index];
}

fn set_order(index: u32, place: u32) {
    new_order[index] = place;
}
