//! Ranks that compare their calls before they exchange messages, so that a disagreement is an error on all of them.

use vkarray::device::environment::{self, parse_switch};

use super::{Transport, TransportError, received};

/// A switch that compares the calls of ranks also in release builds, or not in debug builds.
pub(super) const CHECK_CALLS: &str = "VKARRAY_CHECK_CALLS";

/// Compares what all ranks call, each as one line of text, if [`Transport::checks_calls`] says so. All ranks get the
/// same result, so that none of them goes on alone.
pub(crate) fn agree(transport: &dyn Transport, call: impl FnOnce() -> String) -> Result<(), TransportError> {
    if !transport.checks_calls()? {
        return Ok(());
    }
    let calls = gather_texts(transport, &call())?;
    let other = calls.iter().position(|call| *call != calls[0]);
    // The verdict is empty, or has the number of the first rank that differs, the call of rank 0 and the differing one.
    let verdict = other.map_or_else(String::new, |other| format!("{other}\n{}\n{}", calls[0], calls[other]));
    let verdict = broadcast_text(transport, &verdict)?;
    match verdict.splitn(3, '\n').collect::<Vec<_>>()[..] {
        [other, ours, theirs] => Err(TransportError::Calls {
            other: other.parse().expect("rank 0 wrote a number"),
            ours: ours.to_owned(),
            theirs: theirs.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// What a variable of the environment says, or where it is not set the default.
pub(super) fn switch(variable: &'static str, default: bool) -> Result<bool, TransportError> {
    environment::text(variable).map_or(Ok(default), |text| parsed_switch(variable, text))
}

fn parsed_switch(variable: &'static str, text: String) -> Result<bool, TransportError> {
    parse_switch(&text).ok_or(TransportError::Setting { variable, text })
}

/// The texts of all ranks in their order on rank 0, an empty list on the others.
pub(crate) fn gather_texts(transport: &dyn Transport, text: &str) -> Result<Vec<String>, TransportError> {
    let senders = if transport.rank() == 0 { 0..transport.size() } else { 0..0 };
    let lens: Vec<_> = senders.clone().map(|sender| (sender, LENGTH)).collect();
    let lens = received(transport, &[(0, bytemuck::bytes_of(&text.len()))], &lens)?;
    let incoming: Vec<_> = senders.zip(lens.iter().map(|bytes| parsed(bytes))).collect();
    Ok(received(transport, &[(0, text.as_bytes())], &incoming)?.into_iter().map(decoded).collect())
}

/// The texts of all ranks in their order on all ranks. No text has a line feed.
pub(crate) fn share_texts(transport: &dyn Transport, text: &str) -> Result<Vec<String>, TransportError> {
    let all = broadcast_text(transport, &gather_texts(transport, text)?.join("\n"))?;
    Ok(all.split('\n').map(str::to_owned).collect())
}

/// The text of rank 0 on all ranks.
fn broadcast_text(transport: &dyn Transport, text: &str) -> Result<String, TransportError> {
    let receivers = if transport.rank() == 0 { 0..transport.size() } else { 0..0 };
    let len = text.len();
    let to_all = |bytes| receivers.clone().map(|receiver| (receiver, bytes)).collect::<Vec<_>>();
    let len = parsed(&received(transport, &to_all(bytemuck::bytes_of(&len)), &[(0, LENGTH)])?[0]);
    Ok(received(transport, &to_all(text.as_bytes()), &[(0, len)])?.into_iter().map(decoded).collect())
}

/// The bytes of a length.
const LENGTH: usize = size_of::<usize>();

fn parsed(length: &[u8]) -> usize {
    bytemuck::pod_read_unaligned(length)
}

fn decoded(text: Vec<u8>) -> String {
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ThreadRank;

    #[test]
    fn a_variable_is_a_switch() {
        let parsed = |text: &str| parsed_switch(CHECK_CALLS, text.to_owned());
        assert_eq!([parsed("1"), parsed("off")], [Ok(true), Ok(false)]);
        assert_eq!(switch("A_VARIABLE_THAT_IS_NOT_SET", true), Ok(true));
        let error = parsed("2").unwrap_err();
        assert_eq!(error.to_string(), "VKARRAY_CHECK_CALLS is \"2\"; use one of 1, true, yes, on, 0, false, no, off");
    }

    #[test]
    fn texts_of_any_length_reach_all_ranks() {
        let text = |rank: usize| "é".repeat(3 * rank);
        for size in [1, 2, 5] {
            let results = ThreadRank::run(size, |rank| {
                assert_eq!(
                    gather_texts(rank, &text(rank.rank())).unwrap().len(),
                    if rank.rank() == 0 { size } else { 0 }
                );
                share_texts(rank, &text(rank.rank())).unwrap()
            });
            assert_eq!(results, vec![(0..size).map(text).collect::<Vec<_>>(); size]);
        }
    }
}
