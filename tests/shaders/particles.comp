#version 450
// position += velocity dt, in a list with a head
layout(local_size_x = 32) in;
struct Particle { vec4 position; vec3 velocity; uint id; };
layout(std430, set = 2, binding = 1) buffer List { uint count; vec4 bounds; Particle items[]; } list;
layout(push_constant) uniform Push { layout(offset = 16) float dt; layout(offset = 32) vec3 wind; } step_;

void move(inout Particle particle, float dt) { particle.position.xyz += (particle.velocity + step_.wind) * dt; }

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < list.count) move(list.items[i], step_.dt);
}
