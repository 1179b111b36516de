// Structs and arrays in one another, as values and in memory.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

// Returns n, in a form that no compiler can evaluate: unrolling the loops takes some compilers minutes.
fn rounds(n: u32) -> u32 {
    return min(n, n * arrayLength(&x));
}

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

struct Leaf { value: u32, weights: vec3<f32> }
struct Branch { leaves: array<Leaf, 2>, n: i32 }
struct Tree { branches: array<Branch, 3>, root: Leaf }

fn leaf(value: u32) -> Leaf {
    return Leaf(value, vec3(f32(value % 5u), 1.0, f32(value % 3u)));
}

fn weight(leaf: Leaf) -> u32 {
    return leaf.value * 2u + u32(dot(leaf.weights, vec3(1.0, 2.0, 4.0)));
}

fn swapped(branch: Branch) -> Branch {
    return Branch(array(branch.leaves[1], branch.leaves[0]), -branch.n);
}

@compute @workgroup_size(64) fn trees(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var tree: Tree;
    for (var i = 0u; i < rounds(3u); i++) {
        tree.branches[i] = Branch(array(leaf(a + i), leaf(a ^ i)), i32(i));
    }
    tree.root = tree.branches[a % 3u].leaves[a & 1u];
    tree.branches[1] = swapped(tree.branches[1]);
    let copy = tree;
    tree.branches[0].leaves[0].value = 77u;
    var h = weight(tree.root);
    for (var i = 0u; i < rounds(3u); i++) {
        for (var j = 0u; j < rounds(2u); j++) { h = mix(h, weight(copy.branches[i].leaves[j])); }
        h = mix(h, bitcast<u32>(copy.branches[i].n));
    }
    y[id.x] = h;
}

@compute @workgroup_size(64) fn arrays_of_arrays(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var cube: array<array<array<u32, 3>, 4>, 5>;
    for (var i = 0u; i < rounds(60u); i++) { cube[i / 12u][i / 3u % 4u][i % 3u] = i * a; }
    let plane = cube[a % 5u];
    cube[1] = plane;
    cube[2][a % 4u] = plane[(a >> 2u) % 4u];
    var h = 0u;
    for (var i = 0u; i < rounds(60u); i++) { h = mix(h, cube[i % 5u][i / 5u % 4u][i / 20u]); }
    y[id.x] = h;
}

@compute @workgroup_size(64) fn tables(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let table = array(3u, 1u, 4u, 1u, 5u, 9u, 2u, 6u);
    let pairs = array(vec2(1u, 2u), vec2(3u, 4u), vec2(5u, 6u));
    let p = pairs[a % 3u];
    y[id.x] = mix(table[a % 8u], table[(a >> 3u) % 8u]) + p[a % 2u];
}

@compute @workgroup_size(64) fn zero_values(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let branch = Branch();
    let v = vec3<u32>();
    let m = mat2x3<f32>();
    y[id.x] = a + branch.leaves[a & 1u].value + u32(branch.n) + v[a % 3u] + u32(m[1].z) + array<u32, 4>()[a & 3u];
}
