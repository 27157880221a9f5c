//! Whole loads through the public interface over epoll, against a server whose every step is scripted and counted:
//! what the engine reports is held against what the server has seen.

mod accounting;
mod cuts;
mod failures;
mod levels;
mod limits;
mod lists;
mod machines;
mod protocol;
mod slowest;
mod support;
mod times;
mod uploads;

/// What the plans of these tests ask for.
const IO: loadcurve_plan::IoChoice = loadcurve_plan::IoChoice::Epoll;
