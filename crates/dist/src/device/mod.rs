//! Which device a rank computes on, and a report of where all ranks are. **Start** at [`open_context`].

mod report;

use vkarray::Context;
use vkarray::device::{DeviceInfo, DeviceType, Instance, Selection};

pub use report::{Link, RankReport, Report};

use crate::error::DistError;
use crate::transport::Transport;

/// Opens the device of a rank: the ranks of a host take its devices in turn, so that several ranks share a device only
/// where there are more ranks than devices.
///
/// The devices are those of the best kind that `VKARRAY_VISIBLE_DEVICES` leaves, in its order; a device that two drivers
/// list counts once. If `VKARRAY_DEVICE` names a device, all ranks that have this variable take it.
///
/// Blocks until the device is open. Sends no message.
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
/// There is no device, none is as the variables ask, or it cannot be opened.
pub fn open_context(transport: &dyn Transport) -> Result<Context, DistError> {
    let selection = Selection::from_environment(None);
    if selection.device_variable.is_some() {
        return Ok(Context::open_default()?);
    }
    let devices = Instance::new().and_then(|instance| instance.devices()).map_err(vkarray::Error::from)?;
    let infos: Vec<DeviceInfo> = devices.iter().map(|device| DeviceInfo::clone(device.info())).collect();
    let visible = selection.visible(&infos).map_err(vkarray::Error::from)?;
    let best = infos[selection.choose(&infos).map_err(vkarray::Error::from)?].device_type;
    let candidates: Vec<_> = visible.iter().map(|&at| (infos[at].device_type, infos[at].uuid.as_str())).collect();
    let uuid = in_turn(&candidates, best, transport.place().local_rank);
    Ok(Context::builder().device(format!("uuid:{uuid}")).open()?)
}

/// The UUID of the device of a rank among the devices of its host, at least one of which is of the best kind.
fn in_turn<'d>(devices: &[(DeviceType, &'d str)], best: DeviceType, local_rank: usize) -> &'d str {
    let mut uuids: Vec<&str> = Vec::new();
    for &(_, uuid) in devices.iter().filter(|&&(kind, _)| kind == best) {
        if !uuids.contains(&uuid) {
            uuids.push(uuid);
        }
    }
    uuids[local_rank % uuids.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_take_the_devices_of_the_best_kind_in_turn() {
        use DeviceType::{Cpu, Discrete, Integrated};
        for (devices, best, expected) in [
            (&[(Cpu, "c")][..], Cpu, ["c", "c", "c", "c"]),
            (&[(Cpu, "c"), (Discrete, "a"), (Discrete, "b")], Discrete, ["a", "b", "a", "b"]),
            // The order is that of the visible devices.
            (&[(Discrete, "b"), (Integrated, "i"), (Discrete, "a")], Discrete, ["b", "a", "b", "a"]),
            // Two drivers list one device.
            (&[(Discrete, "a"), (Discrete, "b"), (Discrete, "a")], Discrete, ["a", "b", "a", "b"]),
            (&[(Discrete, "a"), (Discrete, "b"), (Discrete, "d")], Discrete, ["a", "b", "d", "a"]),
        ] {
            let taken = [0, 1, 2, 3].map(|local_rank| in_turn(devices, best, local_rank));
            assert_eq!(taken, expected, "{devices:?}");
        }
    }
}
