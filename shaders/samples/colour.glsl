// The colour of a step, for mandelbrot.comp: three ramps, one after the other; blue rises first, red last.

vec3 colour(uint n) {
    return clamp(vec3(0.125, 0.1875, 0.25) * float(n % 32u + 1u) - vec3(1.0, 0.75, 0.0), vec3(0.0), vec3(1.0));
}
