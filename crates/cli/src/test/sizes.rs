//! [`Sizes`]: the sizes at which a test runs, relative to the workgroup of its kernel. Pure.

use serde::Deserialize;

use crate::error::{Error, Result};

/// A prime number that no size of a workgroup divides.
const PRIME: usize = 1009;

/// The word for the sizes at which kernels are most often wrong.
const PLANTED: &str = "planted";

/// What `planted` stands for.
const PLANTED_SIZES: [&str; 6] = ["0", "1", "workgroup-1", "workgroup", "workgroup+1", "prime"];

/// The value of `sizes`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged, expecting = "expected \"planted\" or a list of sizes")]
pub(crate) enum Sizes {
    /// The test has no size.
    #[default]
    None,
    Word(String),
    List(Vec<Size>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a size: a number, \"workgroup\", \"workgroup+1\", \"prime\"")]
pub(crate) enum Size {
    Number(usize),
    Word(String),
}

impl Sizes {
    /// The sizes for a workgroup of so many invocations along x, each once. `None` is a run of a test without sizes.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] for a word that is no size, and for an empty list.
    pub(crate) fn resolve(&self, workgroup: u32) -> Result<Vec<Option<usize>>> {
        let texts: Vec<String> = match self {
            Self::None => return Ok(vec![None]),
            Self::Word(word) if word == PLANTED => PLANTED_SIZES.map(str::to_owned).to_vec(),
            Self::Word(word) => vec![word.clone()],
            Self::List(sizes) => sizes.iter().map(Size::text).collect(),
        };
        let mut sizes: Vec<Option<usize>> = Vec::new();
        for text in &texts {
            let size = resolve(text, workgroup as usize).ok_or_else(|| {
                let words = "a number, `workgroup`, `workgroup+1`, `workgroup-1` or `prime`";
                Error::Setting(format!("`{text}` is no size: expected {words}"))
            })?;
            if !sizes.contains(&Some(size)) {
                sizes.push(Some(size));
            }
        }
        if sizes.is_empty() {
            return Err(Error::Setting("there is no size".to_owned()));
        }
        Ok(sizes)
    }
}

impl Size {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Word(word) => word.clone(),
        }
    }
}

fn resolve(text: &str, workgroup: usize) -> Option<usize> {
    match (text, text.strip_prefix("workgroup")) {
        ("prime", _) => Some(PRIME),
        (_, Some("")) => Some(workgroup),
        (_, Some(rest)) => match (rest.strip_prefix('+'), rest.strip_prefix('-')) {
            (Some(more), _) => workgroup.checked_add(more.parse().ok()?),
            (_, Some(less)) => workgroup.checked_sub(less.parse().ok()?),
            _ => None,
        },
        (number, None) => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Table {
        sizes: Sizes,
    }

    #[test]
    fn sizes_lie_around_the_workgroup() {
        for (text, sizes) in [
            ("\"planted\"", Ok(&[0, 1, 63, 64, 65, 1009][..])),
            ("[7, \"workgroup\", \"workgroup+10\", 64, \"prime\"]", Ok(&[7, 64, 74, 1009])),
            ("\"workgroup-64\"", Ok(&[0])),
            ("[\"workgroup-65\"]", Err("`workgroup-65` is no size")),
            ("[\"workgroup*2\"]", Err("`workgroup*2` is no size")),
            ("[\"-1\"]", Err("`-1` is no size")),
            ("[]", Err("there is no size")),
        ] {
            let table: Table = toml::from_str(&format!("sizes = {text}")).unwrap();
            match (table.sizes.resolve(64), sizes) {
                (Ok(found), Ok(sizes)) => {
                    assert_eq!(found, sizes.iter().copied().map(Some).collect::<Vec<_>>(), "{text}");
                }
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        assert_eq!(Sizes::None.resolve(64).unwrap(), [None]);
    }
}
