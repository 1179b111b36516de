// Branches, loops and calls.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

fn first_divisor(n: u32) -> u32 {
    for (var d = 2u; d < 40u; d++) {
        if n % d == 0u { return d; }
    }
    return n;
}

fn counted(n: ptr<function, u32>, value: bool) -> bool {
    *n += 1u;
    return value;
}

@compute @workgroup_size(64) fn collatz(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var n = a % 10000u + 1u;
    var steps = 0u;
    while n != 1u {
        if steps >= 100u { break; }
        n = select(n / 2u, 3u * n + 1u, (n & 1u) == 1u);
        steps++;
    }
    y[id.x] = steps;
}

@compute @workgroup_size(64) fn greatest_common_divisor(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    var p = a | 1u;
    var q = b | 2u;
    loop {
        if q == 0u { break; }
        let r = p % q;
        p = q;
        q = r;
    }
    y[id.x] = p;
}

@compute @workgroup_size(64) fn selects(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var h = 1u;
    switch a % 8u {
        case 0u, 3u: { h = 10u; }
        default: { h = 20u + a % 8u; }
        case 5u: {
            if (a & 16u) == 0u { break; }
            h = 30u;
        }
        case 7u: {}
    }
    switch i32(a % 5u) - 2 {
        case -2: { h *= 3u; }
        case -1, 2: { h += 7u; }
        case default: { h ^= 0xffu; }
    }
    y[id.x] = h;
}

@compute @workgroup_size(64) fn continues(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var h = 0u;
    var i = 0u;
    loop {
        if i % 3u == 1u { continue; }
        h = mix(h, i ^ a);
        if h % 17u == 3u { break; }
        continuing {
            i += 1u + (a & 1u);
            break if i > 20u;
        }
    }
    y[id.x] = mix(h, i);
}

@compute @workgroup_size(64) fn nested(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var h = 0u;
    for (var i = 0u; i < 7u; i++) {
        if i == a % 7u { continue; }
        for (var j = 0u; ; j++) {
            if j > i + (a & 3u) { break; }
            if (i + j) % 3u == 0u { continue; }
            h += i * j + 1u;
        }
        if h > 90u { break; }
    }
    y[id.x] = h;
}

fn return_early(i: u32, h: u32) {
    y[i] = ~h;
}

@compute @workgroup_size(64) fn switch_in_a_loop(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var h = a;
    for (var i = 0u; i < 12u; i++) {
        switch h % 4u {
            case 0u: { h = h / 4u + i; continue; }
            case 1u: { h = h * 5u + 1u; }
            case 2u: { break; }
            default: { if h > 0x1000000u { return_early(id.x, h); return; } }
        }
        h = h * 3u + 1u;
    }
    y[id.x] = h;
}

@compute @workgroup_size(64) fn returns_early(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    y[id.x] = first_divisor(a % 3000u + 2u);
}

@compute @workgroup_size(64) fn short_circuits(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var n = 0u;
    let p = counted(&n, (a & 1u) == 1u) && counted(&n, (a & 2u) == 2u);
    let q = counted(&n, (a & 4u) == 4u) || counted(&n, (a & 8u) == 8u);
    let r = counted(&n, (a & 16u) == 16u) & counted(&n, (a & 32u) == 32u);
    y[id.x] = n << 4u | u32(p) | u32(q) << 1u | u32(r) << 2u;
}

@compute @workgroup_size(64) fn own_stack(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    // Ackermann's function, with a stack of its own.
    var stack: array<u32, 64>;
    var depth = 1;
    stack[0] = a % 3u;
    var n = (a >> 2u) % 5u;
    while depth > 0 {
        depth--;
        let m = stack[depth];
        if m == 0u {
            n++;
        } else if n == 0u {
            n = 1u;
            stack[depth] = m - 1u;
            depth++;
        } else {
            n--;
            stack[depth] = m - 1u;
            stack[depth + 1] = m;
            depth += 2;
        }
    }
    y[id.x] = n;
}
