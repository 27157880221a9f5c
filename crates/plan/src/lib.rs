//! What a load will do, as arithmetic: schedules, shares of them, stop rules and the plan itself.
//!
//! Nothing here reads a clock or touches I/O: every function takes the time as an argument, so that a schedule is
//! tested on numbers and never by waiting.
//!
//! # Examples
//!
//! The second of two threads computes its own requests of 1,000 per second: with those of the first they are the whole.
//!
//! ```
//! use loadcurve_plan::{Arrivals, Nanos, RateProfile, Schedule, Share};
//!
//! let rate = RateProfile::constant(1_000.0).unwrap();
//! let mut second = Schedule::new(rate, Arrivals::Constant, 0, Share::new(1, 2));
//! assert_eq!(second.next_due(), Nanos::from_millis(1));
//! second.take();
//! assert_eq!(second.next_due(), Nanos::from_millis(3));
//! ```

mod back_off;
mod grpc;
mod http;
mod http2;
pub mod limits;
mod load;
mod messages;
mod nanos;
mod pace;
mod picker;
mod profile;
mod random;
mod recording;
mod requests;
mod schedule;
mod share;
mod status;
mod tls;
mod way;

pub use back_off::BackOff;
pub use grpc::{Call, Grpc};
pub use http::{Conversation, Http, HttpLoad, HttpVersion};
pub use http2::{Hpack, Http2};
pub use load::{InvalidPlan, IoChoice, Load, Model, Rate, Stop, Waiting, Work};
pub use messages::{EventFormat, Events, MessageType, Messages, WebSocket};
pub use nanos::Nanos;
pub use pace::{Arriving, Pace, Unit};
pub use picker::{Choice, Pick, Picker, Weights};
pub use profile::{InvalidRate, RateProfile, RateStretch};
pub use random::{Purpose, Random};
pub use recording::{Recording, Replay};
pub use requests::{Body, ListedRequests, Request, Requests};
pub use schedule::{Arrivals, Schedule};
pub use share::Share;
pub use status::{Expectation, ExpectedStatus};
pub use tls::{ClientCertificate, Tls, TlsVersion, Verify};
pub use way::{Destination, ProxyProtocol, Sockets, Way};
