//! Whether sessions were resumed, and early data accepted, as often as the load asked for.

use super::super::resumption::{EarlyData, Resumption};
use super::super::{Code, Evidence, Status};
use super::{assert_says, closed, verdict};

#[test]
fn early_data_accepted_more_than_five_points_below_the_share_that_was_asked_for_casts_doubt() {
    let of = |asked, accepted, refused, without| Evidence {
        early_data: Some(EarlyData { asked, accepted, refused, without }),
        ..closed()
    };
    for reached in [of(1.0, 950, 50, 0), of(0.5, 450, 0, 550), of(1.0, 0, 19, 0)] {
        assert_eq!(verdict(&reached), (Status::Valid, vec![]));
    }
    let fewer = of(0.5, 449, 20, 531);
    assert_eq!(verdict(&fewer), (Status::Suspect, vec![Code::EarlyDataNotAccepted]));
    let parts =
        ["449 of 1,000 handshakes", "(45 %) instead of 50 %", "refused it in 20", "in 531 none was sent"];
    assert_says(&fewer, Code::EarlyDataNotAccepted, &parts);
    // A server that no longer knows the sessions resumes none, and refuses what came early with its offer.
    let none = of(1.0, 0, 47, 0);
    let parts = ["in 0 of 47 handshakes that offered to resume a session (0 %) instead of 100 %"];
    assert_says(&none, Code::EarlyDataNotAccepted, &parts);
}

#[test]
fn full_handshakes_more_than_five_points_beyond_the_share_that_was_asked_for_cast_doubt() {
    let shaken = |asked, full, resumed, refused| {
        let resumption = Some(Resumption { asked, full, resumed, refused, is_early: false });
        Evidence { resumption, ..closed() }
    };
    for reached in [
        shaken(1.0, 1_000, 0, 0),
        shaken(0.0, 50, 950, 50),
        shaken(0.5, 550, 450, 0),
        // Connections that stay open have no handshakes in the window, or too few for a share.
        shaken(0.0, 0, 0, 0),
        shaken(0.0, 19, 0, 0),
    ] {
        assert_eq!(verdict(&reached), (Status::Valid, vec![]));
    }
    for (fewer, parts) in [
        (
            shaken(0.0, 333, 667, 0),
            ["333 of 1,000 handshakes (33 %)", "full instead of 0 %", "no ticket was left for 333"],
        ),
        (
            shaken(0.25, 751, 249, 501),
            ["751 of 1,000", "instead of 25 %", "did not resume 501 sessions that it was offered"],
        ),
        (
            shaken(0.125, 20, 0, 0),
            ["20 of 20", "instead of 12.5 %", "17 connections had no session to resume"],
        ),
    ] {
        assert_eq!(verdict(&fewer), (Status::Suspect, vec![Code::ResumptionNotReached]));
        assert_says(&fewer, Code::ResumptionNotReached, &parts);
    }
    let resumption = Some(Resumption { asked: 0.0, full: 333, resumed: 667, refused: 0, is_early: true });
    let early = Evidence { resumption, ..closed() };
    assert_says(&early, Code::ResumptionNotReached, &["has ended before the server sends the next one"]);
}
