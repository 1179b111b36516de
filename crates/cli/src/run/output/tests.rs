//! Outputs that are written, and outputs that are refused.

use std::fs;
use std::path::Path;

use ndarray::ArrayD;

use super::*;

fn output(folder: &Path, name: &str) -> Output {
    Output::new("x", folder.join(name).to_str().unwrap(), &mut Files::default()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn paths_that_cannot_work_are_refused_beforehand() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder.npy")).unwrap();
    let cases = [
        ("x.jpg", "x.jpg: an output is .npy, .npz, .png or -"), // Lossy.
        ("x.npy,bits=16", "x.npy: an output is .npy, .npz, .png or -"), // Bits are those of a .png.
        ("x", "x: an output is .npy, .npz, .png or -"),
        ("none/x.npy", "none/x.npy: there is no folder none"),
        ("folder.npy", "folder.npy is a folder"),
    ];
    for (path, expected) in cases {
        let path = folder.path().join(path);
        let error = Output::new("x", path.to_str().unwrap(), &mut Files::default()).unwrap_err();
        assert_eq!(error.to_string().replace(&format!("{}/", folder.path().display()), ""), expected);
        assert_eq!(error.exit_code(), 2);
    }
    let format = |path: &str| Output::new("x", path, &mut Files::default()).unwrap().format;
    assert_eq!(format("bare.PNG"), Format::Png(None)); // In the current folder.
    assert_eq!(format("b.png,bits=16"), Format::Png(Some(16)));
    assert_eq!(format("b.npz"), Format::Npz("x".to_owned()));
    assert_eq!(format("b.npz:y"), Format::Npz("y".to_owned()));
    assert_eq!(format("-"), Format::Stdout);
}

#[test]
fn a_png_takes_only_what_it_can_hold() {
    let folder = tempfile::tempdir().unwrap();
    let (png, npy) = (output(folder.path(), "x.png"), output(folder.path(), "x.npy"));
    let good: &[(DType, &[usize])] = &[(DType::F32, &[5, 7]), (DType::F32, &[5, 7, 3]), (DType::F32, &[5, 7, 4])];
    let bad: &[(DType, &[usize])] = &[(DType::F32, &[5]), (DType::F32, &[0, 7]), (DType::F64, &[5, 7])];
    for (dtype, shape) in good {
        png.check(*dtype, shape).unwrap();
    }
    for (dtype, shape) in bad {
        let error = png.check(*dtype, shape).unwrap_err();
        let expected = format!(
            "x.png: `x` is {dtype}{}; a .png holds bool, u8, u16, i32, u32 or f32 of shape h x w or h x w x 1, 3 or 4, a .npy any array",
            crate::error::shape_text(shape)
        );
        assert_eq!(error.to_string().replace(&format!("{}/", folder.path().display()), ""), expected);
        npy.check(*dtype, shape).unwrap();
    }
}

#[test]
fn files_replace_what_was_there_and_leave_nothing_beside() {
    let folder = tempfile::tempdir().unwrap();
    let (png, npy) = (output(folder.path(), "x.png"), output(folder.path(), "y.npy"));
    fs::write(npy.path(), "old").unwrap();
    let array = HostArray::F32(ArrayD::zeros(vec![2, 3]));
    write_all(&[(&png, &array), (&npy, &array)]).unwrap();
    assert_eq!(names(folder.path()), ["x.png", "y.npy"]);
    assert_eq!(HostArray::F32(vkarray::io::NpyFile::open(npy.path()).unwrap().read().unwrap()), array);
    assert_eq!(picture::Picture::open(png.path(), None).unwrap().shape, [2, 3]);
}

#[test]
fn arrays_of_one_archive_are_written_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npz").display().to_string();
    let texts = [format!("a={path}"), format!("b={path}:other"), format!("a={path}:third")];
    let outputs = Output::parse_all(&texts, |_, _| Ok(()), |_| None, &mut Files::default()).unwrap();
    let a = HostArray::F32(ArrayD::from_elem(vec![2], 0.5));
    let b = HostArray::U8(ArrayD::from_elem(vec![3], 7));
    write_all(&[(&outputs[0], &a), (&outputs[1], &b), (&outputs[2], &a)]).unwrap();
    let mut archive = vkarray::io::NpzFile::open(&path).unwrap();
    assert_eq!(archive.names(), ["a", "other", "third"]);
    assert_eq!(HostArray::U8(archive.read("other").unwrap()), b);
    assert_eq!(names(folder.path()), ["x.npz"]);
    let twice = [format!("a={path}"), format!("b={path}:a")];
    assert!(matches!(
        Output::parse_all(&twice, |_, _| Ok(()), |_| None, &mut Files::default()),
        Err(Error::OutputTwice { .. })
    ));
}

#[test]
fn one_failure_leaves_every_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("gone")).unwrap();
    let (first, second) = (output(folder.path(), "x.npy"), output(&folder.path().join("gone"), "y.npy"));
    fs::write(first.path(), "old").unwrap();
    fs::remove_dir(folder.path().join("gone")).unwrap(); // After the plan, before the run has ended.
    let array = HostArray::F32(ArrayD::zeros(vec![1]));
    let error = write_all(&[(&first, &array), (&second, &array)]).unwrap_err();
    assert!(matches!(&error, Error::Write { path, .. } if *path == second.path()), "{error:?}");
    assert_eq!(error.exit_code(), 1);
    assert_eq!(fs::read_to_string(first.path()).unwrap(), "old");
    assert_eq!(names(folder.path()), ["x.npy"]);
}

#[test]
fn a_failed_replacement_says_what_is_already_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (output(folder.path(), "x.npy"), output(folder.path(), "y.npy"));
    fs::create_dir(second.path()).unwrap(); // A folder has taken the name since the plan.
    let array = HostArray::F32(ArrayD::zeros(vec![1]));
    let error = write_all(&[(&first, &array), (&second, &array)]).unwrap_err();
    let text = error.to_string().replace(&format!("{}/", folder.path().display()), "");
    assert!(text.starts_with("cannot replace y.npy (already written: x.npy): "), "{text}");
    assert_eq!(names(folder.path()), ["x.npy", "y.npy"]);
}
