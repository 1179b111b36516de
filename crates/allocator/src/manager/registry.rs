//! Which memory manager a new allocator gets: one that the program passes, or one by name.
//!
//! A program registers names and sets the default for contexts that are opened later; an environment variable sets the
//! default from outside. The process keeps functions that make managers, never a manager or a device. Every context
//! gets a manager of its own, as in numba. [`Registry`], plain data, makes the choice; the process has one registry
//! behind a lock.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::sync::Arc;

use vkarray_driver::lock::{Mutex, MutexGuard, Rank};

use crate::error::{Error, Result};
use crate::manager::{HostOnlyMemoryManager, INTERFACE_VERSION, MemoryManager, PassthroughManager, PoolManager};

/// The variable that names the manager of contexts that choose none.
pub(crate) const VARIABLE: &str = "VKARRAY_MEMORY_MANAGER";

/// The name of the manager for programs that choose none.
const DEFAULT: &str = "default";

type Make = dyn Fn() -> Result<Box<dyn MemoryManager>> + Send + Sync;

/// Makes memory managers, one for each context.
///
/// ```
/// use vkarray_allocator::{Allocator, ManagerFactory, PoolManager};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let factory = ManagerFactory::new(|| Ok(Box::new(PoolManager::with_limit(1 << 30))));
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::with_manager(&device, factory.make()?)?;
/// assert!(ManagerFactory::named("no such manager").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ManagerFactory {
    make: Arc<Make>,
}

impl ManagerFactory {
    /// Makes managers by calling `make`. To keep a handle to the manager, return an `Arc` of the manager.
    pub fn new(make: impl Fn() -> Result<Box<dyn MemoryManager>> + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make) }
    }

    /// Makes managers of that name: `default`, `pool`, `passthrough`, `host-only`, or a name added by
    /// [`register_memory_manager`]. `default` is the pool.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownManager`], which lists the known names.
    pub fn named(name: &str) -> Result<Self> {
        registry().find(name, "the program")
    }

    /// The factory that [`set_memory_manager`] set, else the one that `VKARRAY_MEMORY_MANAGER` names, else `default`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownManager`] if the name in the variable is not known.
    pub fn chosen() -> Result<Self> {
        registry().choose(env::var_os(VARIABLE))
    }

    /// Makes a manager and checks its interface version.
    ///
    /// # Errors
    ///
    /// [`Error::InterfaceVersion`], and the errors of the function.
    pub fn make(&self) -> Result<Box<dyn MemoryManager>> {
        let manager = (self.make)()?;
        check_version(&*manager)?;
        Ok(manager)
    }
}

vkarray_driver::debug_fields!(ManagerFactory);

/// Adds a name for `VKARRAY_MEMORY_MANAGER` and [`ManagerFactory::named`], for as long as the process runs.
///
/// ```
/// use vkarray_allocator::{ManagerFactory, PassthroughManager, memory_manager_names, register_memory_manager};
///
/// # fn main() -> vkarray_allocator::Result<()> {
/// register_memory_manager("plain", ManagerFactory::new(|| Ok(Box::new(PassthroughManager::new()))))?;
/// assert!(memory_manager_names().contains(&"plain".to_owned()));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::ManagerNameTaken`] if the name is known already.
pub fn register_memory_manager(name: impl Into<String>, factory: ManagerFactory) -> Result<()> {
    registry().register(name.into(), &factory) // If the name is refused, the factory is dropped after the lock.
}

/// The names of all managers, sorted.
pub fn memory_manager_names() -> Vec<String> {
    registry().names()
}

/// Sets the managers of contexts that are opened later and choose none themselves. Takes precedence over
/// `VKARRAY_MEMORY_MANAGER`; open contexts keep their managers. Makes one manager to check its version, and drops it.
///
/// ```
/// use vkarray_allocator::{ManagerFactory, set_memory_manager};
///
/// # fn main() -> vkarray_allocator::Result<()> {
/// set_memory_manager(ManagerFactory::named("passthrough")?)?;
/// assert!(format!("{:?}", ManagerFactory::chosen()?.make()?).starts_with("PassthroughManager"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::InterfaceVersion`], and the errors of the factory; nothing is set then.
#[doc(alias = "set_current_device_resource")]
pub fn set_memory_manager(factory: ManagerFactory) -> Result<()> {
    factory.make()?; // Without the lock: the program's function may read the names.
    let former = registry().set.replace(factory);
    drop(former); // Dropped without the lock: the program's code may run.
    Ok(())
}

/// Checks that a manager was written for this version of the interface.
pub(crate) fn check_version(manager: &dyn MemoryManager) -> Result<()> {
    let version = manager.interface_version();
    if version == INTERFACE_VERSION {
        return Ok(());
    }
    Err(Error::InterfaceVersion { version, expected: INTERFACE_VERSION })
}

type MakeBuiltIn = fn() -> Box<dyn MemoryManager>;

/// The managers of this crate, by name. An arena has no name, since the program must have a handle to end its frames.
const BUILT_IN: [(&str, MakeBuiltIn); 4] = [
    (DEFAULT, || Box::new(PoolManager::new())),
    ("host-only", || Box::new(HostOnlyMemoryManager::new())),
    ("passthrough", || Box::new(PassthroughManager::new())),
    ("pool", || Box::new(PoolManager::new())),
];

/// The names that a process knows, and its default.
#[derive(Debug)]
struct Registry {
    registered: BTreeMap<String, ManagerFactory>,
    set: Option<ManagerFactory>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Rank::ManagerNames, Registry::new());

fn registry() -> MutexGuard<'static, Registry> {
    // No code of the program runs under the lock.
    REGISTRY.lock()
}

impl Registry {
    const fn new() -> Self {
        Self { registered: BTreeMap::new(), set: None }
    }

    fn names(&self) -> Vec<String> {
        let ours = BUILT_IN.iter().map(|(name, _)| (*name).to_owned());
        let mut names: Vec<_> = ours.chain(self.registered.keys().cloned()).collect();
        names.sort();
        names
    }

    fn register(&mut self, name: String, factory: &ManagerFactory) -> Result<()> {
        if self.names().contains(&name) {
            return Err(Error::ManagerNameTaken { name });
        }
        self.registered.insert(name, factory.clone());
        Ok(())
    }

    fn find(&self, name: &str, origin: &'static str) -> Result<ManagerFactory> {
        if let Some((_, make)) = BUILT_IN.iter().find(|(ours, _)| *ours == name) {
            return Ok(ManagerFactory::new(|| Ok(make())));
        }
        let unknown = || Error::UnknownManager { name: name.to_owned(), origin, known: self.names() };
        self.registered.get(name).cloned().ok_or_else(unknown)
    }

    /// An empty variable counts as unset.
    fn choose(&self, variable: Option<OsString>) -> Result<ManagerFactory> {
        match (&self.set, variable) {
            (Some(set), _) => Ok(set.clone()),
            (None, Some(name)) if !name.is_empty() => self.find(&name.to_string_lossy(), VARIABLE),
            (None, _) => self.find(DEFAULT, "the default"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::tests::fake::Fake;

    fn fake() -> ManagerFactory {
        ManagerFactory::new(|| Ok(Box::new(Fake::new())))
    }

    fn made(factory: Result<ManagerFactory>) -> String {
        let text = format!("{:?}", factory.unwrap().make().unwrap());
        text.split(' ').next().unwrap().to_owned()
    }

    #[test]
    fn a_set_factory_precedes_the_variable_and_the_variable_the_default() {
        let (plain, mut set) = (Registry::new(), Registry::new());
        set.set = Some(fake());
        let cases = [
            (&plain, None, "PoolManager"),
            (&plain, Some(""), "PoolManager"), // An empty variable counts as unset.
            (&plain, Some("default"), "PoolManager"),
            (&plain, Some("pool"), "PoolManager"),
            (&plain, Some("passthrough"), "PassthroughManager"),
            (&plain, Some("host-only"), "HostOnlyMemoryManager"),
            (&set, None, "Fake"),
            (&set, Some("host-only"), "Fake"),
            (&set, Some("no such manager"), "Fake"), // The variable is not read.
        ];
        for (registry, variable, name) in cases {
            assert_eq!(made(registry.choose(variable.map(OsString::from))), name, "{variable:?}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_names() {
        let mut registry = Registry::new();
        registry.register("mine".to_owned(), &fake()).unwrap();
        let cases = [
            (registry.choose(Some("Mine".into())), "VKARRAY_MEMORY_MANAGER names the memory manager `Mine`"),
            (registry.find("", "the program"), "the program names the memory manager ``"),
        ];
        for (outcome, start) in cases {
            let known = "which is not known; known are default, host-only, mine, passthrough, pool";
            assert_eq!(outcome.unwrap_err().to_string(), format!("{start}, {known}"));
        }
        assert_eq!(made(registry.find("mine", "the program")), "Fake");
    }

    #[test]
    fn a_known_name_cannot_be_registered_again() {
        let mut registry = Registry::new();
        registry.register("mine".to_owned(), &fake()).unwrap();
        for name in ["mine", "default", "passthrough", "pool"] {
            let other = ManagerFactory::new(|| Err(Error::NotInitialized));
            let refused = registry.register(name.to_owned(), &other).unwrap_err().to_string();
            assert_eq!(refused, format!("a memory manager of the name `{name}` is registered already"));
        }
        assert_eq!(made(registry.find("mine", "the program")), "Fake");
    }

    #[test]
    fn a_refused_factory_is_dropped_without_the_lock() {
        struct Asks(std::sync::mpsc::Sender<Vec<String>>);

        impl Drop for Asks {
            fn drop(&mut self) {
                self.0.send(memory_manager_names()).unwrap();
            }
        }

        let (sender, names) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let held = Asks(sender);
            let factory = ManagerFactory::new(move || {
                Err(Error::UnknownManager {
                    name: format!("{:p}", &raw const held),
                    origin: "a test",
                    known: Vec::new(),
                })
            });
            register_memory_manager("pool", factory).unwrap_err();
        });
        let names = names.recv_timeout(std::time::Duration::from_secs(20)).expect("it waits for its own lock");
        assert!(names.contains(&"pool".to_owned()));
    }

    #[test]
    fn a_factory_of_another_version_is_not_set() {
        let factory = ManagerFactory::new(|| Ok(Box::new(Fake::of_version(7))));
        let refused = set_memory_manager(factory).unwrap_err();
        assert!(matches!(refused, Error::InterfaceVersion { version: 7, expected: INTERFACE_VERSION }), "{refused}");
        assert!(registry().set.is_none(), "a refused call changes nothing");
        let failing = ManagerFactory::new(|| Err(Error::NotInitialized));
        assert!(matches!(set_memory_manager(failing), Err(Error::NotInitialized)));
        assert!(registry().set.is_none());
    }
}
