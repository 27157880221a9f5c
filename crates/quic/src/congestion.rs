//! How congestion is controlled, and how often that has made a connection send less.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig};

/// The name that it has elsewhere.
pub const CONGESTION_CONTROL: &str = "cubic";
/// How much is sent before anything is acknowledged: ten datagrams of the least length (RFC 9002 §7.2).
pub const INITIAL_WINDOW_BYTES: u64 = 12_000;

/// Makes the control of each connection.
pub(crate) struct Control(Arc<CubicConfig>);

impl Default for Control {
    fn default() -> Self {
        let mut cubic = CubicConfig::default();
        cubic.initial_window(INITIAL_WINDOW_BYTES);
        Self(Arc::new(cubic))
    }
}

impl ControllerFactory for Control {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Counted { inner: Arc::clone(&self.0).build(now, mtu), events: 0 })
    }
}

/// One connection's control. The library counts each time at which it finds packets lost; those that were sent before the window
/// was made smaller are of the same congestion (RFC 9002 §7.3.2).
struct Counted {
    inner: Box<dyn Controller>,
    events: u64,
}

/// How often a control has made its window smaller for congestion.
pub(crate) fn events(control: &dyn Controller) -> u64 {
    control.clone_box().into_any().downcast::<Counted>().map_or(0, |counted| counted.events)
}

impl Controller for Counted {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let before = self.inner.window();
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
        self.events += u64::from(self.inner.window() < before);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.inner.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), events: self.events })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use quinn_proto::congestion::ControllerFactory as _;

    use super::{Control, INITIAL_WINDOW_BYTES, events};

    /// RFC 9002 §7.3.2: a period of recovery begins with the first loss, and ends when something is acknowledged that was sent in it.
    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the library counts from a moment that only the clock gives"
    )]
    fn losses_of_what_was_sent_before_the_window_became_smaller_are_one_event() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut control = Arc::new(Control::default()).build(at(0), 1_200);
        assert_eq!((control.window(), events(&*control)), (INITIAL_WINDOW_BYTES, 0));
        for sent in [1, 2, 50] {
            control.on_congestion_event(at(60 + sent), at(sent), false, 1_200);
        }
        assert_eq!(events(&*control), 1);
        assert!(control.window() < INITIAL_WINDOW_BYTES);
        control.on_congestion_event(at(200), at(100), false, 1_200);
        assert_eq!(events(&*control), 2);
    }
}
