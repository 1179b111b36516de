//! A report of where ranks compute and what connects them.

use std::fmt;

use vkarray::Context;

use crate::decomposition::{Decomposition, HaloSchedule};
use crate::error::DistError;
use crate::transport::{Link, Place, Transport, agree, gather_texts};

/// Where a rank computes, and its neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankReport {
    /// Where the rank runs.
    pub place: Place,
    /// The name of its device.
    pub device: String,
    /// The UUID of its device.
    pub uuid: String,
    /// The ranks with which it exchanges ghost zones, and the way of the elements.
    pub neighbours: Vec<(usize, Link)>,
}

/// Where all ranks of a program compute, by rank.
///
/// ```
/// use vkarray_dist::{Decomposition, Report, ThreadRank, open_context};
///
/// let row = Decomposition::over([100], 3)?.ghosts([(1, 1)])?;
/// let reports = ThreadRank::run(3, |rank| Report::gather(rank, &open_context(rank)?, &row));
/// let report = reports.into_iter().next().unwrap()?.unwrap(); // On rank 0.
/// let text = report.to_string();
/// assert!(text.starts_with("3 ranks on 1 host, connected by threads of one process\nrank 0: this process, "));
/// println!("{text}"); // … neighbours by pages of the host: 1
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The reports of the ranks.
    pub ranks: Vec<RankReport>,
}

impl Report {
    /// Gathers the report of all ranks on rank 0; the others get `None`. The neighbours are those of the decomposition.
    /// All ranks call this function. Blocks until all have; neighbours that exchange elements for the first time find out
    /// whether they can share memory, and make it.
    ///
    /// # Errors
    /// A rank has ended, or a variable has an unknown value.
    pub fn gather(
        transport: &dyn Transport,
        context: &Context,
        decomposition: &Decomposition,
    ) -> Result<Option<Self>, DistError> {
        agree(transport, || format!("Report::gather for {decomposition}"))?;
        let (own, schedule) = (transport.rank(), HaloSchedule::new(decomposition));
        let receivers = schedule.outgoing(own)?.into_iter().map(|message| message.receiver);
        let mut neighbours: Vec<usize> =
            receivers.chain(schedule.incoming(own)?.into_iter().map(|message| message.sender)).collect();
        neighbours.retain(|&rank| rank != own);
        neighbours.sort_unstable();
        neighbours.dedup();
        let mailboxes = transport.mailboxes()?;
        if let Some(mailboxes) = mailboxes {
            mailboxes.connect(context, transport, &neighbours)?;
        }
        let link = |rank| mailboxes.map_or(Link::Messages, |mailboxes| mailboxes.link(rank));
        let with = |wanted| {
            let ranks = neighbours.iter().filter(|&&rank| link(rank) == wanted);
            ranks.map(usize::to_string).collect::<Vec<_>>().join(" ")
        };
        let (Place { transport: name, host, host_rank, local_rank }, info) = (transport.place(), context.info());
        let mut lines = vec![name, host, host_rank.to_string(), local_rank.to_string()];
        lines.extend([info.name.clone(), info.uuid.clone()].into_iter().chain(LINKS.map(|(link, _)| with(link))));
        // No name has a line feed.
        let lines: Vec<_> = lines.iter().map(|line| line.replace('\n', " ")).collect();
        let texts = gather_texts(transport, &lines.join("\n"))?;
        let ranks = texts.iter().map(|text| parsed(text)).collect();
        Ok((own == 0).then_some(Self { ranks }))
    }
}

/// The ways of elements, and how a report names them.
const LINKS: [(Link, &str); 3] = [
    (Link::DeviceMemory, "memory of the device"),
    (Link::HostPages, "pages of the host"),
    (Link::Messages, "messages"),
];

/// The report in the text of a rank, which has a line for each of its parts.
fn parsed(text: &str) -> RankReport {
    let mut lines = text.split('\n').map(str::to_owned);
    let mut next = || lines.next().unwrap_or_default();
    let (transport, host) = (next(), next());
    let [host_rank, local_rank] = [next(), next()].map(|number| number.parse().expect("a rank wrote a number"));
    let place = Place { transport, host, host_rank, local_rank };
    let (device, uuid) = (next(), next());
    let mut neighbours = Vec::new();
    for (link, _) in LINKS {
        let ranks = next();
        neighbours.extend(ranks.split_whitespace().map(|rank| (rank.parse().expect("a rank wrote a number"), link)));
    }
    neighbours.sort_unstable();
    RankReport { place, device, uuid, neighbours }
}

/// A line for all ranks, and a line for each.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = (self.ranks.iter().enumerate()).filter(|(rank, of)| of.place.host_rank == *rank).count();
        let transport = self.ranks.first().map_or("nothing", |rank| &rank.place.transport);
        let plural = |count| if count == 1 { "" } else { "s" };
        let ranks = self.ranks.len();
        write!(f, "{ranks} rank{} on {hosts} host{}, connected by {transport}", plural(ranks), plural(hosts))?;
        for (number, rank) in self.ranks.iter().enumerate() {
            write!(f, "\nrank {number}: {}, {} (uuid:{})", rank.place.host, rank.device, rank.uuid)?;
            for (link, name) in LINKS {
                let ranks = rank.neighbours.iter().filter(|neighbour| neighbour.1 == link);
                let ranks: Vec<String> = ranks.map(|(other, _)| other.to_string()).collect();
                if !ranks.is_empty() {
                    write!(f, "; neighbours by {name}: {}", ranks.join(", "))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(host: &str, host_rank: usize, uuid: &str) -> RankReport {
        let place = Place { transport: "MPI".to_owned(), host: host.to_owned(), host_rank, local_rank: 0 };
        RankReport { place, device: "gpu".to_owned(), uuid: uuid.to_owned(), neighbours: Vec::new() }
    }

    #[test]
    fn a_report_has_a_line_for_each_rank() {
        let mut ranks = vec![rank("a", 0, "1"), rank("a", 0, "1"), rank("b", 2, "1")];
        ranks[0].neighbours = vec![(1, Link::DeviceMemory), (2, Link::Messages)];
        let expected = "3 ranks on 2 hosts, connected by MPI\n\
                        rank 0: a, gpu (uuid:1); neighbours by memory of the device: 1; neighbours by messages: 2\n\
                        rank 1: a, gpu (uuid:1)\n\
                        rank 2: b, gpu (uuid:1)";
        assert_eq!(Report { ranks }.to_string(), expected);
    }
}
