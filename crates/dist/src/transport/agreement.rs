//! Ranks that compare their calls before they exchange messages, so that a disagreement is an error on all of them.

use vkarray::device::environment::parse_switch;

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

/// Whether calls are compared, by the text of [`CHECK_CALLS`], or where it is not set in debug builds.
pub(super) fn checks_calls(text: Option<&str>) -> Result<bool, TransportError> {
    let Some(text) = text else { return Ok(cfg!(debug_assertions)) };
    parse_switch(text).ok_or_else(|| TransportError::Setting { variable: CHECK_CALLS, text: text.to_owned() })
}

/// The texts of all ranks in their order on rank 0, an empty list on the others.
pub(crate) fn gather_texts(transport: &dyn Transport, text: &str) -> Result<Vec<String>, TransportError> {
    let senders = if transport.rank() == 0 { 0..transport.size() } else { 0..0 };
    let lens: Vec<_> = senders.clone().map(|sender| (sender, LENGTH)).collect();
    let lens = received(transport, &[(0, bytemuck::bytes_of(&text.len()))], &lens)?;
    let incoming: Vec<_> = senders.zip(lens.iter().map(|bytes| parsed(bytes))).collect();
    Ok(received(transport, &[(0, text.as_bytes())], &incoming)?.into_iter().map(decoded).collect())
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
    fn a_variable_decides_whether_calls_are_compared_and_debug_builds_without_it() {
        assert_eq!(checks_calls(None), Ok(cfg!(debug_assertions)));
        assert_eq!([checks_calls(Some("1")), checks_calls(Some("off"))], [Ok(true), Ok(false)]);
        let error = checks_calls(Some("2")).unwrap_err();
        assert_eq!(error.to_string(), "VKARRAY_CHECK_CALLS is \"2\"; use one of 1, true, yes, on, 0, false, no, off");
    }

    #[test]
    fn texts_of_any_length_reach_rank_0_and_come_back() {
        let text = |rank: usize| "é".repeat(3 * rank);
        for size in [1, 2, 5] {
            let results = ThreadRank::run(size, |rank| {
                let all = gather_texts(rank, &text(rank.rank())).unwrap();
                (all.len(), broadcast_text(rank, &all.concat()).unwrap())
            });
            let whole: String = (0..size).map(text).collect();
            let expected = (0..size).map(|rank| (if rank == 0 { size } else { 0 }, whole.clone()));
            assert_eq!(results, expected.collect::<Vec<_>>());
        }
    }
}
