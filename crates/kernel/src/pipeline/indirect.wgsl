// admitted = given[at .. at + 3], or three zeros if one of them is more than `most`.
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> admitted: array<u32, 3>;

struct Params {
    most: vec3<u32>,
    at: u32,
}
var<immediate> params: Params;

@compute @workgroup_size(1) fn admit() {
    let wanted = vec3(given[params.at], given[params.at + 1u], given[params.at + 2u]);
    let counts = select(vec3(0u), wanted, all(wanted <= params.most));
    admitted[0] = counts.x;
    admitted[1] = counts.y;
    admitted[2] = counts.z;
}
