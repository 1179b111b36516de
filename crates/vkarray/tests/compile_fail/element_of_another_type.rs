//! An element is what its `DTYPE` says: of that size and alignment, with at least a byte.

use bytemuck::{Pod, Zeroable};
use vkarray::{DType, Element};

macro_rules! element {
    ($name:ident($field:ty) as $dtype:expr) => {
        #[derive(Clone, Copy, Pod, Zeroable)]
        #[repr(C)]
        struct $name($field);

        impl Element for $name {
            const DTYPE: DType = $dtype;
        }

        const _: DType = DType::of::<$name>();
    };
}

element!(Short(u8) as DType::F64);
element!(Askew([u8; 8]) as DType::F64);
element!(Nothing(()) as DType::Record(0));

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(32))]
struct Wide([f32; 8]);

impl Element for Wide {
    const DTYPE: DType = DType::record::<Self>();
}

const _: DType = DType::of::<Wide>();

fn main() {}
