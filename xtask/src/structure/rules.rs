//! Judges a crate's facts: what breaks a rule, in words, with the file and line to look at.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::CrateFacts;
use super::{MAX_LINES, MAX_ROOMS};

/// What breaks a rule in a crate.
pub(crate) fn objections(facts: &CrateFacts) -> Vec<String> {
    [too_many_rooms(facts), bad_files(facts), shared_names(facts), circles(facts)].concat()
}

fn too_many_rooms(facts: &CrateFacts) -> Vec<String> {
    let entries: BTreeSet<_> = facts.files.iter().filter_map(|file| file.path.iter().next()).collect();
    if entries.len() <= MAX_ROOMS {
        return Vec::new();
    }
    vec![format!("crates/{}/src: {} entries, at most {MAX_ROOMS} are allowed", facts.name, entries.len())]
}

fn bad_files(facts: &CrateFacts) -> Vec<String> {
    let mut bad = Vec::new();
    for file in &facts.files {
        let place = format!("crates/{}/src/{}", facts.name, file.path.display());
        if !file.is_introduced {
            bad.push(format!("{place}: does not open with `//!`"));
        }
        if file.n_lines > MAX_LINES {
            bad.push(format!("{place}: {} lines, at most {MAX_LINES} are allowed", file.n_lines));
        }
    }
    bad
}

fn shared_names(facts: &CrateFacts) -> Vec<String> {
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
            format!("crates/{}/src: {} types are named `{name}`: {}", facts.name, places.len(), places.join(", "))
        })
        .collect()
}

/// A use of one room by another, as a message shows it.
type Uses<'a> = BTreeMap<(&'a str, &'a str), String>;

/// Circles among the rooms, each with one use for every step.
fn circles(facts: &CrateFacts) -> Vec<String> {
    let uses = uses(facts);
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &(from, to) in uses.keys() {
        next.entry(from).or_default().insert(to);
    }
    let mut rest: BTreeSet<&str> = next.keys().copied().collect();
    let mut found = Vec::new();
    while let Some(start) = rest.pop_first() {
        if let Some(circle) = shortest_circle(&next, start) {
            let steps = circle.windows(2).map(|step| format!("  {}", uses[&(step[0], step[1])]));
            let title =
                format!("crates/{}/src: rooms import each other in a circle: {}", facts.name, circle.join(" → "));
            found.push([title].into_iter().chain(steps).collect::<Vec<_>>().join("\n"));
            rest.retain(|room| !circle.contains(room));
        }
    }
    found
}

/// Which room uses which, and where first.
fn uses(facts: &CrateFacts) -> Uses<'_> {
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

/// The shortest way from a room back to itself, both ends included.
fn shortest_circle<'a>(next: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &'a str) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way.last().copied()?;
            for &room in next.get(last).into_iter().flatten() {
                let way: Vec<&str> = way.iter().copied().chain([room]).collect();
                if room == start {
                    return Some(way);
                }
                if seen.insert(room) {
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The objections to a crate `c` of these files, `lib.rs` among them.
    fn judged(files: &[(&str, &str)]) -> Vec<String> {
        let texts = files.iter().map(|(path, text)| (path.into(), format!("//! Text.\n{text}"))).collect();
        objections(&CrateFacts::of("c".to_owned(), texts).unwrap())
    }

    #[test]
    fn a_circle_between_rooms_is_named_with_its_uses() {
        let root = ("lib.rs", "mod a; mod b; mod d; pub use b::deep::Thing;");
        let circle = judged(&[
            root,
            ("a.rs", "fn f(_: &crate::Thing) {}"),
            ("b/mod.rs", "mod deep;"),
            ("b/deep.rs", "pub struct Thing; use super::super::d::G;"),
            ("d.rs", "pub struct G;\nfn g() { h!(crate::a::f()) }"),
        ]);
        let expected = "crates/c/src: rooms import each other in a circle: a → b → d → a\n  a.rs:2 uses `Thing` of b\n  \
                        b/deep.rs:2 uses `d` of d\n  d.rs:3 uses `a` of a";
        assert_eq!(circle, [expected]);
    }

    #[test]
    fn imports_one_way_inside_a_room_and_from_tests_are_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::Thing; use b::Other;"),
            (
                "a.rs",
                "pub struct Thing; mod inner { use super::Thing; }\n#[cfg(test)] mod tests { use crate::b::Other; }",
            ),
            ("a/tests.rs", "use crate::b::Other;"),
            ("b.rs", "pub struct Other; use crate::{a, Thing}; fn f() { super::a::g() } // crate::b"),
        ];
        assert!(judged(&files).is_empty(), "{:?}", judged(&files));
    }

    #[test]
    fn a_name_stands_for_one_type() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "struct Plan; fn f() { struct Local; }\n#[cfg(test)] mod tests { struct Plan; }"),
            ("b.rs", "fn f() { struct Local; }\nenum Plan { A }"),
        ];
        assert_eq!(judged(&files), ["crates/c/src: 2 types are named `Plan`: a.rs:2, b.rs:3"]);
    }

    #[test]
    fn files_and_rooms_are_counted() {
        let long = "\n".repeat(MAX_LINES);
        let names: Vec<String> = (0..MAX_ROOMS).map(|n| format!("m{n}.rs")).collect();
        let files: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), "")).chain([("lib.rs", &*long)]).collect();
        let expected = [
            format!("crates/c/src: {} entries, at most {MAX_ROOMS} are allowed", MAX_ROOMS + 1),
            format!("crates/c/src/lib.rs: {} lines, at most {MAX_LINES} are allowed", MAX_LINES + 1),
        ];
        assert_eq!(judged(&files), expected);
        let bare = CrateFacts::of("c".to_owned(), vec![("lib.rs".into(), "// Not for readers.".to_owned())]).unwrap();
        assert_eq!(objections(&bare), ["crates/c/src/lib.rs: does not open with `//!`"]);
    }
}
