//! Memory that functions take beside their results, as `docs/performance.md` states it.

use std::sync::Arc;

use vkarray::array::{Bool, Complex32};
use vkarray::memory::managers::{AllocationStatistics, ManagerFactory, PoolManager};
use vkarray::prelude::*;
use vkarray::primitives::{PadMode, Side};

/// What is small beside the arrays of this test: the sums of tiles, counters, edges and weights.
const SMALL: i64 = 16 << 10;

#[test]
fn the_memory_beside_results_is_what_the_guide_states() {
    let statistics = Arc::new(AllocationStatistics::new(PoolManager::new()));
    let shared = Arc::clone(&statistics);
    let factory = ManagerFactory::new(move || Ok(Box::new(Arc::clone(&shared))));
    let ctx = Context::builder().memory_manager(factory).open().unwrap();
    let n = 1 << 20;
    let x = ctx.arange(0.0_f32, 1048576.0, 1.0).unwrap();
    let (rows, places) = (x.reshape([1024, 1024]).unwrap(), x.cast::<u32>().eval().unwrap());
    let mask: DeviceNDArray<Bool> = x.less(1000.0).eval().unwrap();
    let (complex, filter) = (ctx.full(n, Complex32::default()).unwrap(), ctx.full([5, 5], 1.0_f32).unwrap());
    // The most bytes that a call has beside its result: what is expected, and at most so many more.
    let beside = |name: &str, [expected, more]: [usize; 2], call: &dyn Fn() -> vkarray::Result<u64>| {
        call().unwrap(); // The first call builds kernels, for which some devices need memory.
        ctx.synchronize().unwrap(); // An upload that the device has not finished would need more memory of the host.
        let scope = statistics.scope();
        let nbytes = call().unwrap();
        let found = scope.end().unwrap().bytes.peak - nbytes.cast_signed();
        let [expected, more] = [expected, more].map(|nbytes| i64::try_from(nbytes).unwrap());
        assert!((expected..=expected + more + SMALL).contains(&found), "{name}: {found} bytes, {expected} expected");
    };
    // The counts of a radix sort's tiles, of 512 keys and more.
    let counts = 2 * 1024 * (n / 512);
    let size = |array: DeviceNDArray<f32>| array.nbytes();
    beside("an expression", [0, 0], &|| Ok(size((&x * 2.0 + &x).eval()?)));
    beside("sum", [0, 0], &|| Ok(size(x.sum(..)?)));
    beside("cumulative_sum", [0, 0], &|| Ok(size(x.cumulative_sum(0)?)));
    beside("sort of rows", [0, 0], &|| Ok(size(x.reshape([2048, 512])?.sort(1)?)));
    beside("sort", [4 * n, counts], &|| Ok(size(x.sort(0)?)));
    beside("argsort", [12 * n, counts], &|| Ok(x.argsort(0)?.nbytes()));
    beside("top_k", [0, 40 * (100 * n).isqrt()], &|| Ok(x.top_k(100, 0)?.0.nbytes()));
    beside("compact", [n / 8, 0], &|| Ok(size(x.compact(&mask)?)));
    beside("searchsorted", [0, 0], &|| Ok(x.searchsorted(&x, Side::Left)?.nbytes()));
    beside("take", [0, 0], &|| Ok(size(x.take(&places, 0)?)));
    beside("histogram", [0, 0], &|| x.histogram(256, 0.0..=1.0).map(|(counts, _)| counts.nbytes()));
    beside("transform of rows", [0, 0], &|| Ok(complex.reshape([1024, 1024])?.fft(1)?.nbytes()));
    beside("transform", [8 * n, 0], &|| Ok(complex.fft(0)?.nbytes()));
    beside("correlate", [0, 0], &|| Ok(size(rows.correlate(&filter, PadMode::Edge)?)));
    beside("product", [0, 264 * 128 * 128 * 4], &|| Ok(size(rows.matmul(&rows)?)));
    beside("unique_values", [5 * n, n / 8 + counts], &|| Ok(size(x.unique_values()?)));
    beside("quantile", [8 * n, counts], &|| Ok(size(x.quantile(0.5, ..)?)));
    beside("transpose", [0, 0], &|| Ok(size(rows.t().copy()?)));
    beside("put", [16 * n, counts], &|| x.put(&places, &filter).map(|()| 0));
}
