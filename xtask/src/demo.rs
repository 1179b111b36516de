//! `cargo xtask demo`: draws a picture (or takes the user's), blurs it and sharpens it, all on the device.
//!
//! The pipeline is a list of `vkarray run` commands, made by a pure function. Each is printed before it runs, so that a
//! reader can repeat and change it. The filters are in `weights.rs`, the shaders in `shaders/samples/`.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::command::CommandLine;
use crate::plan::Purpose;
use crate::weights::Weights;
use crate::{setup, workspace_root};

/// The folder of the pictures, from the root of the workspace.
const FOLDER: &str = "demo-out";

/// Runs the demo on `image`, or on a Julia set if none is given.
pub(crate) fn run(image: Option<&Path>) -> Result<()> {
    let given = image.map(Picture::open).transpose()?;
    setup::run(Purpose::Programs)?;
    let vkarray = build()?;
    let folder = workspace_root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let runs = pipeline(given.as_ref());
    for run in &runs {
        println!("\n{}", run.title);
        remove_old(&workspace_root().join(&run.picture))?;
        if let Some((path, weights)) = &run.filter {
            weights.write(&workspace_root().join(path))?;
        }
        CommandLine::new([vkarray.as_str()]).with_args(run.words()).run_to_success()?;
        let path = workspace_root().join(&run.picture);
        if !path.is_file() {
            bail!("`vkarray run` succeeded, but did not write {}", path.display());
        }
    }
    println!("\npictures:");
    for run in &runs {
        println!("  {}", workspace_root().join(&run.picture).display());
    }
    Ok(())
}

/// Removes the picture of an earlier run, so that a picture found afterwards is from this run.
fn remove_old(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove the old {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// A picture file and its size in pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Picture {
    path: String,
    /// The start of the names of pictures made from it.
    stem: String,
    width: u32,
    height: u32,
}

impl Picture {
    /// A user's picture; only its header is read.
    fn open(path: &Path) -> Result<Self> {
        let (width, height) =
            image::image_dimensions(path).with_context(|| format!("cannot read the picture {}", path.display()))?;
        // Commands run in the root of the workspace, which need not be the user's current folder.
        let path = env::current_dir().context("cannot find the current folder")?.join(path);
        let text = |part: Option<&std::ffi::OsStr>| {
            part.and_then(|part| part.to_str()).map(str::to_owned).context("the path of the picture is not UTF-8")
        };
        Ok(Self { path: text(Some(path.as_os_str()))?, stem: text(path.file_stem())?, width, height })
    }

    /// The path of the picture that the filter `verb` makes of this one.
    fn made_by(&self, verb: &str) -> String {
        format!("{FOLDER}/{}-{verb}.png", self.stem)
    }
}

/// One `vkarray run`.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    title: &'static str,
    shader: &'static str,
    /// Shader parameters and their values.
    args: Vec<(&'static str, String)>,
    constants: Vec<(&'static str, u32)>,
    /// The parameter that is written as the picture.
    out: &'static str,
    /// The path of the picture, from the root of the workspace.
    picture: String,
    /// The least number of invocations along x and y.
    covering: (u32, u32),
    /// Weights to write before the run, with the path of their file.
    filter: Option<(String, Weights)>,
}

impl Run {
    /// The arguments of `vkarray`.
    fn words(&self) -> Vec<String> {
        let mut words = vec!["run".to_owned(), self.shader.to_owned()];
        for (name, value) in &self.args {
            words.extend(["--arg".to_owned(), format!("{name}={value}")]);
        }
        for (name, value) in &self.constants {
            words.extend(["--const".to_owned(), format!("{name}={value}")]);
        }
        words.extend(["--out".to_owned(), format!("{}={}", self.out, self.picture)]);
        words.extend(["--covering".to_owned(), format!("{},{}", self.covering.0, self.covering.1)]);
        words
    }
}

/// The runs: draw unless a picture is given, blur, sharpen.
fn pipeline(given: Option<&Picture>) -> Vec<Run> {
    let drawn = Picture { path: format!("{FOLDER}/julia.png"), stem: "julia".to_owned(), width: 512, height: 512 };
    let first = given.is_none().then(|| draw(&drawn));
    let picture = given.unwrap_or(&drawn);
    let blur = ("blur with a 9 × 9 Gaussian", "gaussian", Weights::gaussian(4, 2.0));
    let sharpen = ("sharpen with a 3 × 3 Laplacian, same shader, other weights", "sharpen", Weights::sharpen());
    first
        .into_iter()
        .chain([
            convolve(picture, blur, picture.made_by("blurred")),
            convolve(picture, sharpen, picture.made_by("sharpened")),
        ])
        .collect()
}

fn draw(picture: &Picture) -> Run {
    Run {
        title: "draw a Julia set",
        shader: "shaders/samples/julia.wgsl",
        args: vec![
            ("image", empty(picture)),
            ("width", picture.width.to_string()),
            ("height", picture.height.to_string()),
            ("c_re", "-0.8".to_owned()),
            ("c_im", "0.156".to_owned()),
            ("scale", "1.2".to_owned()),
        ],
        constants: vec![("MAX_ITER", 400)],
        out: "image",
        picture: picture.path.clone(),
        covering: (picture.width, picture.height),
        filter: None,
    }
}

fn convolve(from: &Picture, filter: (&'static str, &str, Weights), to: String) -> Run {
    let (title, name, weights) = filter;
    let file = format!("{FOLDER}/{name}.npy");
    let radius = weights.radius.to_string();
    Run {
        title,
        shader: "shaders/samples/convolve.wgsl",
        args: vec![
            ("source", format!("@{}", from.path)),
            ("target_image", empty(from)),
            ("weights", format!("@{file}")),
            ("width", from.width.to_string()),
            ("height", from.height.to_string()),
            ("radius_x", radius.clone()),
            ("radius_y", radius),
        ],
        constants: vec![],
        out: "target_image",
        picture: to,
        covering: (from.width, from.height),
        filter: Some((file, weights)),
    }
}

/// The argument for a picture of zeros of the same size: rows × columns × (red, green, blue, opacity).
fn empty(like: &Picture) -> String {
    format!("zeros:f32[{},{},4]", like.height, like.width)
}

/// Builds the `vkarray` command and returns the path of the executable.
///
/// The command is built in the profile of xtask: a first build shares half of its crates with xtask, and no crate is
/// optimised beyond what development needs, since the device does the work.
pub(crate) fn build() -> Result<String> {
    let command = CommandLine::new(["cargo", "build", "--package", "vkarray-cli"])
        .with_args(["--message-format", "json-render-diagnostics"]);
    println!("$ {command}");
    let output = command.process().stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("`{command}` ended with {}", output.status);
    }
    let messages = String::from_utf8(output.stdout).context("cargo's messages are not UTF-8")?;
    executable(&messages, "vkarray").context("cargo built no executable called vkarray")
}

/// The path of the executable `name` in what `cargo build --message-format json` printed.
fn executable(messages: &str, name: &str) -> Option<String> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|message| message["target"]["name"] == name && message["executable"].is_string())
        .and_then(|message| message["executable"].as_str().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(given: Option<&Picture>) -> Vec<String> {
        pipeline(given).iter().map(|run| CommandLine::new(run.words()).to_string()).collect()
    }

    #[test]
    fn a_picture_is_drawn_first_if_none_is_given() {
        assert_eq!(
            lines(None),
            [
                "run shaders/samples/julia.wgsl --arg 'image=zeros:f32[512,512,4]' --arg width=512 --arg height=512 \
                 --arg c_re=-0.8 --arg c_im=0.156 --arg scale=1.2 --const MAX_ITER=400 \
                 --out image=demo-out/julia.png --covering 512,512",
                "run shaders/samples/convolve.wgsl --arg source=@demo-out/julia.png \
                 --arg 'target_image=zeros:f32[512,512,4]' --arg weights=@demo-out/gaussian.npy --arg width=512 \
                 --arg height=512 --arg radius_x=4 --arg radius_y=4 \
                 --out target_image=demo-out/julia-blurred.png --covering 512,512",
                "run shaders/samples/convolve.wgsl --arg source=@demo-out/julia.png \
                 --arg 'target_image=zeros:f32[512,512,4]' --arg weights=@demo-out/sharpen.npy --arg width=512 \
                 --arg height=512 --arg radius_x=1 --arg radius_y=1 \
                 --out target_image=demo-out/julia-sharpened.png --covering 512,512",
            ]
        );
    }

    #[test]
    fn a_given_picture_keeps_its_size_and_its_name() {
        // The picture is wider than high, so that a swap of width and height fails the test.
        let given =
            Picture { path: "/home/ada/my cat.jpg".to_owned(), stem: "my cat".to_owned(), width: 640, height: 480 };
        let lines = lines(Some(&given));
        assert_eq!(lines.len(), 2, "nothing is drawn: {lines:?}");
        for (line, verb) in lines.iter().zip(["blurred", "sharpened"]) {
            for part in [
                "--arg 'source=@/home/ada/my cat.jpg'".to_owned(),
                "--arg 'target_image=zeros:f32[480,640,4]'".to_owned(), // Rows first.
                "--arg width=640 --arg height=480".to_owned(),
                "--covering 640,480".to_owned(), // x first.
                format!("--out 'target_image=demo-out/my cat-{verb}.png'"),
            ] {
                assert!(line.contains(&part), "{part} in {line}");
            }
        }
    }

    #[test]
    fn a_filter_is_written_to_the_path_that_the_command_reads() {
        for run in pipeline(None).into_iter().skip(1) {
            let (file, weights) = run.filter.clone().expect("a filter");
            assert!(run.args.contains(&("weights", format!("@{file}"))), "{run:?}");
            assert!(run.args.contains(&("radius_x", weights.radius.to_string())), "{run:?}");
        }
    }

    #[test]
    fn the_size_and_name_of_a_picture_are_read_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.png");
        image::RgbaImage::new(7, 3).save(&path).unwrap();
        let picture = Picture::open(&path).unwrap();
        assert_eq!((picture.width, picture.height, picture.stem.as_str()), (7, 3, "seen"));
        assert!(Path::new(&picture.path).is_absolute(), "{picture:?}");
        let missing = folder.path().join("missing.png");
        let error = Picture::open(&missing).unwrap_err();
        assert!(error.to_string().contains("missing.png"), "{error}");
    }

    #[test]
    fn the_path_of_the_executable_is_read_from_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"vkarray"},"executable":null}"#, // The library.
            "\nnot json\n",
            r#"{"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/release/other"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"vkarray"},"executable":"/t/release/vkarray"}"#,
        );
        assert_eq!(executable(messages, "vkarray").as_deref(), Some("/t/release/vkarray"));
        assert_eq!(executable(messages, "absent"), None);
    }
}
