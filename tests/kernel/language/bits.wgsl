// Bits: counted, found, turned round, cut out and put in.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

@compute @workgroup_size(64) fn counts(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    y[id.x] = mix(countOneBits(a), mix(countLeadingZeros(a), countTrailingZeros(a)));
}

@compute @workgroup_size(64) fn finds(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let i = bitcast<i32>(a);
    let h = mix(firstLeadingBit(a), firstTrailingBit(a));
    y[id.x] = mix(h, mix(bitcast<u32>(firstLeadingBit(i)), bitcast<u32>(firstTrailingBit(i))));
}

@compute @workgroup_size(64) fn reverses(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let n = b & 31u;
    let turned = a << n | a >> ((32u - n) & 31u);
    y[id.x] = mix(reverseBits(a), mix(turned, bitcast<u32>(reverseBits(bitcast<i32>(b)))));
}

@compute @workgroup_size(64) fn extracts(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    // Bits beyond the end of the word are cut off.
    let offset = b & 63u;
    let count = b >> 6u & 63u;
    y[id.x] = mix(extractBits(a, offset, count), bitcast<u32>(extractBits(bitcast<i32>(a), offset, count)));
}

@compute @workgroup_size(64) fn inserts(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let offset = b & 63u;
    let count = b >> 6u & 63u;
    let i = bitcast<u32>(insertBits(bitcast<i32>(b), bitcast<i32>(a), offset, count));
    y[id.x] = mix(insertBits(a, b, offset, count), i);
}

@compute @workgroup_size(64) fn of_vectors(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let v = vec4(a, b, a & b, a | b);
    let n = countOneBits(v) + countLeadingZeros(v) * 33u;
    let r = reverseBits(v.xy) ^ firstLeadingBit(v.zw);
    y[id.x] = mix(mix(mix(n.x, n.y), mix(n.z, n.w)), mix(r.x, r.y));
}

@compute @workgroup_size(64) fn checksum(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var crc = ~0u;
    for (var byte = 0u; byte < 4u; byte++) {
        crc ^= a >> (8u * byte) & 255u;
        for (var bit = 0; bit < 8; bit++) {
            crc = select(crc >> 1u, crc >> 1u ^ 0xedb88320u, (crc & 1u) == 1u);
        }
    }
    y[id.x] = ~crc;
}
