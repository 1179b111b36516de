//! The disk cache of kernels: later runs load from it, and damaged files and concurrent or killed processes do no harm.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs, thread};

use vkarray::device::Instance;
use vkarray::kernel::CacheSettings;
use vkarray::memory::Allocator;
use vkarray::{Context, Groups, Source};

use crate::fixture::{Fixture, is_false_report};

/// The environment variable with the folder for a test that runs as a child process.
const FOLDER: &str = "VKARRAY_TEST_CACHE_FOLDER";
const N_KERNELS: u32 = 6;
/// The longest wait for another process, in steps of 10 ms.
const STEPS: u32 = 6000;

/// The `i`-th of several different kernels: it computes `(x + i)²`, through shared memory.
fn kernel(i: u32) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
         var<workgroup> tile: array<u32, 64>;
         @compute @workgroup_size(64) fn square(
             @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32,
         ) {{
             tile[local] = x[id.x] + {i}u;
             workgroupBarrier();
             x[id.x] = tile[local] * tile[local];
         }}"
    )
}

/// Builds and runs all kernels, and checks their results. Results are read from idle memory, which no kernel of the
/// library copies, because the tests count the kernels.
fn run_all(context: &Context) {
    for i in 0..N_KERNELS {
        let kernel = context.kernel(Source::wgsl(kernel(i))).build().unwrap();
        let x = context.slice_to_device(&(0..64).collect::<Vec<u32>>()).unwrap();
        kernel.dispatch(context.default_stream(), Groups::covering([64]), (&x,)).unwrap();
        context.default_stream().synchronize().unwrap();
        let expected: Vec<u32> = (0..64).map(|x| (x + i) * (x + i)).collect();
        assert_eq!(x.to_vec().unwrap(), expected, "kernel {i}");
    }
}

/// A new context on the fixture's device, as in another run of the program.
fn on_disk(fixture: &Fixture, settings: CacheSettings) -> Context {
    Context::with_kernel_cache(&Allocator::new(fixture.device()).unwrap(), settings).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map_or_else(|_| Vec::new(), |found| found.map(|file| file.unwrap().path()).collect())
}

#[test]
fn a_second_run_loads_the_kernels_of_the_first() {
    let fixture = Fixture::open();
    let folder = tempfile::tempdir().unwrap();
    let first = on_disk(&fixture, CacheSettings::at(folder.path()));
    run_all(&first);
    let made = first.kernel_cache().counters();
    assert_eq!((made.translations.misses, made.translations.written, made.translations.hits), (6, 6, 0), "{made:?}");
    let second = on_disk(&fixture, CacheSettings::at(folder.path()).read_only());
    run_all(&second);
    let found = second.kernel_cache().counters();
    assert_eq!((found.translations.hits, found.translations.misses), (6, 0), "{found:?}");
    // Some drivers store nothing.
    assert_eq!(found.pipelines.hits, made.pipelines.written, "{found:?}");
    assert_eq!((found.translations.written, found.pipelines.written), (0, 0));
    // Within one run no file is looked up twice.
    run_all(&second);
    assert_eq!(second.kernel_cache().counters(), found);
}

#[test]
fn damaged_files_are_ignored_and_written_again() {
    let fixture = Fixture::open();
    let folder = tempfile::tempdir().unwrap();
    run_all(&on_disk(&fixture, CacheSettings::at(folder.path())));
    let n_files = files(folder.path()).len() as u64;
    type Damage = fn(&[u8]) -> Vec<u8>;
    let damages: [Damage; 4] = [
        |_| Vec::new(),
        |file| file[..file.len() / 2].to_vec(),
        |file| file.iter().map(|byte| !byte).collect(),
        |file| [&file[..file.len() - 1], &[!file[file.len() - 1]]].concat(),
    ];
    for (i, damage) in damages.iter().enumerate() {
        for file in files(folder.path()) {
            fs::write(&file, damage(&fs::read(&file).unwrap())).unwrap();
        }
        let context = on_disk(&fixture, CacheSettings::at(folder.path()));
        run_all(&context);
        let counters = context.kernel_cache().counters();
        assert_eq!(counters.translations.damaged + counters.pipelines.damaged, n_files, "damage {i}: {counters:?}");
        assert_eq!(counters.translations.written + counters.pipelines.written, n_files, "damage {i}: {counters:?}");
    }
}

#[test]
fn a_prefetched_kernel_is_the_same_kernel() {
    let fixture = Fixture::open();
    let builders: Vec<_> = (0..N_KERNELS).map(|i| fixture.kernel(Source::wgsl(kernel(i)))).collect();
    builders.iter().for_each(|builder| builder.clone().prefetch().unwrap());
    fixture.kernel(Source::wgsl("broken").named("broken.wgsl")).prefetch().unwrap();
    run_all(&fixture);
    assert_eq!(fixture.kernel_cache().len(), N_KERNELS as usize);
    let error = fixture.kernel(Source::wgsl("broken").named("broken.wgsl")).build().unwrap_err().to_string();
    assert!(error.starts_with("broken.wgsl:1:1: the shader does not parse"), "{error}");
}

/// The test also shows what the processes of the next test do.
#[test]
fn a_process_can_use_several_folders() {
    let own = tempfile::tempdir().unwrap();
    let folder = env::var_os(FOLDER).map_or_else(|| own.path().to_owned(), PathBuf::from);
    let fixture = Fixture::open();
    run_all(&on_disk(&fixture, CacheSettings::at(folder)));
    fixture.assert_no_messages("a process of its own");
}

fn process(folder: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "kernel::disk::a_process_can_use_several_folders"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn processes_share_a_folder_and_may_be_killed() {
    let folder = tempfile::tempdir().unwrap();
    // The process is killed as soon as there are this many files, most likely while it writes the next file.
    for n_files in [1, 3, 5] {
        let mut children = [process(folder.path()), process(folder.path())];
        for _ in 0..STEPS {
            let is_over = children.iter_mut().any(|child| child.try_wait().unwrap().is_some());
            if is_over || files(folder.path()).len() >= n_files {
                break;
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
        for mut child in children {
            let _ = child.kill(); // Fails if the process has ended.
            child.wait().unwrap();
        }
    }
    for mut child in [process(folder.path()), process(folder.path())] {
        assert!(child.wait().unwrap().success());
    }
    let fixture = Fixture::open();
    let context = on_disk(&fixture, CacheSettings::at(folder.path()));
    run_all(&context);
    let counters = context.kernel_cache().counters();
    assert_eq!((counters.translations.hits, counters.translations.damaged), (N_KERNELS.into(), 0), "{counters:?}");
    assert_eq!((counters.pipelines.damaged, counters.pipelines.foreign), (0, 0), "{counters:?}");
}

#[test]
fn a_folder_that_cannot_be_created_is_not_an_error() {
    let fixture = Fixture::open();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    let context = on_disk(&fixture, CacheSettings::at(file.join("below")));
    run_all(&context);
    let counters = context.kernel_cache().counters();
    assert!(counters.translations.refused > 0 && counters.translations.written == 0, "{counters:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "not a folder");
}

#[cfg(unix)]
#[test]
fn a_named_folder_that_others_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::open();
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("cache");
    run_all(&on_disk(&fixture, CacheSettings::at(&folder)));
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    for (place, mode) in [(folder.as_path(), 0o777), (root.path(), 0o703)] {
        fs::set_permissions(place, fs::Permissions::from_mode(mode)).unwrap();
        let allocator = Allocator::new(fixture.device()).unwrap();
        let error = Context::with_kernel_cache(&allocator, CacheSettings::at(&folder)).unwrap_err().to_string();
        let says = format!("{}, of user", place.display());
        assert!(error.contains(&says) && error.contains("can be written by other users"), "{error}");
        fs::set_permissions(place, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let context = on_disk(&fixture, CacheSettings::at(&folder));
    run_all(&context);
    assert_eq!(context.kernel_cache().counters().translations.hits, u64::from(N_KERNELS));
}

#[test]
fn a_builder_sets_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let context = Context::builder().validation(true).kernel_cache(CacheSettings::at(folder.path())).open().unwrap();
    run_all(&context);
    assert!(files(folder.path()).len() >= N_KERNELS as usize);
    let instance: &Instance = context.device().physical().instance();
    assert!(instance.take_messages().iter().all(is_false_report));
}
