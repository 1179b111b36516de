//! Compares a struct of the host with one of a shader when a program is compiled: [`assert_field`], [`assert_size`].
//!
//! A constant that calls these fails to evaluate where the two differ, and the compiler shows the message. Constants cannot
//! format, so the message is assembled byte by byte.

/// Fails to evaluate unless a field lies at the same offset, in bytes, on both sides.
///
/// ```
/// use std::mem::offset_of;
///
/// #[repr(C)]
/// struct Particle { position: [f32; 3], mass: f32 }
///
/// const _: () = vkarray_spirv::assert_field("Particle", "mass", 12, offset_of!(Particle, mass));
/// ```
///
/// # Panics
///
/// If they differ: in a constant, an error of the compiler.
pub const fn assert_field(name: &str, field: &str, shader: usize, host: usize) {
    if shader != host {
        let message = Message::new().text("struct `").text(name).text("`: field `").text(field);
        let message = message.text("` starts at byte ").number(shader).text(" in the shader, at byte ");
        panic!("{}", message.number(host).text(" on the host").as_str());
    }
}

/// Fails to evaluate unless a struct has the same size, in bytes, on both sides.
///
/// ```
/// const _: () = vkarray_spirv::assert_size("Pair", 8, size_of::<[f32; 2]>());
/// ```
///
/// # Panics
///
/// If they differ: in a constant, an error of the compiler.
pub const fn assert_size(name: &str, shader: usize, host: usize) {
    if shader != host {
        let message = Message::new().text("struct `").text(name).text("` has ").number(shader);
        panic!("{}", message.text(" bytes in the shader, ").number(host).text(" on the host").as_str());
    }
}

/// A line of text, cut where it is too long.
struct Message {
    bytes: [u8; 256],
    len: usize,
}

impl Message {
    const fn new() -> Self {
        Self { bytes: [0; 256], len: 0 }
    }

    const fn text(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut i = 0;
        while i < text.len() && self.len < self.bytes.len() {
            self.bytes[self.len] = text[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    const fn number(self, number: usize) -> Self {
        const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        let digit = DIGITS[number % 10];
        if number < 10 { self.text(digit) } else { self.number(number / 10).text(digit) }
    }

    const fn as_str(&self) -> &str {
        match str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "a struct lies differently in the shader and on the host", // Cut inside a letter.
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn message(check: fn()) -> Option<String> {
        catch_unwind(check).err().map(|payload| *payload.downcast::<String>().unwrap())
    }

    #[test]
    fn the_message_names_the_field_and_both_offsets() {
        assert_eq!(message(|| assert_field("P", "mass", 0, 0)), None);
        let expected = "struct `P`: field `mass` starts at byte 12 in the shader, at byte 1600 on the host";
        assert_eq!(message(|| assert_field("P", "mass", 12, 1600)).as_deref(), Some(expected));
        assert_eq!(message(|| assert_size("P", 32, 32)), None);
        let expected = "struct `P` has 32 bytes in the shader, 0 on the host";
        assert_eq!(message(|| assert_size("P", 32, 0)).as_deref(), Some(expected));
    }
}
