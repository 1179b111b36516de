//! Files that are compared, and files that are written.

use std::fs;

use super::*;

#[test]
fn files_are_what_their_paths_lead_to() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("x.npy"), "x").unwrap();
    fs::create_dir(at("sub")).unwrap();
    let mut same = vec![at("x.npy"), at("./x.npy"), at("sub/../x.npy")];
    let mut new = vec![at("new.npy"), at("./new.npy"), at("sub/../new.npy")];
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        fs::hard_link(at("x.npy"), at("hard.npy")).unwrap();
        symlink("x.npy", at("soft.npy")).unwrap();
        symlink("soft.npy", at("soft2.npy")).unwrap();
        symlink("sub", at("folder")).unwrap();
        symlink("../new.npy", at("sub/dangling.npy")).unwrap();
        same.extend(["hard.npy", "soft.npy", "soft2.npy", "folder/../x.npy"].map(at));
        new.push(at("folder/dangling.npy"));
    }
    for paths in [same, new] {
        for (first, second) in paths.iter().flat_map(|first| paths.iter().map(move |second| (first, second))) {
            let mut files = Files::default();
            files.target(first).unwrap();
            let twice = files.target(second).unwrap_err();
            assert!(matches!(twice, Error::OutputTwice { .. }), "{first:?} {second:?}");
            let mut files = Files::default();
            files.read(first, None);
            let read = files.target(second).unwrap_err();
            assert!(matches!(read, Error::OutputIsInput { .. }), "{first:?} {second:?}");
            assert_eq!((twice.exit_code(), read.exit_code()), (2, 2));
            files.target(&at("other.npy")).unwrap();
        }
    }
}

#[test]
fn an_array_is_updated_in_place_and_an_archive_has_several() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let mut files = Files::default();
    files.read(&path, Some("x"));
    assert!(matches!(files.target_of(&path, Some("y"), None), Err(Error::OutputIsInput { .. })));
    // The archive has other arrays.
    assert!(matches!(files.target_of(&path, Some("x"), Some("x")), Err(Error::OutputIsInput { .. })));
    files.target_of(&path, Some("x"), None).unwrap();
    let mut files = Files::default();
    files.target_of(&path, Some("x"), Some("a")).unwrap();
    files.target_of(&path, Some("x"), Some("b")).unwrap();
    assert!(matches!(files.target_of(&path, Some("y"), Some("a")), Err(Error::OutputTwice { .. })));
    assert!(matches!(files.target_of(&path, Some("y"), None), Err(Error::OutputTwice { .. })));
}

#[cfg(unix)]
#[test]
fn a_written_file_keeps_its_mode_and_its_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str| {
        let target = Files::default().target(&at(name)).unwrap();
        target.write(|file| Ok(std::io::Write::write_all(file, b"new")?)).unwrap();
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(!names.into_iter().any(|name| name.to_string_lossy().starts_with(".vkarray-")));
    };
    let read = |name: &str| fs::read_to_string(at(name)).unwrap();
    for mode in [0o600, 0o640, 0o755] {
        fs::write(at("private"), "old").unwrap();
        fs::set_permissions(at("private"), fs::Permissions::from_mode(mode)).unwrap();
        write("private");
        assert_eq!(fs::metadata(at("private")).unwrap().permissions().mode() & 0o777, mode);
        assert_eq!(read("private"), "new");
    }
    fs::write(at("a"), "old, and longer").unwrap();
    fs::hard_link(at("a"), at("b")).unwrap();
    symlink("b", at("c")).unwrap();
    symlink("d", at("dangling")).unwrap();
    write("c");
    assert!(fs::symlink_metadata(at("c")).unwrap().is_symlink());
    assert_eq!((read("a"), read("b")), ("new".to_owned(), "new".to_owned()));
    write("dangling");
    assert_eq!(read("d"), "new");
    write("new");
    fs::write(at("ordinary"), "").unwrap();
    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode();
    assert_eq!(mode("new"), mode("ordinary"));
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_is_refused_and_left_alone() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    match Files::default().target(&path) {
        Err(error) => assert!(matches!(error, Error::OutputRefused { .. }) && error.exit_code() == 2, "{error}"),
        Ok(target) => target.write(|_| Ok(())).unwrap(), // The superuser may write the file; its mode does not change.
    }
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444);
    symlink("loop", folder.path().join("loop")).unwrap();
    let error = Files::default().target(&folder.path().join("loop")).unwrap_err();
    assert!(matches!(error, Error::OutputRefused { .. }), "{error}");
    let device = Files::default().target(Path::new("/dev/null")).unwrap();
    device.write(|file| Ok(std::io::Write::write_all(file, b"x")?)).unwrap();
    use std::os::unix::fs::FileTypeExt;
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}
