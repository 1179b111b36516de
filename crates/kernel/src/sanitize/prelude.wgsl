// The functions that checks call. What they depend on stands before them; see prelude.rs.
var<private> id: vec3<u32>;
var<private> local_index: u32;
var<private> first_note: u32;
var<private> epoch: u32;
var<private> phase: u32;

fn begin(global: vec3<u32>, local: u32, workgroup: vec3<u32>, workgroups: vec3<u32>) {
    id = global;
    local_index = local;
    first_note = ((workgroup.z * workgroups.y + workgroup.y) * workgroups.x + workgroup.x) * N_GRANULES;
    epoch = 1u;
    phase = 0u;
}

// Only the first finding of a dispatch is kept.
fn found(site: u32, what: u32, a: u32, b: u32) {
    if atomicLoad(&report.claim) != 0u || atomicExchange(&report.claim, 1u) != 0u {
        return;
    }
    report.site = site;
    report.what = what;
    report.a = a;
    report.b = b;
    report.x = id.x;
    report.y = id.y;
    report.z = id.z;
}

fn check(is_bad: bool, site: u32, what: u32, a: u32, b: u32) {
    if is_bad {
        found(site, what, a, b);
    }
}

fn note_of(kind: u32) -> u32 {
    return (epoch << EPOCH_SHIFT) | (kind << KIND_SHIFT) | local_index;
}

fn is_now(note: u32) -> bool {
    return (note >> EPOCH_SHIFT) == epoch;
}

fn kind_of(note: u32) -> u32 {
    return (note >> KIND_SHIFT) & 3u;
}

fn is_mine(note: u32) -> bool {
    return (note & INVOCATION) == local_index && kind_of(note) != READ_BY_SEVERAL;
}

fn read_granule(at: u32, site: u32) {
    let old = note_most(at, note_of(READ));
    if old == 0u {
        found(site, UNINITIALISED, at * GRANULE, 0u);
    } else if is_now(old) && !is_mine(old) {
        // A writer that comes between the two sees one reader only. So this one looks again.
        let older = note_most(at, note_of(READ_BY_SEVERAL));
        if is_now(older) && kind_of(older) == WRITTEN {
            found(site, RACE_ON_READ, at * GRANULE, older);
        }
    }
}

fn write_granule(at: u32, site: u32) {
    let old = replace(at, note_of(WRITTEN));
    if old != 0u && is_now(old) && !is_mine(old) {
        found(site, RACE_ON_WRITE, at * GRANULE, old);
    }
}

fn shared_read(start: u32, bytes: u32, stride: u32, count: u32, site: u32) {
    for (var i = 0u; i < count; i++) {
        for (var at = 0u; at < bytes; at += GRANULE) {
            read_granule((start + i * stride + at) / GRANULE, site);
        }
    }
}

fn shared_write(start: u32, bytes: u32, stride: u32, count: u32, site: u32) {
    for (var i = 0u; i < count; i++) {
        for (var at = 0u; at < bytes; at += GRANULE) {
            write_granule((start + i * stride + at) / GRANULE, site);
        }
    }
}

// Atomic operations race with nothing that the language allows on the same memory.
fn atomic_read(start: u32, bytes: u32, site: u32) {
    for (var at = 0u; at < bytes; at += GRANULE) {
        if load((start + at) / GRANULE) == 0u {
            found(site, UNINITIALISED, start, 0u);
        }
    }
}

fn atomic_write(start: u32, bytes: u32, site: u32) {
    for (var at = 0u; at < bytes; at += GRANULE) {
        replace((start + at) / GRANULE, 1u << KIND_SHIFT);
    }
}

fn arrive(site: u32) {
    let slot = (phase % 3u) * 3u;
    atomicAdd(&arrived[slot], 1u);
    atomicMax(&arrived[slot + 1u], site);
    atomicMax(&arrived[slot + 2u], ~site);
}

// After the barrier; `orders` is 1 if it orders shared memory.
fn passed(site: u32, orders: u32) {
    let slot = (phase % 3u) * 3u;
    let n = atomicLoad(&arrived[slot]);
    if n != INVOCATIONS || atomicLoad(&arrived[slot + 1u]) != site || atomicLoad(&arrived[slot + 2u]) != ~site {
        found(site, DIVERGENT_BARRIER, n, INVOCATIONS);
    }
    let next = ((phase + 2u) % 3u) * 3u;
    atomicStore(&arrived[next], 0u);
    atomicStore(&arrived[next + 1u], 0u);
    atomicStore(&arrived[next + 2u], 0u);
    phase += 1u;
    epoch += orders;
}
