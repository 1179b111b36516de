// The functions that checks call. What they depend on stands before them; see prelude.rs.
var<private> id: vec3<u32>;
var<private> local_index: u32;
// Invocations that are told apart as one. One, unless the kernel has barriers of a subgroup.
var<private> lanes: u32;
var<private> first_note: u32;
// From 1, as zero means that no workgroup has used the memory.
var<private> group_number: u32;
// Advanced by each barrier that orders shared memory, and by each that orders buffers.
var<private> epoch: u32;
var<private> buffer_epoch: u32;
var<private> phase: u32;
// Of all loops of the invocation.
var<private> rounds: u32;

fn begin(global: vec3<u32>, local: u32, workgroup: vec3<u32>, workgroups: vec3<u32>, subgroup_size: u32) {
    id = global;
    local_index = local;
    lanes = subgroup_size;
    let number = (workgroup.z * workgroups.y + workgroup.y) * workgroups.x + workgroup.x;
    first_note = number * N_GRANULES;
    group_number = number + 1u;
    epoch = 1u;
    buffer_epoch = 1u;
    phase = 0u;
    rounds = 0u;
    clear(local);
}

// Only the first finding of each rank is kept.
fn found_at(rank: u32, site: u32, what: u32, a: u32, b: u32) {
    if atomicLoad(&report.findings[rank].claim) != 0u || atomicExchange(&report.findings[rank].claim, 1u) != 0u {
        return;
    }
    report.findings[rank].site = site;
    report.findings[rank].what = what;
    report.findings[rank].a = a;
    report.findings[rank].b = b;
    report.findings[rank].x = id.x;
    report.findings[rank].y = id.y;
    report.findings[rank].z = id.z;
}

fn found(site: u32, what: u32, a: u32, b: u32) {
    found_at(0u, site, what, a, b);
}

// A read before any write is a race if another invocation writes later, without a barrier: that finding comes first.
fn found_uninitialised(site: u32, a: u32) {
    found_at(1u, site, UNINITIALISED, a, 0u);
}

fn check(is_bad: bool, site: u32, what: u32, a: u32, b: u32) {
    if is_bad {
        found(site, what, a, b);
    }
}

// Whether a loop has had too many rounds, or so many that another invocation's finding should end it.
fn is_endless(site: u32) -> bool {
    rounds += 1u;
    if rounds >= MAX_ROUNDS {
        found(site, ENDLESS_LOOP, MAX_ROUNDS, 0u);
        return true;
    }
    return (rounds & 1023u) == 0u && atomicLoad(&report.findings[0].claim) != 0u;
}

fn note_of(kind: u32, now: u32) -> u32 {
    return (now << EPOCH_SHIFT) | (kind << KIND_SHIFT) | local_index;
}

fn is_of(note: u32, now: u32) -> bool {
    return (note >> EPOCH_SHIFT) == now;
}

fn kind_of(note: u32) -> u32 {
    return (note >> KIND_SHIFT) & 3u;
}

fn is_mine(note: u32) -> bool {
    return (note & INVOCATION) / lanes == local_index / lanes && kind_of(note) != READ_BY_SEVERAL;
}

fn read_granule(at: u32, site: u32) {
    let old = note_most(at, note_of(READ, epoch));
    if old == 0u {
        found_uninitialised(site, at * GRANULE);
    } else if is_of(old, epoch) && !is_mine(old) {
        // A writer that comes between the two sees one reader only. So this one looks again.
        let older = note_most(at, note_of(READ_BY_SEVERAL, epoch));
        if is_of(older, epoch) && kind_of(older) == WRITTEN {
            found(site, RACE_ON_READ, at * GRANULE, older);
        }
    }
}

fn write_granule(at: u32, site: u32) {
    let old = replace(at, note_of(WRITTEN, epoch));
    if is_of(old, epoch) && !is_mine(old) {
        found(site, RACE_ON_WRITE, at * GRANULE, old);
    }
}

// A granule by the number of its byte. Without a loop: some drivers end an invocation after a number of rounds.
fn shared_read(byte: u32, site: u32) {
    read_granule(byte / GRANULE, site);
}

fn shared_write(byte: u32, site: u32) {
    write_granule(byte / GRANULE, site);
}

fn shared_reads(start: u32, bytes: u32, stride: u32, count: u32, site: u32) {
    for (var i = 0u; i < count; i++) {
        for (var at = 0u; at < bytes; at += GRANULE) {
            shared_read(start + i * stride + at, site);
        }
    }
}

fn shared_writes(start: u32, bytes: u32, stride: u32, count: u32, site: u32) {
    for (var i = 0u; i < count; i++) {
        for (var at = 0u; at < bytes; at += GRANULE) {
            shared_write(start + i * stride + at, site);
        }
    }
}

// Atomic operations race with nothing that the language allows on the same memory.
fn atomic_read(byte: u32, site: u32) {
    if load(byte / GRANULE) == 0u {
        found_uninitialised(site, byte);
    }
}

fn atomic_write(byte: u32, site: u32) {
    replace(byte / GRANULE, 1u << KIND_SHIFT);
}

// The workgroup has used a buffer by an atomic operation, by which it may know what other workgroups have done.
fn synchronise() {
    atomicStore(&arrived[SYNCHRONISED], 1u);
}

fn arrive(site: u32) {
    let slot = (phase % 3u) * 3u;
    atomicAdd(&arrived[slot], 1u);
    atomicMax(&arrived[slot + 1u], site);
    atomicMax(&arrived[slot + 2u], ~site);
}

// After the barrier; of `orders` bit 0 says that it orders shared memory, bit 1 that it orders buffers.
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
    epoch += orders & 1u;
    buffer_epoch += orders >> 1u;
}
