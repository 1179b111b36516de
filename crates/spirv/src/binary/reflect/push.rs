//! Push constants: numbers, and addresses, each of which is an array parameter.
//!
//! `uses/addresses.rs` says how what an address leads to is used.

use spirv::Decoration;

use super::SignatureReader;
use crate::binary::contents::{Global, Type, is_address};
use crate::binary::types::TypeReader;
use crate::binary::uses::{ANYWHERE, Use, address_root};
use crate::error::Malformed;
use crate::signature::{Access, ElementType, Field, Param, ParamKind, PushConstants, PushMember};

/// Bytes of push constants, at most; devices allow 128 to 4096.
const MAX_PUSH_BYTES: u32 = 1 << 16;

impl SignatureReader<'_> {
    pub(super) fn push_constants(&mut self, global: &Global, name: &str) -> Result<(), Malformed> {
        if self.signature.push_constants.is_some() {
            return Err(Malformed::Count { op: "Variable for push constants", count: 2 });
        }
        let types = TypeReader { contents: self.contents, values: self.values, variable: name };
        let ElementType::Struct { name: mut ty, mut fields, bytes } = types.element(global.pointee)? else {
            return Err(Malformed::Unplaced { variable: name.to_owned(), what: "block type" });
        };
        let bytes = bytes.next_multiple_of(4);
        Malformed::check_count("bytes of push constants", bytes, MAX_PUSH_BYTES)?;
        if fields.iter().any(|field| field.ty.runtime_array().is_some()) {
            let what = "push constants have no fixed length".to_owned();
            return Err(Malformed::Layout { variable: name.to_owned(), what });
        }
        if let [Field { ty: ElementType::Struct { name: inner, .. }, .. }] = fields.as_slice() {
            ty.clone_from(inner);
            fields = flattened(fields.swap_remove(0));
        }
        // The only member, without a name: the block is a wrapper that a compiler put around it.
        let is_wrapped = matches!(fields.as_slice(), [field] if field.name == "member0");
        if is_wrapped {
            ty = fields[0].ty.to_string();
        }
        let mut members = Vec::new();
        for Field { name: own, offset, ty } in fields {
            let name = if is_wrapped { name.to_owned() } else { own };
            match self.address(global.pointee, offset).filter(|_| matches!(ty, ElementType::Address(_))) {
                Some(pointer) => {
                    let address = self.array_at(pointer, name, offset)?;
                    self.addresses.push(address);
                }
                None => members.push(PushMember { name, offset, ty }),
            }
        }
        self.signature.push_constants = Some(PushConstants { name: name.to_owned(), ty, bytes, members });
        Ok(())
    }

    /// The type of the address that lies so many bytes into a struct.
    fn address(&self, mut ty: u32, mut offset: u32) -> Option<u32> {
        while let Type::Struct { members } = &self.contents.types[&ty] {
            let place = |(member, part): (u32, &u32)| {
                Some((self.contents.decoration(ty, Some(member), Decoration::Offset)?, *part))
            };
            let before = (0..).zip(members).filter_map(place).filter(|(start, _)| *start <= offset);
            let (start, part) = before.max_by_key(|(start, _)| *start)?;
            (ty, offset) = (part, offset - start);
        }
        Some(ty).filter(|ty| is_address(&self.contents.types[ty]) && offset == 0)
    }

    /// The array whose address lies there in the push constants.
    fn array_at(&self, pointer: u32, name: String, offset: u32) -> Result<Param, Malformed> {
        let types = TypeReader { contents: self.contents, values: self.values, variable: &name };
        let ty = types.addressed(pointer)?;
        let roots = [address_root(offset), ANYWHERE].into_iter().filter_map(|root| self.uses.get(&root));
        let Use { reads, writes, alignment } = roots.fold(Use::default(), |all, used| all.join(*used));
        let access = if writes { Access::ReadWrite } else { Access::Read };
        let alignment = alignment.max(1).checked_next_power_of_two().unwrap_or(1);
        let mut param = Param { binding: offset, access, reads, writes, ..Param::of_type(ParamKind::Address, ty) };
        param.unwrap_block();
        Ok(Param { name, alignment, ..param })
    }
}

/// The fields of a struct that is the only field of another.
fn flattened(outer: Field) -> Vec<Field> {
    match outer.ty {
        ElementType::Struct { fields, .. } => {
            let moved = |field: Field| Field { offset: outer.offset + field.offset, ..field };
            fields.into_iter().map(moved).collect()
        }
        _ => vec![outer],
    }
}
