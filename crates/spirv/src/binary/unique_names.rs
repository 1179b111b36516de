//! Names that mean one parameter: [`make_names_unique`].

use std::collections::{HashMap, HashSet};

use crate::signature::{Param, ParamKind, Signature};

/// Buffers that share a name are called by their places: a call by name must mean one.
pub(super) fn make_names_unique(signature: &mut Signature) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for param in &signature.params {
        let names: HashSet<_> = param.aliases.iter().map(|alias| &alias.name).chain([&param.name]).collect();
        for name in names {
            *counts.entry(name.clone()).or_default() += 1;
        }
    }
    for Param { name, aliases, group, binding, kind, .. } in &mut signature.params {
        for name in aliases.iter_mut().map(|alias| &mut alias.name).chain([name]).filter(|name| counts[*name] > 1) {
            *name = match kind {
                ParamKind::Address => format!("push_{binding}"),
                _ => format!("binding_{group}_{binding}"),
            };
        }
    }
    let mut taken: HashSet<String> = HashSet::new();
    for member in signature.push_constants.iter_mut().flat_map(|push| &mut push.members) {
        if !taken.insert(member.name.clone()) {
            member.name = format!("push_{}", member.offset);
        }
    }
}
