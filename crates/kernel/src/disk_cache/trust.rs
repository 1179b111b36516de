//! Whether other users can change the folder of the cache and the files in it. Pure but for [`check`] and [`check_file`].
//!
//! The content of files is given to the driver, and a checksum does not tell who wrote it. So the folder, every folder above
//! it, and every link on the way must belong to the user or to root and be writable by no one else, as OpenSSH requires of
//! its keys. On systems other than Unix nothing is checked: the folder of caches belongs to the user there.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::Error;

/// Owner and permissions of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileAccess {
    owner: u32,
    group: u32,
    mode: u32,
}

/// The part that a place has in the path of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A folder above it.
    Above,
    /// A link on the path. Its mode has no meaning.
    Link,
    /// The folder, or a file in it.
    Content,
}

const ROOT: u32 = 0;

/// In a folder with this bit, such as `/tmp`, a file is removed or renamed by its owner alone.
const STICKY: u32 = 0o1000;

/// What is wrong with a place, if a user other than `user` and root can change what it leads to.
///
/// The group with the number of the user is the user's own, as many systems make one: on those a folder is often writable
/// by its group.
fn problem(user: u32, role: Role, found: FileAccess) -> Option<&'static str> {
    if found.owner != user && found.owner != ROOT {
        return Some("belongs to another user");
    }
    let is_for_others = found.mode & 0o002 != 0 || found.mode & 0o020 != 0 && found.group != user;
    let is_harmless = match role {
        Role::Link => true,
        Role::Above => found.mode & STICKY != 0,
        Role::Content => false,
    };
    (is_for_others && !is_harmless).then_some("can be written by other users")
}

#[cfg(unix)]
pub(super) use unix::{check, check_file, user};

#[cfg(unix)]
mod unix {
    use std::fs::{self, Metadata};
    use std::os::unix::fs::MetadataExt;

    use super::{Error, File, FileAccess, Path, Role, io, problem};

    /// The most links that are followed.
    const MAX_LINKS: usize = 40;

    /// The user of this process.
    pub(in super::super) fn user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    /// Looks for a place by which another user can change what is in `folder`, which need not be there.
    ///
    /// # Errors
    ///
    /// What the system says where it does not show a place; nothing can be read there either.
    pub(in super::super) fn check(folder: &Path, user: u32) -> io::Result<Result<(), Error>> {
        let mut paths = vec![(std::path::absolute(folder)?, Role::Content)];
        let mut n_links = 0;
        while let Some((path, role)) = paths.pop() {
            for place in path.ancestors() {
                let Some(metadata) = metadata_of(place)? else { continue };
                let role = if place == path { role } else { Role::Above };
                if metadata.is_symlink() {
                    n_links += 1;
                    if n_links > MAX_LINKS {
                        return Err(io::Error::other("too many links in the path of the folder"));
                    }
                    let target = place.parent().unwrap_or(place).join(fs::read_link(place)?);
                    paths.push((target, role));
                }
                let found = access(&metadata);
                let as_found = if metadata.is_symlink() { Role::Link } else { role };
                if let Some(problem) = problem(user, as_found, found) {
                    let (folder, place, mode) = (folder.to_owned(), place.to_owned(), found.mode & 0o7777);
                    return Ok(Err(Error::SharedCache { folder, place, owner: found.owner, mode, problem }));
                }
            }
        }
        Ok(Ok(()))
    }

    /// Checks that no other user can change an open file.
    ///
    /// # Errors
    ///
    /// The system's error if the file's owner and mode cannot be read; an error if another user can change it.
    pub(in super::super) fn check_file(file: &File, user: u32) -> io::Result<()> {
        let problem = problem(user, Role::Content, access(&file.metadata()?));
        problem.map_or(Ok(()), |problem| Err(io::Error::new(io::ErrorKind::PermissionDenied, problem)))
    }

    /// The metadata of a place, if it exists.
    fn metadata_of(place: &Path) -> io::Result<Option<Metadata>> {
        match fs::symlink_metadata(place) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn access(metadata: &Metadata) -> FileAccess {
        FileAccess { owner: metadata.uid(), group: metadata.gid(), mode: metadata.mode() }
    }
}

#[cfg(not(unix))]
pub(super) use elsewhere::{check, check_file, user};

#[cfg(not(unix))]
mod elsewhere {
    use super::{Error, File, Path, ROOT, io};

    pub(in super::super) fn user() -> u32 {
        ROOT
    }

    pub(in super::super) fn check(_: &Path, _: u32) -> io::Result<Result<(), Error>> {
        Ok(Ok(()))
    }

    pub(in super::super) fn check_file(_: &File, _: u32) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_and_root_may_change_files() {
        let (writable, foreign) = (Some("can be written by other users"), Some("belongs to another user"));
        // Role, owner, group, mode, problem for user 1000.
        let cases = [
            (Role::Content, 1000, 100, 0o040_700, None),
            (Role::Content, 1000, 100, 0o040_755, None),
            (Role::Content, ROOT, 0, 0o040_755, None), // A folder that an administrator filled.
            (Role::Content, 1001, 1001, 0o040_700, foreign),
            (Role::Content, 1001, 1000, 0o040_777, foreign),
            (Role::Content, 1000, 1000, 0o040_775, None), // The user's own group.
            (Role::Content, 1000, 100, 0o040_775, writable),
            (Role::Content, 1000, 1000, 0o040_777, writable),
            (Role::Content, 1000, 1000, 0o100_602, writable),
            (Role::Content, 1000, 1000, 0o041_777, writable), // Others can add files to it.
            (Role::Above, ROOT, 0, 0o041_777, None),          // `/tmp`.
            (Role::Above, ROOT, 0, 0o040_777, writable),
            (Role::Above, 1000, 100, 0o040_770, writable),
            (Role::Above, 1001, 1001, 0o041_777, foreign), // Its owner can rename what is in it.
            (Role::Link, 1000, 1000, 0o120_777, None),
            (Role::Link, 1001, 1001, 0o120_777, foreign),
        ];
        for (role, owner, group, mode, expected) in cases {
            let found = FileAccess { owner, group, mode };
            assert_eq!(problem(1000, role, found), expected, "{role:?} {found:?}");
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod on_disk {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn is_trusted(folder: &Path) -> bool {
        check(folder, user()).unwrap().is_ok()
    }

    #[test]
    fn every_folder_of_the_path_is_checked() {
        let root = tempfile::tempdir().unwrap();
        let (above, folder) = (root.path().join("above"), root.path().join("above/cache"));
        assert!(is_trusted(&folder), "a missing folder is judged by those above it");
        fs::create_dir_all(&folder).unwrap();
        // Mode of the folder above and of the folder, whether both are good.
        let cases = [
            (0o755, 0o700, true),
            (0o777, 0o700, false),
            (0o1777, 0o700, true),
            (0o700, 0o777, false),
            (0o700, 0o1777, false),
            (0o555, 0o755, true),
        ];
        for (above_mode, mode, expected) in cases {
            set(&folder, mode);
            set(&above, above_mode);
            assert_eq!(is_trusted(&folder), expected, "{above_mode:o} {mode:o}");
            set(&above, 0o700);
        }
        set(&folder, 0o700);
        set(&above, 0o777);
        assert!(!is_trusted(&above.join("not/there/yet")));
        let message = check(&folder, user()).unwrap().unwrap_err().to_string();
        let expected = format!(
            "kernels cannot be stored in {}: {}, of user {} with mode 777, can be written by other users",
            folder.display(),
            above.display(),
            user()
        );
        assert_eq!(message, expected);
    }

    #[test]
    fn the_targets_of_links_are_checked_too() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for name in ["good", "bad", "bad/inner", "holder"] {
            fs::create_dir(at(name)).unwrap();
        }
        symlink("../good", at("holder/to-good")).unwrap();
        symlink("../bad/inner", at("holder/to-bad")).unwrap();
        symlink(at("holder/to-bad"), at("twice")).unwrap();
        symlink("round", at("round")).unwrap();
        set(&at("bad"), 0o777);
        assert!(is_trusted(&at("holder/to-good")) && is_trusted(&at("holder/to-good/below")));
        for name in ["holder/to-bad", "twice", "twice/below"] {
            assert!(!is_trusted(&at(name)), "{name}");
        }
        set(&at("good"), 0o1777);
        assert!(!is_trusted(&at("holder/to-good")), "the folder itself, by way of a link");
        set(&at("good"), 0o700);
        set(&at("holder"), 0o777);
        assert!(!is_trusted(&at("holder/to-good")), "anybody can replace the link");
        assert!(check(&at("round"), user()).is_err());
    }
}
