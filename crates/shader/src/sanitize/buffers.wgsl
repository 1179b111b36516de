// Notes of the uses of buffers, which the report's buffer holds: two words a granule. The first is the workgroup that used
// it last, the second the use, as for shared memory. Uses by several workgroups are not compared.

// Whether the notes are kept, and whether the last use, if there was one, was this workgroup's.
fn claim_granule(at: u32) -> bool {
    let owner = atomicExchange(&report.notes[at], group_number);
    return owner == 0u || owner == group_number;
}

fn read_buffer_granule(at: u32, byte: u32, site: u32) {
    if !claim_granule(at) {
        atomicStore(&report.notes[at + 1u], note_of(READ, buffer_epoch));
        return;
    }
    let old = atomicMax(&report.notes[at + 1u], note_of(READ, buffer_epoch));
    if is_of(old, buffer_epoch) && !is_mine(old) {
        let older = atomicMax(&report.notes[at + 1u], note_of(READ_BY_SEVERAL, buffer_epoch));
        if is_of(older, buffer_epoch) && kind_of(older) == WRITTEN {
            found(site, RACE_ON_READ, byte, older);
        }
    }
}

fn write_buffer_granule(at: u32, byte: u32, site: u32) {
    let is_ours = claim_granule(at);
    let old = atomicExchange(&report.notes[at + 1u], note_of(WRITTEN, buffer_epoch));
    if is_ours && is_of(old, buffer_epoch) && !is_mine(old) {
        found(site, RACE_ON_WRITE, byte, old);
    }
}

// The words of a granule's notes, or u32::MAX if none are kept.
fn buffer_note(buffer: u32, byte: u32) -> u32 {
    let first = report.first_notes[buffer];
    let at = first + 2u * (byte / BUFFER_GRANULE);
    return select(0xffffffffu, at, first != 0xffffffffu && at + 1u < arrayLength(&report.notes));
}

fn buffer_read(buffer: u32, start: u32, bytes: u32, stride: u32, count: u32, site: u32) {
    for (var i = 0u; i < count; i++) {
        for (var at = 0u; at < bytes; at += BUFFER_GRANULE) {
            let byte = start + i * stride + at;
            let note = buffer_note(buffer, byte);
            if note != 0xffffffffu {
                read_buffer_granule(note, byte, site);
            }
        }
    }
}

fn buffer_write(buffer: u32, start: u32, bytes: u32, stride: u32, count: u32, site: u32) {
    for (var i = 0u; i < count; i++) {
        for (var at = 0u; at < bytes; at += BUFFER_GRANULE) {
            let byte = start + i * stride + at;
            let note = buffer_note(buffer, byte);
            if note != 0xffffffffu {
                write_buffer_granule(note, byte, site);
            }
        }
    }
}
