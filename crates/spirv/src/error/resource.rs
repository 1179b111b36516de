//! What a variable of a shader may be that no kernel is given: [`Resource`], with what to declare instead.

use std::fmt;

macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident: $what:literal, $advice:expr;)*) => {
        /// What a variable is that no kernel is given. Its text says what to do instead.
        ///
        /// ```
        /// use vkarray_spirv::Resource;
        ///
        /// let text = Resource::Sampler.to_string();
        /// assert!(text.starts_with("a sampler that compares: declare a plain sampler"), "{text}");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Resource {
            $($(#[$doc])* $name,)*
        }

        impl Resource {
            /// What it is, in a few words.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }
        }

        impl fmt::Display for Resource {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let advice = match self { $(Self::$name => $advice,)* };
                write!(f, "{}: {advice}", self.what())
            }
        }
    };
}

resources! {
    /// An image that no array becomes.
    Image: "a cube, depth, multisampled or external image, or one of another format than arrays have",
        "declare a plain image of one to three dimensions, or layers of them";
    /// A sampler that compares.
    Sampler: "a sampler that compares", "declare a plain sampler, and compare in the shader";
    /// What rays are traced in.
    AccelerationStructure: "an acceleration structure", "no kernel traces rays; pass the geometry in storage buffers";
    /// A query of rays.
    RayQuery: "a ray query", "no kernel traces rays; pass the geometry in storage buffers";
    /// A matrix that invocations hold together, in memory that holds none.
    CooperativeMatrix: "a cooperative matrix", "declare it inside a function";
    /// An array of bindings of something else than buffers, in several dimensions, or one of many without a length.
    BindingArray: "an array of bindings that no list of arrays fits",
        "declare one axis of buffers, and at most 4 such arrays without a length in a kernel";
    /// An array of bindings that shares its binding with a variable of another number of buffers.
    MixedBindings: "at the binding of another number of buffers", "give it a binding of its own";
    /// An object whose bytes the host does not know.
    Opaque: "an opaque object", "declare a storage or uniform buffer of numbers";
    /// An input of another shader stage.
    Input: "an input that no compute kernel has", "declare a push constant or a buffer";
    /// An output of another shader stage.
    Output: "an output of another shader stage", "write the results into a storage buffer";
    /// Memory that compute kernels do not have.
    Foreign: "in a storage class that no compute kernel has",
        "declare a storage or uniform buffer, push constants, or workgroup memory";
    /// A binding with a number that drivers have no room for.
    FarBinding: "bound at a number above 65535", "choose a smaller number";
}
