// Blends discs over each pixel, front to back, as far as it stays transparent; colours are four bytes in a word.
struct Disc {
    centre: vec2<f32>,
    radius: f32,
    colour: u32,
}

@group(0) @binding(0) var<storage, read> discs: array<Disc>;
@group(0) @binding(1) var<storage, read_write> pixels: array<u32>;
var<immediate> width: u32;

override OPAQUE: f32 = 0.99;

fn blend(over: ptr<function, vec4<f32>>, colour: vec4<f32>) -> bool {
    let visible = colour.a * (1.0 - (*over).a);
    *over += vec4(colour.rgb * visible, visible);
    return (*over).a < OPAQUE;
}

@compute @workgroup_size(8, 4)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.y * width + id.x;
    if id.x >= width || i >= arrayLength(&pixels) {
        return;
    }
    let at = vec2<f32>(id.xy) + 0.5;
    var colour = vec4<f32>();
    for (var n = 0u; n < arrayLength(&discs); n++) {
        let disc = discs[n];
        if distance(at, disc.centre) > disc.radius {
            continue;
        }
        if !blend(&colour, unpack4x8unorm(disc.colour)) {
            break;
        }
    }
    pixels[i] = pack4x8unorm(colour);
}
