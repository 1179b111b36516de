//! The text of the report, compared with `report.txt`.

use super::*;
use crate::error::{OomStep, StepOutcome};

const GIB: u64 = 1 << 30;

fn full() -> OutOfMemory {
    let mut report = OutOfMemory::new(4 * GIB, MemoryKind::Device, Shortage::DeviceMemory);
    let budget = Some(HeapBudget { budget: 79 * GIB, usage: 78 * GIB + GIB / 2 });
    report.heap = Some(HeapUse { index: 0, size: 80 * GIB, budget });
    (report.in_use, report.reserved, report.largest_free) = (77 * GIB, 78 * GIB, Some(GIB / 2));
    let weights = BlockLabel::array("f32", &[40960, 262_144]).with_name("weights");
    let rest: Vec<_> =
        (1_u32..=11).map(|n| (u64::from(n) << 20, BlockLabel::array("u8", &[1 << 10, 1 << 10, n as usize]))).collect();
    report.set_live_blocks(rest.iter().map(|(n, label)| (*n, label)).chain([(40 * GIB, &weights)]));
    report.n_pending = 3;
    report.pending = vec![PendingOn { stream: Some(2), bytes: 3 * GIB }, PendingOn { stream: None, bytes: 512 }];
    for step in OomStep::ALL {
        report.steps.record(step, StepOutcome::Absent);
    }
    report.steps.record(OomStep::Reclaim, StepOutcome::Nothing);
    report.steps.record(OomStep::Wait, StepOutcome::TimedOut);
    report.steps.record(OomStep::Dedicated, StepOutcome::Relieved);
    report
}

/// The text is a part of the interface: people read it when their program has just ended.
#[test]
fn the_report_is_the_checked_in_text() {
    let mut bare = OutOfMemory::new(5 * GIB, MemoryKind::Pinned, Shortage::HeapSize);
    bare.heap = Some(HeapUse { index: 1, size: 2 * GIB, budget: None });
    let unknown = OutOfMemory::new(1, MemoryKind::Shared, Shortage::Limit(1000));
    let text = format!("{}\n\n{bare}\n\n{unknown}\n", full());
    assert_eq!(text, include_str!("report.txt"), "\n{text}");
}

#[test]
fn each_shortage_reads_differently() {
    use Shortage as S;
    let all = [
        S::DeviceMemory,
        S::HostMemory,
        S::Objects,
        S::HostAddresses,
        S::HeapSize,
        S::AllocationSize(7),
        S::Budget(7),
        S::Limit(7),
    ];
    let texts: std::collections::BTreeSet<_> = all.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), all.len());
}

#[test]
fn the_ten_largest_are_listed_and_all_are_counted() {
    for n in 0..=12 {
        let blocks: Vec<_> = (0..n).map(|i| (i as u64, BlockLabel::array("f32", &[i]))).collect();
        let mut report = OutOfMemory::new(1, MemoryKind::Device, Shortage::DeviceMemory);
        report.set_live_blocks(blocks.iter().map(|(bytes, label)| (*bytes, label)));
        let listed: Vec<_> = report.largest.iter().map(|block| block.bytes).collect();
        let expected: Vec<_> = (0..n as u64).rev().take(10).collect();
        assert_eq!((report.n_live, listed), (n, expected));
    }
}
