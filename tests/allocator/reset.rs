//! How much memory there is, labels of live memory, and the end of blocks when their allocator is reset.

use vkarray::interop::Confidence;
use vkarray::memory::managers::{PassthroughManager, PendingLimits, PoolManager};
use vkarray::memory::{Allocator, BlockLabel, Error as MemoryError, MemoryKind};
use vkarray::{Context, DType, Graph, Groups};

use crate::fixture::kernels::{step, stepped};
use crate::fixture::{Fixture, contents};

const ONE: Groups = Groups::exact([1, 1, 1]);

#[test]
fn free_memory_is_what_others_and_we_leave() {
    let fixture = Fixture::open();
    let allocator = fixture.allocator();
    let before = fixture.memory_info().unwrap();
    assert!(before.free <= before.total && before.total == fixture.info().device_memory_bytes(), "{before:?}");
    let has_budget = fixture.info().has_extension("VK_EXT_memory_budget");
    assert_eq!(before.confidence, if has_budget { Confidence::Budget } else { Confidence::OwnUse });
    let blocks = [(); 3].map(|()| allocator.allocate(32 << 20, MemoryKind::Device).unwrap());
    let with = fixture.memory_info().unwrap();
    if with.confidence == Confidence::OwnUse {
        assert_eq!(with.free, before.free - (96 << 20));
        drop(blocks);
        assert_eq!(fixture.memory_info().unwrap(), before, "what the pool keeps can be had");
    }
}

#[test]
fn dropped_memory_of_a_plain_manager_is_free_when_it_is_given_back() {
    let fixture = Fixture::open();
    let manager = PassthroughManager::new().with_pending_limits(PendingLimits::new(10, 1.0));
    let allocator = Allocator::with_manager(fixture.device(), Box::new(manager)).unwrap();
    let before = allocator.memory_info().unwrap();
    let block = allocator.allocate(32 << 20, MemoryKind::Device).unwrap();
    let with = allocator.memory_info().unwrap();
    if with.confidence == Confidence::OwnUse {
        assert_eq!(with.free, before.free - (32 << 20));
        drop(block);
        assert_eq!(allocator.memory_info().unwrap(), with, "what is pending is not free yet");
        allocator.flush().unwrap();
        assert_eq!(allocator.memory_info().unwrap(), before);
    }
}

#[test]
fn a_limit_of_the_pool_limits_what_is_free() {
    let fixture = Fixture::open();
    let limited = PoolManager::with_limit(64 << 20);
    let allocator = Allocator::with_manager(fixture.device(), Box::new(limited)).unwrap();
    assert_eq!(allocator.memory_info().unwrap().free, 64 << 20);
    let block = allocator.allocate(16 << 20, MemoryKind::Device).unwrap();
    assert_eq!(allocator.memory_info().unwrap().free, 48 << 20);
    drop(block);
    assert_eq!(allocator.memory_info().unwrap().free, 64 << 20);
}

#[test]
fn what_outlives_a_reset_is_refused_and_not_dangling() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.default_stream());
    let array = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    let view = array.slice([(0..5).into()]).unwrap();
    step.dispatch(stream, ONE, (&array, 3_u32)).unwrap(); // Runs on during and after the reset.
    fixture.reset().unwrap();
    let dead = "a block of 32 bytes of device memory (u32 (8,)) was made before the reset of its context, which ended it: \
         make it again";
    let block = array.block();
    let fresh = fixture.slice_to_device(&[7_u32; 8]).unwrap();
    let results = [
        ("read", array.copy_to_host().map(|_| ()).map_err(|e| e.to_string())),
        ("read of a view", view.copy_to_host().map(|_| ()).map_err(|e| e.to_string())),
        ("clone", array.clone().copy_to_host().map(|_| ()).map_err(|e| e.to_string())),
        ("write", block.copy_from_host(stream, 0, &[1]).map_err(|e| e.to_string())),
        ("write of nothing", block.copy_from_host(stream, 0, &[]).map_err(|e| e.to_string())),
        ("fill", block.fill(stream, 1).map_err(|e| e.to_string())),
        ("copy from", fresh.block().copy_from_block(stream, 0, block, 0..4).map_err(|e| e.to_string())),
        ("copy to", block.copy_from_block(stream, 0, fresh.block(), 0..4).map_err(|e| e.to_string())),
        ("dispatch", step.dispatch(stream, ONE, (&array, 3_u32)).map_err(|e| e.to_string())),
        ("dispatch on a view", step.dispatch(stream, ONE, (&view, 3_u32)).map_err(|e| e.to_string())),
    ];
    for (what, result) in results {
        assert_eq!(result.unwrap_err(), dead, "{what}");
    }
    let error = block.check_alive().unwrap_err();
    assert!(matches!(error, MemoryError::DeadMemory { size: 32, kind: MemoryKind::Device, label: Some(_) }));
    // Memory that is allocated after the reset works, also after a second reset.
    step.dispatch(stream, Groups::covering([8]), (&fresh, 3_u32)).unwrap();
    assert_eq!(contents(&fresh), [stepped(7, 3); 8]);
    drop((array, view, fresh));
    fixture.reset().unwrap();
    assert_eq!(fixture.allocator().usage().in_use, 0);
}

#[test]
fn a_reset_leaves_recorded_graphs_constants_and_other_contexts_alone() {
    let fixture = Fixture::open();
    let other = Context::on(fixture.device()).unwrap();
    let others = other.slice_to_device(&[5_u32; 3]).unwrap();
    let step = step(&fixture);
    let array = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    let (graph, _) = Graph::record(fixture.default_stream(), |graph| step.record(graph, ONE, (&array, 3_u32))).unwrap();
    let constant = fixture.const_array(&[1_u32, 2, 3, 4], [4]).unwrap();
    let reader = fixture.kernel(vkarray::Source::wgsl(
        "@group(0) @binding(0) var<uniform> table: vec4<u32>;
         @group(0) @binding(1) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(4) fn take(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = table[id.x]; }",
    ));
    let reader = reader.build().unwrap();
    let before = fixture.device_array::<u32>([4]).unwrap();
    reader.dispatch(fixture.default_stream(), ONE, (&constant, &before)).unwrap();
    fixture.reset().unwrap();
    graph.replay(fixture.default_stream()).unwrap();
    fixture.synchronize().unwrap();
    let after = fixture.device_array::<u32>([4]).unwrap();
    reader.dispatch(fixture.default_stream(), ONE, (&constant, &after)).unwrap();
    assert_eq!(contents(&after), [1, 2, 3, 4], "constants have a copy on the host");
    assert_eq!(contents(&others), [5; 3]);
    drop((graph, array, before, others));
}

#[test]
fn an_array_is_named_where_it_is_refused_and_where_it_is_held() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    let array = fixture.device_array::<f32>([4, 5]).unwrap();
    assert_eq!(array.block().label(), Some(BlockLabel::array("f32", &[4, 5])));
    assert_eq!(array.dtype(), DType::F32);
    let array = array.with_label("weights");
    assert_eq!(array.block().label(), Some(BlockLabel::array("f32", &[4, 5]).with_name("weights")));
    let error = step.dispatch(fixture.default_stream(), ONE, (&array, 1_u32)).unwrap_err().to_string();
    assert!(error.contains("`weights`"), "{error}");
    let mut view = array.reshape([20]).unwrap();
    assert_eq!(view.label(), Some("weights"), "a view has the name");
    view.set_label("flat weights");
    assert_eq!((view.label(), array.label()), (Some("flat weights"), Some("weights")));
    assert_eq!(array.block().label().unwrap().name(), Some("flat weights"), "memory has the last name given");
    let pinned =
        fixture.allocator().allocate_labelled(64, MemoryKind::Pinned, BlockLabel::new().with_name("staging")).unwrap();
    assert_eq!(pinned.label().unwrap().to_string(), "`staging`");
    drop((array, view, pinned));
}
