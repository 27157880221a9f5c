//! Whole loads through the public interface over `io_uring`, against a server whose every step is scripted and counted:
//! what the engine reports is held against what the server has seen.

mod accounting;
mod agreement;
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

use loadcurve_plan::{HttpLoad, IoChoice};

use crate::support::{Reply, Server, closed, measure, ok};

/// What the plans of these tests ask for.
const IO: IoChoice = IoChoice::Uring;

#[test]
fn it_is_chosen_wherever_it_is_available() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let plan = closed(server.address, 1, 1);
    measure(plan.clone());
    let measured = measure(HttpLoad { io: IoChoice::Auto, ..plan });
    server.finish();
    assert_eq!(measured.value("/generator/io"), "uring");
}
