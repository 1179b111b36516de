// ravel3(at, shape) = (at.z shape.y + at.y) shape.x + at.x; unravel3 is its inverse. x is the fastest axis.

fn ravel2(at: vec2<u32>, shape: vec2<u32>) -> u32 {
    return at.y * shape.x + at.x;
}

fn unravel2(index: u32, shape: vec2<u32>) -> vec2<u32> {
    return vec2(index % shape.x, index / shape.x);
}

fn ravel3(at: vec3<u32>, shape: vec3<u32>) -> u32 {
    return (at.z * shape.y + at.y) * shape.x + at.x;
}

fn unravel3(index: u32, shape: vec3<u32>) -> vec3<u32> {
    let row = index / shape.x;
    return vec3(index % shape.x, row % shape.y, row / shape.y);
}

// n / size, rounded up.
fn div_ceil(n: u32, size: u32) -> u32 {
    return n / size + u32(n % size != 0u);
}
