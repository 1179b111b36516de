//! Which memory manager a new allocator gets: one that the program hands over, or one by name.
//!
//! A program registers names and sets the default for what is opened later; the environment sets it from outside. What
//! is kept for the process is a list of functions that make managers, never a manager or a device. Every context gets
//! a manager of its own, as numba's do. The choice is [`Registry`], plain data; the functions lock the one there is.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use vkarray_driver::lock::{Mutex, MutexGuard, Rank};

use crate::error::{Error, Result};
use crate::manager::{HostOnlyMemoryManager, INTERFACE_VERSION, MemoryManager, PassthroughManager, PoolManager};

/// The variable that names the manager of contexts that name none.
pub(crate) const VARIABLE: &str = "VKARRAY_MEMORY_MANAGER";

/// The name of what a program gets that chooses nothing.
const DEFAULT: &str = "default";

type Make = dyn Fn() -> Result<Box<dyn MemoryManager>> + Send + Sync;

/// Makes memory managers: one for each context.
#[derive(Clone)]
pub struct ManagerFactory {
    make: Arc<Make>,
}

impl ManagerFactory {
    /// Makes managers by calling `make`. To keep a hand on the manager, return an `Arc` of it.
    pub fn new(make: impl Fn() -> Result<Box<dyn MemoryManager>> + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make) }
    }

    /// Makes managers of that name: `default`, `pool`, `passthrough`, `host-only`, and what
    /// [`register_memory_manager`] added. `default` is the pool.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownManager`], with the names that there are.
    pub fn named(name: &str) -> Result<Self> {
        registry().find(name, "the program")
    }

    /// Makes what [`set_memory_manager`] set, else what `VKARRAY_MEMORY_MANAGER` names, else `default`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownManager`] if the variable names none.
    pub fn chosen() -> Result<Self> {
        registry().choose(env::var_os(VARIABLE))
    }

    /// Makes a manager that speaks this version of the interface.
    ///
    /// # Errors
    ///
    /// [`Error::InterfaceVersion`], and those of the function.
    pub fn make(&self) -> Result<Box<dyn MemoryManager>> {
        let manager = (self.make)()?;
        check_version(&*manager)?;
        Ok(manager)
    }
}

impl fmt::Debug for ManagerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerFactory").finish_non_exhaustive()
    }
}

/// Adds a name for `VKARRAY_MEMORY_MANAGER` and [`ManagerFactory::named`], for as long as the process runs.
///
/// # Errors
///
/// [`Error::ManagerNameTaken`]; a name stands for one thing.
pub fn register_memory_manager(name: impl Into<String>, factory: ManagerFactory) -> Result<()> {
    registry().register(name.into(), &factory) // If it is refused, the factory is dropped without the lock.
}

/// The names of all managers, sorted.
#[must_use]
pub fn memory_manager_names() -> Vec<String> {
    registry().names()
}

/// Sets what contexts get that are opened later and choose nothing themselves. Wins over `VKARRAY_MEMORY_MANAGER`;
/// contexts that are open keep what they have. Makes one manager to look at its version, and drops it.
///
/// # Errors
///
/// [`Error::InterfaceVersion`], and those of the factory; nothing is set then.
pub fn set_memory_manager(factory: ManagerFactory) -> Result<()> {
    factory.make()?; // Without the lock: the program's function may look at the names.
    let former = registry().set.replace(factory);
    drop(former); // Without the lock too.
    Ok(())
}

/// Checks that a manager speaks this version of the interface.
pub(crate) fn check_version(manager: &dyn MemoryManager) -> Result<()> {
    let version = manager.interface_version();
    if version == INTERFACE_VERSION {
        return Ok(());
    }
    Err(Error::InterfaceVersion { version, expected: INTERFACE_VERSION })
}

type MakeBuiltIn = fn() -> Box<dyn MemoryManager>;

/// What ours are called. An arena is not among them: the program has to end its frames, and makes it therefore.
const BUILT_IN: [(&str, MakeBuiltIn); 4] = [
    (DEFAULT, || Box::new(PoolManager::new())),
    ("host-only", || Box::new(HostOnlyMemoryManager::new())),
    ("passthrough", || Box::new(PassthroughManager::new())),
    ("pool", || Box::new(PoolManager::new())),
];

/// Names and the default of a process. Functions only.
#[derive(Debug)]
struct Registry {
    registered: BTreeMap<String, ManagerFactory>,
    set: Option<ManagerFactory>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Rank::ManagerNames, Registry::new());

fn registry() -> MutexGuard<'static, Registry> {
    // Nothing of the program runs under the lock.
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

    /// An empty variable is as none.
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
    use crate::manager::fake::Fake;

    fn fake() -> ManagerFactory {
        ManagerFactory::new(|| Ok(Box::new(Fake::new())))
    }

    fn made(factory: Result<ManagerFactory>) -> String {
        let text = format!("{:?}", factory.unwrap().make().unwrap());
        text.split(' ').next().unwrap().to_owned()
    }

    #[test]
    fn what_is_set_wins_over_the_variable_and_that_over_the_default() {
        let (plain, mut set) = (Registry::new(), Registry::new());
        set.set = Some(fake());
        let cases = [
            (&plain, None, "PoolManager"),
            (&plain, Some(""), "PoolManager"), // As if it were not there.
            (&plain, Some("default"), "PoolManager"),
            (&plain, Some("pool"), "PoolManager"),
            (&plain, Some("passthrough"), "PassthroughManager"),
            (&plain, Some("host-only"), "HostOnlyMemoryManager"),
            (&set, None, "Fake"),
            (&set, Some("host-only"), "Fake"),
            (&set, Some("no such manager"), "Fake"), // Not asked.
        ];
        for (registry, variable, name) in cases {
            assert_eq!(made(registry.choose(variable.map(OsString::from))), name, "{variable:?}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_there_are() {
        let mut registry = Registry::new();
        registry.register("mine".to_owned(), &fake()).unwrap();
        let cases = [
            (registry.choose(Some("Mine".into())), "VKARRAY_MEMORY_MANAGER names the memory manager `Mine`"),
            (registry.find("", "the program"), "the program names the memory manager ``"),
        ];
        for (outcome, start) in cases {
            let known = "which is not known; there are default, host-only, mine, passthrough, pool";
            assert_eq!(outcome.unwrap_err().to_string(), format!("{start}, {known}"));
        }
        assert_eq!(made(registry.find("mine", "the program")), "Fake");
    }

    #[test]
    fn a_name_stands_for_one_thing() {
        let mut registry = Registry::new();
        registry.register("mine".to_owned(), &fake()).unwrap();
        for name in ["mine", "default", "passthrough", "pool"] {
            let other = ManagerFactory::new(|| Err(Error::NotInitialized));
            let refused = registry.register(name.to_owned(), &other).unwrap_err().to_string();
            assert_eq!(refused, format!("there is a memory manager of the name `{name}` already"));
        }
        assert_eq!(made(registry.find("mine", "the program")), "Fake");
    }

    #[test]
    fn what_a_refused_factory_holds_is_dropped_without_the_lock() {
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
    fn another_version_is_refused_when_it_is_set() {
        let factory = ManagerFactory::new(|| Ok(Box::new(Fake::of_version(7))));
        let refused = set_memory_manager(factory).unwrap_err();
        assert!(matches!(refused, Error::InterfaceVersion { version: 7, expected: INTERFACE_VERSION }), "{refused}");
        assert!(registry().set.is_none(), "a refused call changes nothing");
        let failing = ManagerFactory::new(|| Err(Error::NotInitialized));
        assert!(matches!(set_memory_manager(failing), Err(Error::NotInitialized)));
        assert!(registry().set.is_none());
    }
}
