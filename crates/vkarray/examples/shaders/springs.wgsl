// Particles on springs: v ← v − dt · k · x, x ← x + dt · v.
struct Particle { position: vec3<f32>, mass: f32, velocity: vec3<f32>, id: u32 }
@group(0) @binding(0) var<storage, read_write> particles: array<Particle>;
@group(0) @binding(1) var<storage, read_write> energy: array<f32>;
var<immediate> dt: f32;
override STIFFNESS: f32 = 1.0;
@compute @workgroup_size(64) fn advance(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&particles) { return; }
    var particle = particles[id.x];
    particle.velocity -= dt * STIFFNESS / particle.mass * particle.position;
    particle.position += dt * particle.velocity;
    particles[id.x] = particle;
    let kinetic = particle.mass * dot(particle.velocity, particle.velocity);
    energy[id.x] = 0.5 * (kinetic + STIFFNESS * dot(particle.position, particle.position));
}
