// before[i] = x[0] + x[1] + ... + x[i - 1], and before[0] = 0
//
// An exclusive scan (prefix sum): where element i goes, if each element takes x[i] places. One workgroup walks over the
// array tile by tile. Within a tile, each round adds the sum that ends STEP places to the left; after 8 rounds every
// place has the sum of all places up to it. The sum of all tiles so far is carried on. Dispatch one workgroup; the
// array may have any length. Longer arrays are scanned in three launches: tiles, the sums of the tiles, and their
// addition.

const TILE = 256u;

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> before: array<u32>;

var<workgroup> sums: array<u32, TILE>;

@compute @workgroup_size(TILE)
fn scan(@builtin(local_invocation_index) rank: u32) {
    let n = min(arrayLength(&x), arrayLength(&before));
    var carried = 0u;
    for (var first = 0u; first < n; first += TILE) {
        let i = first + rank;
        var mine = 0u;
        if i < n {
            mine = x[i];
        }
        sums[rank] = mine;
        workgroupBarrier();
        for (var step = 1u; step < TILE; step *= 2u) {
            // All invocations read before any of them writes: hence two barriers in a round.
            let left = select(0u, sums[rank - min(step, rank)], rank >= step);
            workgroupBarrier();
            sums[rank] += left;
            workgroupBarrier();
        }
        if i < n {
            before[i] = carried + sums[rank] - mine;
        }
        carried += sums[TILE - 1u];
        workgroupBarrier(); // All invocations have read the sum of the tile before the next tile is written.
    }
}
