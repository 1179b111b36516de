// velocity' = velocity + cohesion * (middle of the neighbours) + alignment * (their velocity - own) + separation *
// (away)
//
// One step of a flock: each bird flies towards its neighbours, in their direction, and away from birds that are too
// near. A bird is a vec4: its position, in a square of side 1 whose opposite edges are joined, and its velocity.
// Neighbours are the birds within `radius`; birds within a third of it are too near. Dispatch one invocation per bird:
// covering (number of birds); then with the two arrays exchanged.

struct Params {
    radius: f32,
    step: f32,
}

const COHESION = 2.0;
const ALIGNMENT = 2.0;
const SEPARATION = 12.0;
const SLOWEST = 0.1;
const FASTEST = 0.3;

@group(0) @binding(0) var<storage, read> now: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> next: array<vec4<f32>>;
var<immediate> params: Params;

@compute @workgroup_size(64)
fn boids(@builtin(global_invocation_id) at: vec3<u32>) {
    let n = arrayLength(&now);
    if at.x >= n {
        return;
    }
    let bird = now[at.x];
    var neighbours = 0.0;
    var middle = vec2<f32>(); // The mean position, relative to this bird.
    var direction = vec2<f32>();
    var away = vec2<f32>();
    for (var j = 0u; j < n; j++) {
        let other = now[j];
        // The shortest distance across the edges: each coordinate lies between -1/2 and 1/2.
        let to = other.xy - bird.xy - round(other.xy - bird.xy);
        let far = length(to);
        if j == at.x || far >= params.radius {
            continue;
        }
        neighbours += 1.0;
        middle += to;
        direction += other.zw;
        if far < params.radius / 3.0 {
            away -= to;
        }
    }
    var velocity = bird.zw;
    if neighbours > 0.0 {
        let turn = COHESION * middle / neighbours + ALIGNMENT * (direction / neighbours - velocity) + SEPARATION * away;
        velocity += params.step * turn;
    }
    let speed = max(length(velocity), 1e-6);
    velocity *= clamp(speed, SLOWEST, FASTEST) / speed;
    next[at.x] = vec4(fract(bird.xy + params.step * velocity), velocity);
}
