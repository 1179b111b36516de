//! Which device a rank computes on, and a report of where all ranks are. **Start** at [`open_context`].

mod locality;
mod report;

use std::collections::BTreeMap;

use vkarray::Context;
use vkarray::device::{DeviceInfo, DeviceType, Instance, Selection};

pub use report::{RankReport, Report};

use crate::error::DistError;
use crate::transport::{Transport, share_texts};
use locality::{Cores, assigned, cores, cores_near, cores_of_process};

/// Opens the device of a rank: each rank of a host gets a device of its own, and only where there are more ranks than
/// devices they share them in turn. A rank that the launcher bound to cores gets a device near them, where Linux tells which
/// are near.
///
/// The devices are those of the best kind that `VKARRAY_VISIBLE_DEVICES` leaves, in its order; a device that two drivers
/// list counts once. If `VKARRAY_DEVICE` names a device, all ranks that have this variable take it.
///
/// All ranks call this function. Blocks until every rank has sent the list of its cores, and until the device is open.
///
/// ```
/// use vkarray_dist::{ThreadRank, Transport, open_context};
///
/// let names = ThreadRank::run(2, |rank| open_context(rank).map(|ctx| ctx.info().name.clone()));
/// # for name in names { assert!(!name?.is_empty()); }
/// # Ok::<(), anyhow::Error>(())
/// ```
///
/// # Errors
/// There is no device, none is as the variables ask, or it cannot be opened; or a rank has ended.
pub fn open_context(transport: &dyn Transport) -> Result<Context, DistError> {
    let place = transport.place();
    let own = format!("{} {} {}", place.host_rank, place.local_rank, cores_of_process());
    let texts = share_texts(transport, &own)?;
    // In the order of the ranks on this host.
    let ranks: BTreeMap<usize, Cores> = texts.iter().filter_map(|text| bound(text, place.host_rank)).collect();

    let selection = Selection::from_environment(None);
    if selection.device_variable.is_some() {
        return Ok(Context::open_default()?);
    }
    let devices = Instance::new().and_then(|instance| instance.devices()).map_err(vkarray::Error::from)?;
    let infos: Vec<DeviceInfo> = devices.iter().map(|device| DeviceInfo::clone(device.info())).collect();
    let visible = selection.visible(&infos).map_err(vkarray::Error::from)?;
    let best = infos[selection.choose(&infos).map_err(vkarray::Error::from)?].device_type;
    let candidates = best_devices(visible.iter().map(|&at| &infos[at]), best);
    let near: Vec<_> = candidates.iter().map(|info| cores_near(info.pci_address.as_deref())).collect();
    let devices = assigned(&ranks.values().cloned().collect::<Vec<_>>(), &near);
    let uuid = &candidates[devices[ranks.range(..place.local_rank).count()]].uuid;
    Ok(Context::builder().device(format!("uuid:{uuid}")).open()?)
}

/// The number of a rank among those of its host and its cores, if the host is the one of `host_rank`.
fn bound(text: &str, host_rank: usize) -> Option<(usize, Cores)> {
    let mut words = text.splitn(3, ' ');
    let mut number = || words.next()?.parse::<usize>().ok();
    let (host, local_rank) = (number()?, number()?);
    (host == host_rank).then(|| (local_rank, cores(words.next().unwrap_or_default())))
}

/// The devices of the best kind in their order, each once.
fn best_devices<'d>(devices: impl Iterator<Item = &'d DeviceInfo>, best: DeviceType) -> Vec<&'d DeviceInfo> {
    let mut candidates: Vec<&DeviceInfo> = Vec::new();
    for info in devices.filter(|info| info.device_type == best) {
        if candidates.iter().all(|other| other.uuid != info.uuid) {
            candidates.push(info);
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_tells_its_host_and_its_cores() {
        assert_eq!(bound("4 1 0-3,8", 4), Some((1, vec![0..=3, 8..=8])));
        assert_eq!(bound("4 1 ", 4), Some((1, Vec::new())));
        assert_eq!(bound("0 1 0-3", 4), None);
    }

    #[test]
    fn the_devices_of_the_best_kind_count_once() {
        let listed = Instance::new().unwrap().devices().unwrap();
        let device = |device_type, uuid: &str| DeviceInfo {
            device_type,
            uuid: uuid.to_owned(),
            ..DeviceInfo::clone(listed[0].info())
        };
        use DeviceType::{Cpu, Discrete, Integrated};
        // The order is that of the visible devices, and two drivers list one of them.
        let devices = [(Discrete, "b"), (Integrated, "i"), (Discrete, "a"), (Cpu, "c"), (Discrete, "b")];
        let devices = devices.map(|(kind, uuid)| device(kind, uuid));
        let uuids = |best| best_devices(devices.iter(), best).iter().map(|info| &*info.uuid).collect::<Vec<_>>();
        assert_eq!(uuids(Discrete), ["b", "a"]);
        assert_eq!(uuids(Cpu), ["c"]);
    }
}
