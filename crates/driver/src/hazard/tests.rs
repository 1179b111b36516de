//! Tests of the planner.
mod machine;
mod oracle;
mod program;
mod verdict;
