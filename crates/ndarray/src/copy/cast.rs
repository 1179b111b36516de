//! Stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cast;
impl Cast {
    pub(crate) fn source(self) -> String {
        String::new()
    }
}
