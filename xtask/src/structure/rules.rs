//! Compares the facts of source files with the rules. Each broken rule is a message with the file and the line.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::SourceFacts;
use super::{MAX_LINES, MAX_ROOMS};

/// The rules that a crate breaks.
pub(crate) fn of_crate(facts: &SourceFacts) -> Vec<String> {
    [too_many_rooms(facts), of_files(facts), shared_names(facts), cycles(facts)].concat()
}

fn too_many_rooms(facts: &SourceFacts) -> Vec<String> {
    let entries: BTreeSet<_> = facts.files.iter().filter_map(|file| file.path.iter().next()).collect();
    if entries.len() <= MAX_ROOMS {
        return Vec::new();
    }
    vec![format!("{}: {} entries, at most {MAX_ROOMS} are allowed", facts.folder.display(), entries.len())]
}

/// The rules that single files break.
pub(crate) fn of_files(facts: &SourceFacts) -> Vec<String> {
    let mut bad = Vec::new();
    for file in &facts.files {
        let path = facts.folder.join(&file.path);
        let place = path.display();
        if !file.is_introduced {
            bad.push(format!("{place}: does not open with `//!`"));
        }
        if file.n_lines > MAX_LINES {
            bad.push(format!("{place}: {} lines, at most {MAX_LINES} are allowed", file.n_lines));
        }
        let names =
            |(line, opening): &(_, _)| format!("{place}:{line}: a comment begins with `{opening}`: name the subject");
        bad.extend(file.openings.iter().map(names));
    }
    bad
}

fn shared_names(facts: &SourceFacts) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in facts.files.iter().filter(|file| !file.is_test) {
        for (name, line) in &file.types {
            places.entry(name).or_default().push(format!("{}:{line}", file.path.display()));
        }
    }
    places.retain(|_, places| places.len() > 1);
    places
        .iter()
        .map(|(name, places)| {
            let folder = facts.folder.display();
            format!("{folder}: {} types are named `{name}`: {}", places.len(), places.join(", "))
        })
        .collect()
}

/// For each pair of rooms of which the first uses the second, one such use in the form of a message.
type Uses<'a> = BTreeMap<(&'a str, &'a str), String>;

/// Cycles among the rooms, each with one use for every step.
fn cycles(facts: &SourceFacts) -> Vec<String> {
    let uses = uses(facts);
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &(from, to) in uses.keys() {
        next.entry(from).or_default().insert(to);
    }
    let mut rest: BTreeSet<&str> = next.keys().copied().collect();
    let mut found = Vec::new();
    while let Some(start) = rest.pop_first() {
        if let Some(cycle) = shortest_cycle(&next, start) {
            let steps = cycle.windows(2).map(|step| format!("  {}", uses[&(step[0], step[1])]));
            let title =
                format!("{}: rooms import each other in a cycle: {}", facts.folder.display(), cycle.join(" → "));
            found.push([title].into_iter().chain(steps).collect::<Vec<_>>().join("\n"));
            rest.retain(|room| !cycle.contains(room));
        }
    }
    found
}

/// The rooms that each room uses, with the first use of each.
fn uses(facts: &SourceFacts) -> Uses<'_> {
    let rooms: BTreeSet<&str> = facts.files.iter().map(|file| file.room()).collect();
    let mut uses = Uses::new();
    for file in facts.files.iter().filter(|file| !file.is_free()) {
        for (name, line) in &file.references {
            let room = match facts.reexports.get(name) {
                Some(room) if !rooms.contains(name.as_str()) => room.as_str(),
                _ => name.as_str(),
            };
            if let Some(&room) = rooms.get(room)
                && room != file.room()
            {
                let place = format!("{}:{line} uses `{name}` of {room}", file.path.display());
                uses.entry((file.room(), room)).or_insert(place);
            }
        }
    }
    uses
}

/// The shortest path from a room back to itself, both ends included.
fn shortest_cycle<'a>(next: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &'a str) -> Option<Vec<&'a str>> {
    let mut paths = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !paths.is_empty() {
        let mut longer = Vec::new();
        for path in paths {
            let last = path.last().copied()?;
            for &room in next.get(last).into_iter().flatten() {
                let path: Vec<&str> = path.iter().copied().chain([room]).collect();
                if room == start {
                    return Some(path);
                }
                if seen.insert(room) {
                    longer.push(path);
                }
            }
        }
        paths = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The rules that a crate `c` of these files breaks.
    fn objections(files: &[(&str, &str)]) -> Vec<String> {
        let texts = files.iter().map(|(path, text)| (path.into(), format!("//! Text.\n{text}"))).collect();
        of_crate(&SourceFacts::of(Path::new("crates/c/src"), texts).unwrap())
    }

    #[test]
    fn a_cycle_between_rooms_is_reported_with_its_uses() {
        let root = ("lib.rs", "mod a; mod b; mod d; pub use b::deep::Thing;");
        let found = objections(&[
            root,
            ("a.rs", "fn f(_: &crate::Thing) {}"),
            ("b/mod.rs", "mod deep;"),
            ("b/deep.rs", "pub struct Thing; use super::super::d::G;"),
            ("d.rs", "pub struct G;\nfn g() { h!(crate::a::f()) }"),
        ]);
        let expected = "crates/c/src: rooms import each other in a cycle: a → b → d → a\n  a.rs:2 uses `Thing` of b\n  \
                        b/deep.rs:2 uses `d` of d\n  d.rs:3 uses `a` of a";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn acyclic_imports_imports_within_a_room_and_imports_from_tests_are_accepted() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::Thing; use b::Other;"),
            (
                "a.rs",
                "pub struct Thing; mod inner { use super::Thing; }\n#[cfg(test)] mod tests { use crate::b::Other; }",
            ),
            ("a/tests.rs", "use crate::b::Other;"),
            ("b.rs", "pub struct Other; use crate::{a, Thing}; fn f() { super::a::g() } // crate::b"),
        ];
        assert!(objections(&files).is_empty(), "{:?}", objections(&files));
    }

    #[test]
    fn a_cycle_through_the_error_of_a_crate_is_reported() {
        let files = [
            ("lib.rs", "mod a; mod error;"),
            ("a.rs", "pub struct Report; use crate::error::Error;"),
            ("error.rs", "use crate::a::Report; pub struct Error(Report);"),
        ];
        let expected = "crates/c/src: rooms import each other in a cycle: a → error → a\n  a.rs:2 uses `error` of \
                        error\n  error.rs:2 uses `a` of a";
        assert_eq!(objections(&files), [expected]);
    }

    #[test]
    fn two_types_of_one_name_are_reported() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "struct Plan; fn f() { struct Local; }\n#[cfg(test)] mod tests { struct Plan; }"),
            ("b.rs", "fn f() { struct Local; }\nenum Plan { A }"),
        ];
        assert_eq!(objections(&files), ["crates/c/src: 2 types are named `Plan`: a.rs:2, b.rs:3"]);
    }

    #[test]
    fn too_many_rooms_too_long_files_and_files_without_an_opening_are_reported() {
        let long = "\n".repeat(MAX_LINES);
        let names: Vec<String> = (0..MAX_ROOMS).map(|n| format!("m{n}.rs")).collect();
        let files: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), "")).chain([("lib.rs", &*long)]).collect();
        let expected = [
            format!("crates/c/src: {} entries, at most {MAX_ROOMS} are allowed", MAX_ROOMS + 1),
            format!("crates/c/src/lib.rs: {} lines, at most {MAX_LINES} are allowed", MAX_LINES + 1),
        ];
        assert_eq!(objections(&files), expected);
        let bare =
            SourceFacts::of(Path::new("tests"), vec![("a.rs".into(), "// No documentation.".to_owned())]).unwrap();
        assert_eq!(of_files(&bare), ["tests/a.rs: does not open with `//!`"]);
    }

    #[test]
    fn a_comment_that_names_no_subject_is_reported_with_its_line() {
        let text = "//! Text.\n\n/// Those of `f`.\nfn g() {}".to_owned();
        let facts = SourceFacts::of(Path::new("tests"), vec![("a.rs".into(), text)]).unwrap();
        assert_eq!(of_files(&facts), ["tests/a.rs:3: a comment begins with `Those`: name the subject"]);
    }
}
