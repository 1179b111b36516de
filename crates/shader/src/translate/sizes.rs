//! Lengths of shared arrays and sizes of workgroups, chosen by their own names: [`Sizes`], and which constants they are.
//!
//! WGSL says both with constants: `var<workgroup> tile: array<f32, N>`, `@workgroup_size(N)`. A builder names
//! the tile, so `N` is looked up here and set like any other constant. Its value and the device's limits are checked where
//! those of all constants are. Called by `pipeline/cache.rs`, through `Module::constants_for`.

use std::collections::BTreeMap;

use naga::{AddressSpace, ArraySize, Expression, Handle, Override, TypeInner};
use vkarray_spirv::Names;
use vkarray_spirv::internal::{AXES, nearest};

use crate::error::{Error, Result};

/// Sizes that a builder sets by the name of the variable, or for the workgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// Elements of shared arrays.
    pub shared: BTreeMap<String, u32>,
    /// Invocations of a workgroup on x, y and z.
    pub workgroup: Option<[u32; 3]>,
}

impl Sizes {
    /// Whether no size is set.
    pub fn is_empty(&self) -> bool {
        self.shared.is_empty() && self.workgroup.is_none()
    }

    /// Adds to `constants` those of an entry point of the module that these sizes are.
    pub(crate) fn apply(
        &self,
        module: &naga::Module,
        entry: &str,
        constants: &mut BTreeMap<String, f64>,
    ) -> Result<()> {
        for (variable, &len) in &self.shared {
            let what = format!("the length of `{variable}`");
            let constant = shared_constant(module, entry, variable, &what)?;
            set(module, entry, &what, (constant, len), constants)?;
        }
        for (axis, size) in self.workgroup.into_iter().flatten().enumerate() {
            let what = format!("the workgroup size on axis {}", AXES[axis]);
            match workgroup_constant(module, entry, axis) {
                DeclaredSize::Constant(constant) => set(module, entry, &what, (constant, size), constants)?,
                DeclaredSize::Fixed(fixed) if fixed == size => {}
                DeclaredSize::Fixed(fixed) => return Err(refused(entry, &what, format!("the shader says {fixed}"))),
                DeclaredSize::Computed => return Err(refused(entry, &what, COMPUTED.to_owned())),
            }
        }
        Ok(())
    }
}

/// What a shader says where a size stands.
enum DeclaredSize {
    Constant(Handle<Override>),
    Fixed(u32),
    Computed,
}

const COMPUTED: &str = "the shader computes it; set the constants that it is computed from";

fn refused(entry: &str, what: &str, problem: String) -> Error {
    Error::Size { kernel: entry.to_owned(), what: what.to_owned(), problem }
}

/// The constant that is the length of a shared array.
fn shared_constant(module: &naga::Module, entry: &str, variable: &str, what: &str) -> Result<Handle<Override>> {
    let shared = || module.global_variables.iter().map(|(_, v)| v).filter(|v| v.space == AddressSpace::WorkGroup);
    let Some(found) = shared().find(|found| found.name.as_deref() == Some(variable)) else {
        let found: Names = shared().filter_map(|found| found.name.clone()).collect();
        let hint = nearest(variable, &found.0);
        return Err(Error::UnknownShared { kernel: entry.to_owned(), variable: variable.to_owned(), found, hint });
    };
    match module.types[found.ty].inner {
        TypeInner::Array { size: ArraySize::Pending(constant), .. } if module.overrides[constant].name.is_some() => {
            Ok(constant)
        }
        TypeInner::Array { size: ArraySize::Pending(_), .. } => Err(refused(entry, what, COMPUTED.to_owned())),
        TypeInner::Array { size: ArraySize::Constant(len), .. } => {
            Err(refused(entry, what, format!("the shader says {len}; an `override` can be its length")))
        }
        _ => Err(refused(entry, what, "it is no array".to_owned())),
    }
}

/// How the entry point declares the size of its workgroup on an axis.
fn workgroup_constant(module: &naga::Module, entry: &str, axis: usize) -> DeclaredSize {
    let point = module.entry_points.iter().find(|point| point.name == entry).expect("the caller chose it");
    match point.workgroup_size_overrides.and_then(|sizes| sizes[axis]) {
        None => DeclaredSize::Fixed(point.workgroup_size[axis]),
        Some(expression) => match module.global_expressions[expression] {
            Expression::Override(constant) if module.overrides[constant].name.is_some() => {
                DeclaredSize::Constant(constant)
            }
            _ => DeclaredSize::Computed,
        },
    }
}

fn set(
    module: &naga::Module,
    entry: &str,
    what: &str,
    (constant, size): (Handle<Override>, u32),
    constants: &mut BTreeMap<String, f64>,
) -> Result<()> {
    let declared = &module.overrides[constant];
    let name = declared.name.clone().expect("only constants with names are looked up");
    let id = declared.id.map(|id| id.to_string());
    let size = f64::from(size);
    let before = id.and_then(|id| constants.remove(&id)).or_else(|| constants.get(&name).copied());
    match before {
        Some(before) if before != size => {
            Err(refused(entry, what, format!("it is the constant `{name}`, which is set to {before} too")))
        }
        _ => {
            constants.insert(name, size);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Module, Options, Source, check_workgroup};

    const WGSL: &str = "
        override N: u32 = 4;
        @id(3) override M: u32 = 2;
        var<workgroup> tile: array<f32, N>;
        var<workgroup> pairs: array<vec2<f32>, M>;
        var<workgroup> squared: array<f32, N * M>;
        var<workgroup> fixed: array<f32, 7>;
        var<workgroup> one: f32;
        var<workgroup> square: array<array<f32, 8>, N>;
        @compute @workgroup_size(N, 2, M * 1u) fn main() {
            tile[0] += pairs[0].x + squared[0] + fixed[0] + one;
        }
        @compute @workgroup_size(M) fn other() { square[0][0] = 1.0; }";

    type Case<'a> = (&'a str, &'a [(&'a str, u32)], Option<[u32; 3]>, &'a [(&'a str, f64)], &'a str);

    // Entry point, lengths, workgroup, constants; how the message begins.
    const REFUSALS: &[Case<'_>] = &[
        ("main", &[("tiel", 8)], None, &[], "kernel `main`: no shared variable `tiel`; there is `tile`, `pairs`, "),
        (
            "main",
            &[("fixed", 8)],
            None,
            &[],
            "kernel `main`: the length of `fixed` cannot be set: the shader says 7; an `override` can be its length",
        ),
        (
            "main",
            &[("squared", 8)],
            None,
            &[],
            "kernel `main`: the length of `squared` cannot be set: the shader computes",
        ),
        ("main", &[("one", 8)], None, &[], "kernel `main`: the length of `one` cannot be set: it is no array"),
        (
            "main",
            &[("tile", 8)],
            None,
            &[("N", 4.0)],
            "kernel `main`: the length of `tile` cannot be set: it is the constant `N`, which is set to 4 too",
        ),
        (
            "main",
            &[("tile", 8)],
            Some([4, 2, 2]),
            &[],
            "kernel `main`: the workgroup size on axis x cannot be set: it is the constant `N`, which is set to 8 too",
        ),
        (
            "main",
            &[],
            Some([4, 3, 2]),
            &[],
            "kernel `main`: the workgroup size on axis y cannot be set: the shader says 2",
        ),
        (
            "main",
            &[],
            Some([4, 2, 2]),
            &[],
            "kernel `main`: the workgroup size on axis z cannot be set: the shader computes",
        ),
        ("main", &[("tile", 0)], None, &[], "kernel `main`: not valid with the constants "),
        (
            "other",
            &[("square", 513)],
            None,
            &[],
            "kernel `other`: 16416 bytes of shared memory (`square`), the device has 16384",
        ),
        ("other", &[("square", u32::MAX)], None, &[], "kernel `other`: "),
        ("other", &[], Some([129, 1, 1]), &[], "kernel `other`: workgroup size 129 on axis x, the device allows 128"),
    ];

    fn built(entry: &str, shared: &[(&str, u32)], workgroup: Option<[u32; 3]>, given: &[(&str, f64)]) -> String {
        let shared = shared.iter().map(|&(name, len)| (name.to_owned(), len)).collect();
        let given = given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let module = Module::parse(&Source::wgsl(WGSL)).unwrap();
        let translated = module
            .constants_for(Some(entry), &Sizes { shared, workgroup }, given)
            .and_then(|constants| module.translate(Some(entry), &constants, &Options::default()))
            .and_then(|kernel| {
                check_workgroup(&kernel.signature, &Limits::MINIMUM)?;
                Ok(kernel)
            });
        translated.map_or_else(
            |error| error.to_string(),
            |kernel| format!("{:?} {}", kernel.signature.workgroup_size, kernel.signature.shared_bytes),
        )
    }

    #[test]
    fn sizes_are_the_constants_they_are_declared_with() {
        // Entry point, lengths, workgroup, constants; workgroup and bytes of shared memory.
        let cases: &[Case<'_>] = &[
            ("main", &[], None, &[], "[4, 2, 2] 96"),
            ("main", &[("tile", 8)], None, &[], "[8, 2, 2] 144"),
            ("main", &[("pairs", 3)], None, &[], "[4, 2, 3] 120"), // A constant with a number.
            ("main", &[("tile", 8)], None, &[("N", 8.0)], "[8, 2, 2] 144"), // Twice the same is once.
            ("main", &[("pairs", 3)], None, &[("3", 3.0)], "[4, 2, 3] 120"),
            ("other", &[("square", 5)], Some([16, 1, 1]), &[], "[16, 1, 1] 160"),
        ];
        for &(entry, shared, workgroup, given, expected) in cases {
            assert_eq!(built(entry, shared, workgroup, given), expected, "{entry} {shared:?} {workgroup:?} {given:?}");
        }
    }

    #[test]
    fn a_size_that_cannot_be_is_refused_with_both_sides() {
        for &(entry, shared, workgroup, given, expected) in REFUSALS {
            let found = built(entry, shared, workgroup, given);
            assert!(found.starts_with(expected), "{found}\n{expected}");
        }
    }

    #[test]
    fn spirv_names_its_constants() {
        let bytes = include_bytes!("../../../../tests/shaders/saxpy.spv");
        let module = Module::parse(&Source::spirv(&bytes[..])).unwrap();
        let sizes = Sizes { workgroup: Some([64, 1, 1]), ..Sizes::default() };
        let error = module.constants_for(None, &sizes, BTreeMap::new()).unwrap_err().to_string();
        assert_eq!(
            error,
            "shader.spv: setting sizes is done while a shader is translated, and SPIR-V is taken as it is"
        );
        assert!(module.constants_for(None, &Sizes::default(), BTreeMap::new()).unwrap().is_empty());
    }
}
