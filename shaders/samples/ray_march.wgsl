// distance = march(ray): p <- p + direction * scene(p), until scene(p), the distance to the nearest surface, is small
//
// Draws two spheres that melt into each other above a chequered floor, with light and shadow. The scene is one
// function: the distance to the nearest surface. No surface is nearer, so a ray may safely step that far. Dispatch one
// invocation per pixel: covering (width, height). BLEND is the width of the joint in units of the scene; 0 leaves two
// spheres.

struct Params {
    width: u32,
    height: u32,
}

override BLEND: f32 = 0.5;
const FAR = 20.0;
const LIGHT = vec3<f32>(0.48, 0.64, -0.6); // The direction to the light, of length 1.
const LEFT = vec4<f32>(-0.6, 1.0, 0.0, 1.0); // Spheres: centre and radius.
const RIGHT = vec4<f32>(0.8, 0.7, -0.3, 0.6);

@group(0) @binding(0) var<storage, read_write> image: array<vec4<f32>>;
var<immediate> params: Params;

fn spheres(p: vec3<f32>) -> f32 {
    let a = length(p - LEFT.xyz) - LEFT.w;
    let b = length(p - RIGHT.xyz) - RIGHT.w;
    // The smaller of the two distances; smaller still where both are about equal, which makes the joint.
    let equal = max(BLEND - abs(a - b), 0.0);
    return min(a, b) - equal * equal / (4.0 * max(BLEND, 1e-6));
}

fn march(origin: vec3<f32>, direction: vec3<f32>) -> f32 {
    var t = 0.02;
    for (var i = 0u; i < 200u; i++) {
        let p = origin + t * direction;
        let near = min(p.y, spheres(p)); // The floor is y = 0.
        if near < 1e-4 * t || t > FAR {
            break;
        }
        t += near;
    }
    return t;
}

@compute @workgroup_size(16, 16)
fn ray_march(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= params.width || at.y >= params.height {
        return;
    }
    let size = vec2(f32(params.width), f32(params.height));
    let place = (2.0 * vec2<f32>(at.xy) + 1.0 - size) / size.y;
    let eye = vec3(0.0, 1.2, -4.0);
    let direction = normalize(vec3(place.x, -place.y, 2.2));

    var colour = vec3(0.55, 0.75, 0.95); // The sky.
    let t = march(eye, direction);
    if t < FAR {
        let p = eye + t * direction;
        let is_floor = p.y < spheres(p);
        // The normal of a surface is the direction in which the distance grows fastest: differences along each axis.
        let d = 1e-3;
        let x = spheres(p + vec3(d, 0.0, 0.0));
        let y = spheres(p + vec3(0.0, d, 0.0));
        let z = spheres(p + vec3(0.0, 0.0, d));
        let normal = select(normalize(vec3(x, y, z) - spheres(p)), vec3(0.0, 1.0, 0.0), is_floor);
        let chequer = select(0.35, 0.75, (i32(floor(p.x)) + i32(floor(p.z))) % 2 == 0);
        let surface = select(vec3(0.9, 0.45, 0.2), vec3(chequer), is_floor);
        // A point is in the shadow if a ray towards the light hits a surface.
        let is_lit = march(p + 0.02 * normal, LIGHT) > FAR;
        let light = select(0.0, max(dot(normal, LIGHT), 0.0), is_lit);
        colour = surface * (0.25 + 0.75 * light);
    }
    image[at.y * params.width + at.x] = vec4(colour, 1.0);
}
