//! The time to open the device, and to build the kernels of `bench startup` with wgpu: a module for each text, and a
//! pipeline for each of its entry points.

use anyhow::Result;
use vkarray_benches::{ENTRIES, Opening, VARIANTS, first_number};

use crate::peer::Peer;

pub(crate) fn measure(peer: &Peer, opening: Opening) -> Result<()> {
    opening.print(peer.report);
    let mut number = first_number();
    let times = peer.host_runs(|| {
        number += 1;
        for variant in VARIANTS {
            // A number of the program is an immediate only if the device is opened for that.
            let text = variant.shader(number).replace("var<immediate>", "@group(0) @binding(3) var<uniform>");
            let module = peer.module(&text);
            ENTRIES.into_iter().for_each(|entry| drop(peer.pipeline_of(&module, entry)));
        }
        Ok(())
    })?;
    peer.report.micros("startup_20_kernels_cold", &times, 1);
    Ok(())
}
