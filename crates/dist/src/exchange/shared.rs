//! Messages between ranks of one host through memory that the devices of both reach: one copy down and one copy up, and
//! none by the host.
//!
//! The sender makes the pages and tells the receiver their name. Each round is a message of one byte in both directions of
//! a pair, which says that the chunk is in its slot, and that older chunks were read. Two banks of slots suffice: the
//! messages of an exchange say that the chunks of the exchange before the last one were read.

use std::sync::Arc;

use vkarray::memory::Block;
use vkarray::{Context, Element};

use super::ByRank;
use super::side::{Side, Slots, places};
use crate::error::DistError;
use crate::transport::{Transport, TransportError, received};

/// The bytes of an offer: the name of pages, and numbers.
const OFFER: usize = 128;

/// What a rank sends through memory that others share, and what it receives from each of them.
type SharedSides<T> = (Option<Side<T>>, Vec<Side<T>>);

/// Lets ranks of one host share memory, where their devices can: what a rank sends this way, and what it receives from each
/// other one. What is left in the lists has to pass as messages. All ranks call this function.
pub(super) fn share<T: Element>(
    context: &Context,
    transport: &dyn Transport,
    sends: &mut ByRank<T>,
    receives: &mut ByRank<T>,
) -> Result<SharedSides<T>, DistError> {
    let near = near(transport, &[ranks(sends), ranks(receives)].concat())?;
    let near_sends = sends.extract_if(.., |(rank, _)| near.contains(rank)).collect();
    let near_receives: ByRank<T> = receives.extract_if(.., |(rank, _)| near.contains(rank)).collect();

    let (slots, places) = (Slots::of(&near_sends, 2), places(&near_sends));
    // Where memory cannot be shared, messages do.
    let pages = if near_sends.is_empty() { None } else { context.allocator().named_pages(slots.total()).ok() };
    let name = pages.as_ref().map_or("", |(_, name)| name);
    let offer = |place: &u64| padded(&format!("{name} {} {} {place}", slots.count, slots.bytes));
    let offers = ranks(&near_sends).into_iter().zip(places.iter().map(offer)).collect();
    let offered = tell(transport, offers, &ranks(&near_receives), OFFER)?;
    let opened: Vec<_> = offered.iter().map(|offer| open(context, &String::from_utf8_lossy(offer))).collect();
    let answers = ranks(&near_receives).into_iter().zip(opened.iter().map(|of| vec![u8::from(of.is_some())])).collect();
    let answers = tell(transport, answers, &ranks(&near_sends), 1)?;

    let (mut accepted, mut accepted_places) = (Vec::new(), Vec::new());
    for ((views, place), answer) in near_sends.into_iter().zip(places).zip(answers) {
        if answer == [1] {
            accepted.push(views);
            accepted_places.push(place);
        } else {
            sends.push(views);
        }
    }
    let shared_sends = match pages {
        Some((block, _)) if !accepted.is_empty() => Some(Side::new(context, accepted, &accepted_places, block, slots)?),
        _ => None,
    };
    let mut shared_receives = Vec::new();
    for (views, opened) in near_receives.into_iter().zip(opened) {
        match opened {
            Some((block, slots, place)) => {
                shared_receives.push(Side::new(context, vec![views], &[place], block, slots)?);
            }
            None => receives.push(views),
        }
    }
    Ok((shared_sends, shared_receives))
}

fn ranks<T: Element>(views: &ByRank<T>) -> Vec<usize> {
    views.iter().map(|(rank, _)| *rank).collect()
}

/// Which of the ranks are on the host of this rank.
fn near(transport: &dyn Transport, ranks: &[usize]) -> Result<Vec<usize>, TransportError> {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    ranks.dedup();
    let own = transport.place().host_rank.to_ne_bytes();
    let hosts = tell(transport, ranks.iter().map(|&rank| (rank, own.to_vec())).collect(), &ranks, own.len())?;
    Ok(ranks.into_iter().zip(hosts).filter(|(_, host)| *host == own).map(|(rank, _)| rank).collect())
}

/// Sends bytes to ranks, and receives `len` bytes from each of other ones.
fn tell(
    transport: &dyn Transport,
    outgoing: Vec<(usize, Vec<u8>)>,
    from: &[usize],
    len: usize,
) -> Result<Vec<Vec<u8>>, TransportError> {
    let outgoing: Vec<_> = outgoing.iter().map(|(rank, bytes)| (*rank, bytes.as_slice())).collect();
    received(transport, &outgoing, &from.iter().map(|&rank| (rank, len)).collect::<Vec<_>>())
}

/// A text with spaces behind it.
fn padded(text: &str) -> Vec<u8> {
    format!("{text:OFFER$}").into_bytes()
}

/// The memory that another rank offers, its slots and the place of the message in each of them. None where this rank
/// cannot reach it.
fn open(context: &Context, offer: &str) -> Option<(Arc<Block>, Slots, u64)> {
    let mut words = offer.split(' ');
    let block = context.allocator().open_named_pages(words.next()?).ok()?;
    let mut number = || words.next()?.parse().ok();
    let slots = Slots { banks: 2, count: number()?, bytes: number()? };
    Some((block, slots, number()?))
}
