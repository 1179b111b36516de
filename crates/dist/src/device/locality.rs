//! Which devices are near the cores that a rank may use, as Linux tells it, and which device each rank of a host takes.

use std::fs;
use std::ops::RangeInclusive;

/// Cores by their numbers. None known is an empty list.
pub(super) type Cores = Vec<RangeInclusive<u32>>;

/// The cores on which this process may run, as the launcher bound it.
pub(super) fn cores_of_process() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or_default().trim().to_owned()
}

/// The cores near a device at an address on the PCI bus.
pub(super) fn cores_near(pci_address: Option<&str>) -> Cores {
    let path = pci_address.map(|address| format!("/sys/bus/pci/devices/{address}/local_cpulist"));
    cores(&path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default())
}

/// The cores in a list of Linux, such as `0-3,8`. A list that is not understood has none.
pub(super) fn cores(list: &str) -> Cores {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.trim().split(',').map(range).collect::<Option<Cores>>().unwrap_or_default()
}

/// The device of each rank of a host, from the cores of each rank and those near each device, of which there is at least
/// one: devices are shared by as few ranks as possible, then a near device is taken before a far one, then the first. Ranks
/// with the fewest near devices choose first.
pub(super) fn assigned(ranks: &[Cores], devices: &[Cores]) -> Vec<usize> {
    // Where nothing is known, every device is as near as the others.
    let is_near = |rank: &Cores, device: &Cores| {
        let meet = |a: &RangeInclusive<u32>, b: &RangeInclusive<u32>| a.start() <= b.end() && b.start() <= a.end();
        rank.is_empty() || device.is_empty() || rank.iter().any(|a| device.iter().any(|b| meet(a, b)))
    };
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by_key(|&rank| devices.iter().filter(|device| is_near(&ranks[rank], device)).count());
    let (mut taken, mut uses) = (vec![0; ranks.len()], vec![0_usize; devices.len()]);
    for rank in order {
        let cost = |&device: &usize| (uses[device], !is_near(&ranks[rank], &devices[device]), device);
        taken[rank] = (0..devices.len()).min_by_key(cost).unwrap_or(0);
        uses[taken[rank]] += 1;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_linux_are_read() {
        assert_eq!(cores("0-3,8,10-11\n"), [0..=3, 8..=8, 10..=11]);
        assert_eq!(["", "x", "0-", "1,,2"].map(cores), [const { Vec::new() }; 4]);
        assert_eq!(cores_near(None), []);
        assert_eq!(cores_near(Some("no such address")), []);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_has_cores() {
        assert_ne!(cores(&cores_of_process()), []);
    }

    #[test]
    fn ranks_take_near_devices_and_share_them_only_where_there_are_too_few() {
        // Two processors, with the cores 0 to 7 and 8 to 15, and devices near one of them.
        let (a, b, all, unknown) = ("0-7", "8-15", "0-15", "");
        for (ranks, devices, expected) in [
            // Ranks that are not bound take the devices in turn.
            (&[all; 5][..], &[a, a, b, b][..], &[0, 1, 2, 3, 0][..]),
            (&[all, all], &[b, a], &[0, 1]),
            (&[unknown, unknown, unknown], &[a, b], &[0, 1, 0]),
            (&[a, b, a], &[unknown, unknown], &[0, 1, 0]),
            // Bound by processors in turn, or one after the other.
            (&[a, b, a, b], &[a, a, b, b], &[0, 2, 1, 3]),
            (&[a, a, b, b], &[b, b, a, a], &[2, 3, 0, 1]),
            (&["3", "9", "4", "8-9"], &[b, a, b, a], &[1, 0, 3, 2]),
            // A device of its own is worth more than a near one.
            (&[a, a], &[a, b], &[0, 1]),
            (&[a, a, a, b], &[a, b], &[0, 1, 0, 1]),
            // The rank that has a choice leaves the near device to the one that has none.
            (&[all, a], &[a, b], &[1, 0]),
            (&[], &[a], &[]),
        ] {
            let of = |lists: &[&str]| lists.iter().map(|list| cores(list)).collect::<Vec<_>>();
            assert_eq!(assigned(&of(ranks), &of(devices)), expected, "{ranks:?} {devices:?}");
        }
    }
}
