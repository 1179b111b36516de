//! Proof that the fixture sees: each test does something wrong through raw Vulkan, and expects to be told.
//!
//! Newer layers look at what shaders touch only when `syncval_shader_accesses_heuristic` is on;
//! `InstanceBuilder::validation` turns it on. The last of these tests fails under a layer that does not look, since no
//! dispatch of the whole suite is judged then.

use ash::vk;
use vkarray::Groups;
use vkarray::device::Error as DriverError;
use vkarray_driver::Recorder;

use crate::fixture::Fixture;
use crate::kernels::{keep_busy, spin, step};

#[test]
fn a_good_test_is_told_nothing() {
    assert_eq!(Fixture::open().close(), [] as [String; 0]);
}

#[test]
fn a_broken_rule_is_told() {
    let mut fixture = Fixture::open();
    let device = fixture.device().raw();
    let info = vk::BufferCreateInfo::default().size(0).usage(vk::BufferUsageFlags::STORAGE_BUFFER);
    // SAFETY: deliberately not kept: the size must not be zero. The drivers of the suite allocate nothing for it.
    let buffer = unsafe { device.create_buffer(&info, None) };
    if let Ok(buffer) = buffer {
        // SAFETY: created above and used nowhere.
        unsafe { device.destroy_buffer(buffer, None) };
    }
    assert_told(&mut fixture, "VUID-VkBufferCreateInfo-size-00912");
}

#[test]
fn a_leaked_object_is_told() {
    let mut fixture = Fixture::open();
    let info = vk::SemaphoreCreateInfo::default();
    // SAFETY: `info` is complete; the handle is leaked on purpose.
    unsafe { fixture.device().raw().create_semaphore(&info, None) }.unwrap();
    assert_told(&mut fixture, "VUID-vkDestroyDevice-device-");
}

#[test]
fn a_held_device_is_told() {
    let mut fixture = Fixture::open();
    let array = fixture.zeros::<u8>([1]).unwrap();
    let complaints = fixture.close();
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].starts_with("leak: "), "{complaints:?}");
    drop(array);
    assert_eq!(fixture.close(), [] as [String; 0]);
}

#[test]
fn a_hazard_between_two_copies_is_told() {
    let mut fixture = Fixture::open();
    let blocks = [(); 3].map(|()| fixture.zeros::<u32>([16]).unwrap());
    fixture.synchronize().unwrap();
    let [a, b, c] = blocks.each_ref().map(|array| array.block().buffer());
    let region = [vk::BufferCopy { src_offset: 0, dst_offset: 0, size: 64 }];
    let copies = |recorder: &mut Recorder<'_>| -> Result<(), DriverError> {
        let device = recorder.device().raw();
        // SAFETY: the ranges lie in their buffers, which live until the stream has been waited for.
        unsafe { device.cmd_copy_buffer(recorder.commands(), a, b, &region) };
        // SAFETY: as above; that nothing orders it after the first copy is the point.
        unsafe { device.cmd_copy_buffer(recorder.commands(), b, c, &region) };
        Ok(())
    };
    // SAFETY: deliberately not kept: the accesses are not listed. The blocks hold equal bytes, so no order shows.
    unsafe { fixture.default_stream().record(&[], copies) }.unwrap();
    fixture.synchronize().unwrap();
    drop(blocks);
    assert_told(&mut fixture, "SYNC-HAZARD-READ-AFTER-WRITE");
}

#[test]
fn a_hazard_between_a_copy_and_a_dispatch_is_told() {
    let mut fixture = Fixture::open();
    let (busy, array) = (fixture.zeros::<u32>([1]).unwrap(), fixture.zeros::<u32>([64]).unwrap());
    let (spin, step) = (spin(&fixture), step(&fixture));
    let stream = fixture.stream().unwrap();
    fixture.synchronize().unwrap();
    // While this runs, what follows stays in one batch: inside it every version of the layer looks.
    keep_busy(&stream, &spin, &busy);
    stream.flush().unwrap();
    let buffer = array.block().buffer();
    let fill = |recorder: &mut Recorder<'_>| -> Result<(), DriverError> {
        // SAFETY: the range is the whole buffer, which lives until the stream has been waited for.
        unsafe { recorder.device().raw().cmd_fill_buffer(recorder.commands(), buffer, 0, vk::WHOLE_SIZE, 0) };
        Ok(())
    };
    // SAFETY: deliberately not kept: the write is not listed, so nothing orders the dispatch after it.
    unsafe { stream.record(&[], fill) }.unwrap();
    step.dispatch(&stream, Groups::covering([64]), (&array, 1_u32)).unwrap();
    stream.synchronize().unwrap();
    drop((stream, spin, step, busy, array));
    // The kernel reads and writes the array, and a layer names the one or the other.
    assert_told(&mut fixture, "SYNC-HAZARD-");
}

/// Closes the fixture and expects exactly the one complaint.
fn assert_told(fixture: &mut Fixture, id: &str) {
    let complaints = fixture.close();
    assert!(complaints.len() == 1 && complaints[0].contains(id), "expected {id}, was told: {complaints:?}");
}
