// Scans of one number for each invocation of a workgroup
//
// The text before this file defines `team_subgroup.wgsl` or `team_alone.wgsl`; TEAMS; `T`, `op`, which is associative, and
// `identity`; and `team_words.wgsl`.

const THREADS = TEAMS * LANES;

// The combination of some numbers before a place, and of all numbers.
struct Sums { before: T, all: T }

var<workgroup> team_sums: array<T, TEAMS>;

// The combination with the number of the lane that is `by` lanes before, if the team has it.
fn with_lane_before(number: T, by: u32, place: Place) -> T {
    return select(number, op(lane_before(number, by), number), place.lane >= by);
}

// The numbers of the lanes of the team up to this one, combined.
fn scan_lanes(number: T, place: Place) -> T {
    var sum = number;
    for (var by = 1u; by < LANES; by *= 2u) {
        sum = with_lane_before(sum, by, place);
    }
    return sum;
}

// The number of the lane before this one; the identity in the first lane.
fn previous_lane(number: T, place: Place) -> T {
    return select(identity(), lane_before(number, 1u), place.lane > 0u);
}

// The sums of the teams before this one, and of all teams. All lanes of a team have its sum.
fn scan_teams(sum: T, place: Place) -> Sums {
    workgroupBarrier();
    if place.lane == 0u {
        team_sums[place.team] = sum;
    }
    workgroupBarrier();
    var sums = Sums(identity(), identity());
    for (var team = 0u; team < TEAMS; team++) {
        if team == place.team {
            sums.before = sums.all;
        }
        sums.all = op(sums.all, team_sums[team]);
    }
    return sums;
}
