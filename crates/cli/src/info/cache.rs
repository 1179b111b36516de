//! `vkarray cache`: the compiled kernels on disk, listed or removed.

use indicatif::BinaryBytes;
use vkarray::kernel::CacheSettings;

use crate::args::{CacheAction, CacheArgs};
use crate::error::{Error, Result};
use crate::stdio::print;

/// Lists or removes the files of the cache that the environment chooses.
///
/// # Errors
///
/// [`Error::Array`] for a variable with a wrong value, [`Error::Cache`] if the folder cannot be read.
pub(crate) fn cache(args: &CacheArgs) -> Result<()> {
    let settings = CacheSettings::from_environment()?;
    let Some(folder) = settings.directory() else { return print("the cache is off\n") };
    let failed = |reason| Error::Cache { folder: folder.to_owned(), reason };
    let text = match args.action {
        CacheAction::Clear => {
            format!("{} files were removed from {}\n", settings.clear().map_err(failed)?, folder.display())
        }
        CacheAction::List => {
            let files = settings.files().map_err(failed)?;
            let lines = files.iter().map(|file| {
                let used = humantime::format_rfc3339_seconds(file.used);
                let name = file.path.file_name().unwrap_or_default().to_string_lossy();
                // The name of a file is its kind and a hash. A few digits of the hash tell files apart.
                let name = name.get(..name.find('-').map_or(0, |at| at + 9)).unwrap_or(&name).to_owned();
                let kernel = file.kernel().unwrap_or_else(|| "of another version".to_owned());
                format!("{used}  {:>10}  {name:17}  {kernel}\n", BinaryBytes(file.bytes).to_string())
            });
            let bytes = BinaryBytes(files.iter().map(|file| file.bytes).sum());
            let (n, limit) = (files.len(), BinaryBytes(settings.limit()));
            format!("{}{n} files, {bytes} of at most {limit}, in {}\n", lines.collect::<String>(), folder.display())
        }
    };
    print(&text)
}
