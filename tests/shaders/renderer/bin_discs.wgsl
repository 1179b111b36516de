// Each disc is counted in every tile that its box touches, and listed there while there is room.
struct Config {
    tiles: vec2<u32>,
    tile_size: f32,
    capacity: u32,
}

struct Disc {
    centre: vec2<f32>,
    radius: f32,
    colour: u32,
}

struct Tile {
    count: atomic<u32>,
    overflow: atomic<u32>,
}

@group(0) @binding(0) var<uniform> config: Config;
@group(0) @binding(1) var<storage, read> discs: array<Disc>;
@group(0) @binding(2) var<storage, read_write> tiles: array<Tile>;
@group(0) @binding(3) var<storage, read_write> lists: array<u32>;

fn tile_of(at: vec2<f32>) -> vec2<u32> {
    let last = vec2<f32>(config.tiles) - 1.0;
    return vec2<u32>(clamp(floor(at / config.tile_size), vec2(0.0), last));
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&discs) {
        return;
    }
    let disc = discs[id.x];
    let first = tile_of(disc.centre - disc.radius);
    let last = tile_of(disc.centre + disc.radius);
    for (var y = first.y; y <= last.y; y++) {
        for (var x = first.x; x <= last.x; x++) {
            let tile = y * config.tiles.x + x;
            let slot = atomicAdd(&tiles[tile].count, 1u);
            if slot < config.capacity {
                lists[tile * config.capacity + slot] = id.x;
            } else {
                atomicMax(&tiles[tile].overflow, slot - config.capacity + 1u);
            }
        }
    }
}
