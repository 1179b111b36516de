//! A report of where ranks compute and what connects them.

use std::fmt;

use vkarray::Context;

use crate::decomposition::{Decomposition, HaloSchedule};
use crate::error::DistError;
use crate::transport::{Place, Transport, agree, gather_texts};

/// What two ranks share. Elements between them go through the memory of the host in each case; the shorter the way,
/// the faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Link {
    /// Both compute on one device of one host.
    SameDevice,
    /// Both are on one host.
    SameHost,
    /// They are on different hosts.
    OtherHost,
}

/// Where a rank computes, and its neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankReport {
    /// Where the rank runs.
    pub place: Place,
    /// The name of its device.
    pub device: String,
    /// The UUID of its device.
    pub uuid: String,
    /// The ranks with which it exchanges ghost zones, and what it shares with them.
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
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The reports of the ranks.
    pub ranks: Vec<RankReport>,
}

impl Report {
    /// Gathers the report of all ranks on rank 0; the others get `None`. The neighbours are those of the decomposition.
    /// All ranks call this function. Blocks until all have.
    ///
    /// # Errors
    /// A rank has ended.
    pub fn gather(
        transport: &dyn Transport,
        context: &Context,
        decomposition: &Decomposition,
    ) -> Result<Option<Self>, DistError> {
        agree(transport, || format!("Report::gather for {decomposition}"))?;
        let (Place { transport: name, host, host_rank, local_rank }, info) = (transport.place(), context.info());
        // No name has a line feed.
        let text = [&name, &host, &host_rank.to_string(), &local_rank.to_string(), &info.name, &info.uuid]
            .map(|word| word.replace('\n', " "));
        let texts = gather_texts(transport, &text.join("\n"))?;
        if transport.rank() != 0 {
            return Ok(None);
        }
        let mut ranks: Vec<RankReport> = texts.iter().map(|text| parsed(text)).collect();
        let schedule = HaloSchedule::new(decomposition);
        for rank in 0..ranks.len() {
            let mut neighbours: Vec<usize> = schedule.outgoing(rank)?.iter().map(|message| message.receiver).collect();
            neighbours.extend(schedule.incoming(rank)?.iter().map(|message| message.sender));
            neighbours.sort_unstable();
            neighbours.dedup();
            let others = neighbours.into_iter().filter(|&other| other != rank);
            ranks[rank].neighbours = others.map(|other| (other, link(&ranks[rank], &ranks[other]))).collect();
        }
        Ok(Some(Self { ranks }))
    }
}

/// The report in the text of a rank, which has a line for each of its six parts.
fn parsed(text: &str) -> RankReport {
    let mut lines = text.split('\n').map(str::to_owned);
    let mut next = || lines.next().unwrap_or_default();
    let (transport, host) = (next(), next());
    let [host_rank, local_rank] = [next(), next()].map(|number| number.parse().expect("a rank wrote a number"));
    let place = Place { transport, host, host_rank, local_rank };
    RankReport { place, device: next(), uuid: next(), neighbours: Vec::new() }
}

fn link(one: &RankReport, other: &RankReport) -> Link {
    match (one.place.host_rank == other.place.host_rank, one.uuid == other.uuid) {
        (true, true) => Link::SameDevice,
        (true, false) => Link::SameHost,
        (false, _) => Link::OtherHost,
    }
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
            for (link, name) in [
                (Link::SameDevice, "on the same device"),
                (Link::SameHost, "on the same host"),
                (Link::OtherHost, "on other hosts"),
            ] {
                let ranks = rank.neighbours.iter().filter(|neighbour| neighbour.1 == link);
                let ranks: Vec<String> = ranks.map(|(other, _)| other.to_string()).collect();
                if !ranks.is_empty() {
                    write!(f, "; neighbours {name}: {}", ranks.join(", "))?;
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
    fn ranks_share_a_device_only_on_one_host() {
        let own = rank("a", 0, "1");
        assert_eq!(link(&own, &rank("a", 0, "1")), Link::SameDevice);
        assert_eq!(link(&own, &rank("a", 0, "2")), Link::SameHost);
        // Clones of one virtual machine have devices of one UUID, and may have one name.
        assert_eq!(link(&own, &rank("a", 4, "1")), Link::OtherHost);
    }

    #[test]
    fn a_report_has_a_line_for_each_rank() {
        let mut ranks = vec![rank("a", 0, "1"), rank("a", 0, "1"), rank("b", 2, "1")];
        ranks[0].neighbours = vec![(1, Link::SameDevice), (2, Link::OtherHost)];
        let expected = "3 ranks on 2 hosts, connected by MPI\n\
                        rank 0: a, gpu (uuid:1); neighbours on the same device: 1; neighbours on other hosts: 2\n\
                        rank 1: a, gpu (uuid:1)\n\
                        rank 2: b, gpu (uuid:1)";
        assert_eq!(Report { ranks }.to_string(), expected);
    }
}
