// Notes of the uses of buffers, which the report's buffer holds: two words a granule. The first is the workgroup that used
// it last, or that several have read it, the second the use, as for shared memory.

fn read_buffer_granule(at: u32, byte: u32, site: u32) {
    // Not an exchange: nobody may see this workgroup as the only reader while there is another.
    let owner = atomicMax(&report.notes[at], group_number);
    if owner != 0u && owner != group_number {
        atomicStore(&report.notes[at], SEVERAL);
        let is_written = kind_of(atomicLoad(&report.notes[at + 1u])) == WRITTEN;
        if is_written && atomicLoad(&arrived[SYNCHRONISED]) == 0u {
            found(site, GROUP_READS, byte, owner);
        }
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
    let owner = atomicExchange(&report.notes[at], group_number);
    let old = atomicExchange(&report.notes[at + 1u], note_of(WRITTEN, buffer_epoch));
    if owner != 0u && owner != group_number {
        if atomicLoad(&arrived[SYNCHRONISED]) == 0u {
            found(site, select(GROUP_WRITES_READ, GROUP_WRITES, kind_of(old) == WRITTEN), byte, owner);
        }
    } else if is_of(old, buffer_epoch) && !is_mine(old) {
        found(site, RACE_ON_WRITE, byte, old);
    }
}

// The words of a granule's notes, or u32::MAX if none are kept.
fn buffer_note(buffer: u32, byte: u32) -> u32 {
    let first = report.first_notes[buffer];
    let at = first + 2u * (byte / BUFFER_GRANULE);
    return select(0xffffffffu, at, first != 0xffffffffu && at + 1u < arrayLength(&report.notes));
}

fn buffer_read(buffer: u32, byte: u32, site: u32) {
    let note = buffer_note(buffer, byte);
    if note != 0xffffffffu {
        read_buffer_granule(note, byte, site);
    }
}

fn buffer_write(buffer: u32, byte: u32, site: u32) {
    let note = buffer_note(buffer, byte);
    if note != 0xffffffffu {
        write_buffer_granule(note, byte, site);
    }
}

fn buffer_reads(buffer: u32, start: u32, bytes: u32, stride: u32, count: u32, site: u32) {
    for (var i = 0u; i < count; i++) {
        for (var at = 0u; at < bytes; at += BUFFER_GRANULE) {
            buffer_read(buffer, start + i * stride + at, site);
        }
    }
}

fn buffer_writes(buffer: u32, start: u32, bytes: u32, stride: u32, count: u32, site: u32) {
    for (var i = 0u; i < count; i++) {
        for (var at = 0u; at < bytes; at += BUFFER_GRANULE) {
            buffer_write(buffer, start + i * stride + at, site);
        }
    }
}
