// target_image[b, i, j] = sum over k, l of weights[k, l] * image[b, top + i + k, left + j + l]
//
// Contiguous images, rows by rows. A place outside an image has the element at `place`, or the number `border`
// if IS_CONSTANT. A workgroup computes a tile of ROWS * LANES_Y rows of 4 * LANES_X numbers. It reads what the filter
// reaches of the image into shared memory first, without branches, so that the loads overlap. An invocation computes ROWS
// rows of four numbers, in variables that the generated lines SUMS, PRODUCTS and WRITES name. One workgroup for each
// tile and image, along x.
//
// The text before this file defines T, Weights, TAPS_X and TAPS_Y, LANES_X and LANES_Y, ROWS, IS_CONSTANT,
// `fn place(at: i32, length: i32) -> i32`, `target_image` and `write`.

struct Convolve { height: u32, width: u32, out_height: u32, out_width: u32, top: u32, left: u32, border: T }

@group(0) @binding(0) var<storage, read> image: array<T>;
@group(0) @binding(1) var<uniform> weights: Weights;
var<immediate> convolve: Convolve;

const THREADS = LANES_X * LANES_Y;
const QUADS = LANES_X + (TAPS_X + 2u) / 4u;
const WIDTH = 4u * QUADS;
const HEIGHT = ROWS * LANES_Y + TAPS_Y - 1u;
// The invocations that read numbers of one row, and the rows that all read at once.
const SPAN = min(2u * LANES_X, THREADS);
const ROWS_AT_ONCE = THREADS / SPAN;
const LOADS_X = (WIDTH + SPAN - 1u) / SPAN;
const LOADS_Y = (HEIGHT + ROWS_AT_ONCE - 1u) / ROWS_AT_ONCE;
const LOADS = LOADS_X * LOADS_Y;

var<workgroup> tile: array<array<vec4<T>, QUADS>, HEIGHT>;

@compute @workgroup_size(THREADS)
fn convolve_tile(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tiles_x = (convolve.out_width + 4u * LANES_X - 1u) / (4u * LANES_X);
    let tiles = (convolve.out_height + ROWS * LANES_Y - 1u) / (ROWS * LANES_Y) * tiles_x;
    let first_row = group.x % tiles / tiles_x * (ROWS * LANES_Y);
    let first_column = group.x % tiles_x * (4u * LANES_X);
    let result = group.x / tiles;
    let start = result * convolve.height * convolve.width;
    let top = i32(convolve.top + first_row); // Places above and left of the image are negative.
    let left = i32(convolve.left + first_column);
    let size = vec2(i32(convolve.height), i32(convolve.width));

    let lane_x = lane % SPAN;
    let lane_y = lane / SPAN;
    var numbers: array<T, LOADS>;
    if (top >= 0) & (left >= 0) & (top + i32(HEIGHT) <= size.x) & (left + i32(WIDTH) <= size.y) {
        let first = start + u32(top) * convolve.width + u32(left);
        for (var i = 0u; i < LOADS_Y; i++) {
            let row = first + min(lane_y + i * ROWS_AT_ONCE, HEIGHT - 1u) * convolve.width;
            for (var j = 0u; j < LOADS_X; j++) {
                numbers[i * LOADS_X + j] = image[row + min(lane_x + j * SPAN, WIDTH - 1u)];
            }
        }
    } else {
        for (var i = 0u; i < LOADS_Y; i++) {
            let row = top + i32(min(lane_y + i * ROWS_AT_ONCE, HEIGHT - 1u));
            for (var j = 0u; j < LOADS_X; j++) {
                let column = left + i32(min(lane_x + j * SPAN, WIDTH - 1u));
                let nearest = u32(place(row, size.x)) * convolve.width + u32(place(column, size.y));
                let is_inside = (row >= 0) & (row < size.x) & (column >= 0) & (column < size.y);
                numbers[i * LOADS_X + j] = select(image[start + nearest], convolve.border, IS_CONSTANT & !is_inside);
            }
        }
    }
    for (var i = 0u; i < LOADS_Y; i++) {
        for (var j = 0u; j < LOADS_X; j++) {
            let row = lane_y + i * ROWS_AT_ONCE;
            let column = lane_x + j * SPAN;
            if (row < HEIGHT) & (column < WIDTH) {
                tile[row][column / 4u][column % 4u] = numbers[i * LOADS_X + j];
            }
        }
    }
    workgroupBarrier();

    let x = lane % LANES_X;
    let y = lane / LANES_X * ROWS;
    SUMS
    PRODUCTS
    let own_row = first_row + y;
    let own_column = first_column + 4u * x;
    let target_row = result * convolve.out_height + own_row;
    WRITES
}
