// Kernels whose invocations work together on words: reductions, running sums, sorts, searches.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@group(0) @binding(2) var<storage, read_write> total: array<atomic<u32>>;

var<workgroup> a: array<u32, 64>;
var<workgroup> b: array<u32, 64>;
var<workgroup> bins: array<atomic<u32>, 16>;
var<workgroup> part: atomic<u32>;

// The sum of each 64 words, by halves.
@compute @workgroup_size(64)
fn block_sums(
    @builtin(local_invocation_index) i: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(global_invocation_id) at: vec3<u32>,
) {
    a[i] = select(0u, x[at.x], at.x < arrayLength(&x));
    for (var half = 32u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if i < half { a[i] += a[i + half]; }
    }
    if i == 0u { y[group.x] = a[0]; }
}

// The greatest and the least residue of 7919 x + 13 modulo 1009.
@compute @workgroup_size(64)
fn extremes(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&x) {
        let residue = (7919u * x[at.x] + 13u) % 1009u;
        atomicMax(&total[0], residue);
        atomicMin(&total[1], residue);
    }
}

// One global addition for each workgroup, behind one in shared memory for each invocation.
@compute @workgroup_size(64)
fn grand_total(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&x) { atomicAdd(&part, x[at.x] * 7919u % 1009u); }
    workgroupBarrier();
    if i == 0u { atomicAdd(&total[0], atomicLoad(&part)); }
}

// Running sums in log2(64) rounds between two arrays.
@compute @workgroup_size(64)
fn inclusive_scan(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) at: vec3<u32>) {
    a[i] = x[at.x];
    workgroupBarrier();
    for (var step = 1u; step < 64u; step *= 2u) {
        var sum = a[i];
        if i >= step { sum += a[i - step]; }
        b[i] = sum;
        workgroupBarrier();
        a[i] = b[i];
        workgroupBarrier();
    }
    y[at.x] = a[i];
}

// Running sums without the own word: up a tree, and down again.
@compute @workgroup_size(32)
fn exclusive_scan(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first = 64u * group.x;
    a[2u * i] = x[first + 2u * i];
    a[2u * i + 1u] = x[first + 2u * i + 1u];
    var offset = 1u;
    for (var n_pairs = 32u; n_pairs > 0u; n_pairs /= 2u) {
        workgroupBarrier();
        if i < n_pairs { a[offset * (2u * i + 2u) - 1u] += a[offset * (2u * i + 1u) - 1u]; }
        offset *= 2u;
    }
    workgroupBarrier();
    if i == 0u { a[63] = 0u; }
    for (var n_pairs = 1u; n_pairs < 64u; n_pairs *= 2u) {
        offset /= 2u;
        workgroupBarrier();
        if i < n_pairs {
            let left = offset * (2u * i + 1u) - 1u;
            let right = offset * (2u * i + 2u) - 1u;
            let kept = a[left];
            a[left] = a[right];
            a[right] += kept;
        }
    }
    workgroupBarrier();
    y[first + 2u * i] = a[2u * i];
    y[first + 2u * i + 1u] = a[2u * i + 1u];
}

// Running sums that begin anew at each multiple of 8.
@compute @workgroup_size(64)
fn segmented_scan(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) at: vec3<u32>) {
    a[i] = x[at.x];
    workgroupBarrier();
    for (var step = 1u; step < 8u; step *= 2u) {
        var before = 0u;
        if i % 8u >= step { before = a[i - step]; }
        workgroupBarrier();
        a[i] += before;
        workgroupBarrier();
    }
    y[at.x] = a[i];
}

// The greatest word so far.
@compute @workgroup_size(64)
fn running_maximum(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) at: vec3<u32>) {
    a[i] = min(x[at.x] % 64u, 63u - x[at.x] % 64u);
    workgroupBarrier();
    for (var step = 1u; step < 64u; step *= 2u) {
        var before = 0u;
        if i >= step { before = a[i - step]; }
        workgroupBarrier();
        a[i] = max(a[i], before);
        workgroupBarrier();
    }
    y[at.x] = a[i];
}

// A bitonic sort of the keys 37 x modulo 64.
@compute @workgroup_size(32)
fn bitonic_sort(@builtin(local_invocation_index) i: u32) {
    a[i] = 37u * x[i] % 64u;
    a[i + 32u] = 37u * x[i + 32u] % 64u;
    for (var length = 2u; length <= 64u; length *= 2u) {
        for (var step = length / 2u; step > 0u; step /= 2u) {
            workgroupBarrier();
            let low = 2u * i - (i & (step - 1u));
            let high = low + step;
            let rises = (low & length) == 0u;
            if (a[low] > a[high]) == rises {
                let kept = a[low];
                a[low] = a[high];
                a[high] = kept;
            }
        }
    }
    workgroupBarrier();
    y[i] = a[i];
    y[i + 32u] = a[i + 32u];
}

// A sort by exchange of neighbours, of the keys 63 - x.
@compute @workgroup_size(64)
fn neighbour_sort(@builtin(local_invocation_index) i: u32) {
    a[i] = 63u - x[i];
    for (var round = 0u; round < 64u; round += 1u) {
        workgroupBarrier();
        if i % 2u == round % 2u && i < 63u && a[i] > a[i + 1u] {
            let kept = a[i];
            a[i] = a[i + 1u];
            a[i + 1u] = kept;
        }
    }
    workgroupBarrier();
    y[i] = a[i];
}

// A sort by counting the smaller keys, which are all different.
@compute @workgroup_size(64)
fn rank_sort(@builtin(global_invocation_id) at: vec3<u32>) {
    let n = arrayLength(&x);
    if at.x >= n { return; }
    let key = 7919u * x[at.x] % n;
    var rank = 0u;
    for (var other = 0u; other < n; other += 1u) { rank += u32(7919u * x[other] % n < key); }
    y[rank] = key;
}

// One pass of a radix sort: even words first, in their order.
@compute @workgroup_size(64)
fn radix_pass(@builtin(local_invocation_index) i: u32) {
    let word = x[i];
    a[i] = 1u - word % 2u;
    workgroupBarrier();
    for (var step = 1u; step < 64u; step *= 2u) {
        var before = 0u;
        if i >= step { before = a[i - step]; }
        workgroupBarrier();
        a[i] += before;
        workgroupBarrier();
    }
    let n_even = a[63];
    let evens = a[i] - (1u - word % 2u);
    y[select(evens, n_even + i - evens, word % 2u == 1u)] = word;
}

// Keeps the multiples of 3, in their order.
@compute @workgroup_size(64)
fn compact(@builtin(local_invocation_index) i: u32) {
    let is_kept = x[i] % 3u == 0u;
    b[i] = u32(is_kept);
    workgroupBarrier();
    var place = 0u;
    for (var other = 0u; other < i; other += 1u) { place += b[other]; }
    if is_kept { y[place] = x[i]; }
}

// Counts in shared memory, added to the result once for each workgroup.
@compute @workgroup_size(64)
fn local_histogram(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&x) { atomicAdd(&bins[x[at.x] % 16u], 1u); }
    workgroupBarrier();
    if i < 16u { atomicAdd(&total[i], atomicLoad(&bins[i])); }
}

// The position of the first of x that is not below the own index; x rises.
@compute @workgroup_size(64)
fn lower_bound(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&y) { return; }
    var low = 0u;
    var high = arrayLength(&x);
    while low < high {
        let middle = (low + high) / 2u;
        if 3u * x[middle] < at.x { low = middle + 1u; } else { high = middle; }
    }
    y[at.x] = low;
}

// The bits of the words that are odd, 32 words in each result.
@compute @workgroup_size(64)
fn odd_bits(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&x) { atomicOr(&total[at.x / 32u], (x[at.x] & 1u) << (at.x % 32u)); }
}

// The position of the greatest of the keys 5 x modulo 1009.
@compute @workgroup_size(64)
fn position_of_maximum(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&x) { atomicMax(&total[0], (5u * x[at.x] % 1009u) << 16u | at.x); }
}

// Marks numbers that a smaller one divides, and counts the primes.
@compute @workgroup_size(64)
fn primes(@builtin(global_invocation_id) at: vec3<u32>) {
    let number = at.x;
    if number >= arrayLength(&x) || number < 2u { return; }
    for (var divisor = 2u; divisor * divisor <= number; divisor += 1u) {
        if number % divisor == 0u { return; }
    }
    atomicAdd(&total[0], 1u);
}

// Counts pairs up to 16 without a common divisor, by Euclid.
@compute @workgroup_size(4, 4)
fn coprime_pairs(@builtin(global_invocation_id) at: vec3<u32>) {
    var p = at.x + 1u;
    var q = at.y + 1u;
    while q != 0u {
        let rest = p % q;
        p = q;
        q = rest;
    }
    if p == 1u { atomicAdd(&total[0], 1u); }
}

// The number of bits of all words.
@compute @workgroup_size(64)
fn bit_count(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&x) { atomicAdd(&total[0], countOneBits(x[at.x])); }
}

// A stack of work in shared memory: 63 nodes of a tree, each visited once.
@compute @workgroup_size(32)
fn work_queue(@builtin(local_invocation_index) i: u32) {
    for (var level = 0u; level < 6u; level += 1u) {
        let width = 1u << level;
        if i < width {
            let node = width - 1u + i;
            if level > 0u { a[node] = a[(node - 1u) / 2u] + 1u; }
            y[node] = a[node];
        }
        workgroupBarrier();
    }
}

// A lock: one invocation at a time may add, by compare and exchange.
@compute @workgroup_size(64)
fn compare_exchange_product(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&x) { return; }
    var old = atomicLoad(&total[0]);
    for (var round = 0u; round < 4096u; round += 1u) {
        let done = atomicCompareExchangeWeak(&total[0], old, old * 3u);
        if done.exchanged { return; }
        old = done.old_value;
    }
}
