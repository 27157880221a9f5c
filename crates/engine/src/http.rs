//! What the result of a load on a web server has beside those of every load.

use std::borrow::Cow;

use loadcurve_plan::{HttpLoad, HttpVersion, Nanos, Requests};
use loadcurve_record::{Failure, MismatchedBody, OperationTally, Recorder, SlowRequest};
use loadcurve_wire::HttpExchange;

use crate::capacity::Capacity;
use crate::compression;
use crate::deliveries;
use crate::gathered::Gathered;
use crate::http3_summary::{self, Bodies};
use crate::kernel::TcpCounters;
use crate::merged::Merged;
use crate::messages;
use crate::protection;
use crate::requests::RequestSource;
use crate::result::{BrokenOff, LoadResult};
use crate::server_sockets::ServerSockets;
use crate::summary::{Summary, Terms};
use crate::verdict::{KeptUp, Loaded, OddBody, Redirection};
use crate::visitor::Look;

/// What a load on a web server is summarised by.
pub(crate) struct HttpSummary<'a, E: HttpExchange> {
    pub(crate) plan: &'a HttpLoad,
    pub(crate) requests: &'a RequestSource<E>,
    /// What results call the backend.
    pub(crate) io: Cow<'static, str>,
    /// As it was at the end; `None` if it is not known.
    pub(crate) capacity: Option<&'a Capacity>,
    /// What the server has shown of itself before the load; `None` if that is not known.
    pub(crate) look: Option<&'a Look>,
    /// The server's UDP sockets at the end, with what they have dropped meanwhile; `None` where they were not seen.
    pub(crate) server_sockets: Option<ServerSockets>,
}

impl<E: HttpExchange> HttpSummary<'_, E> {
    /// The result of what one or several processes recorded.
    pub(crate) fn of(&self, gathered: Gathered) -> LoadResult {
        let tally_labels = self.requests.tally_labels();
        let label_of = |slow: &SlowRequest| self.requests.label(slow.number);
        let terms = Terms {
            loaded: Loaded::WebServer,
            pace: self.plan.pace(),
            kept_up: KeptUp {
                requests: self.plan.model.connections() * self.plan.work.conversation.requests_at_once(),
                think_ms: self.plan.work.conversation.think_s * 1e3,
            },
            io: self.io.clone(),
            tally_labels,
            label_of: &label_of,
        };
        let mut summary = Summary::new(terms, gathered);
        let recorder = &summary.merged.recorder;
        summary.result.tls = protection::summary(self.plan, &summary.merged, self.look);
        let disruptions = recorder.disruptions;
        summary.result.broken_off = Some(BrokenOff {
            answer_begun: disruptions.answer_begun,
            kept_connection: disruptions.kept_connection,
            new_connection: disruptions.new_connection,
        });
        summary.result.redirected_to.clone_from(&recorder.redirected_to);
        let speaks_http2 = self.plan.work.http == HttpVersion::Http2;
        summary.result.http2 = speaks_http2.then(|| (&recorder.multiplexing).into());
        if self.plan.work.http == HttpVersion::Http3 {
            let bodies = self.bodies(recorder);
            summary.result.http3 = Some(Box::new(http3_summary::summary(
                self.plan,
                recorder,
                self.server_sockets,
                bodies,
                &protection::QUIC,
            )));
        }
        summary.result.messages = messages::summary(self.plan, recorder, summary.merged.length);
        add_deliveries(&mut summary.result, self.plan, recorder, summary.merged.length);
        let ports = self
            .capacity
            .and_then(|capacity| port_shortage(&summary.result, self.plan, &summary.merged, capacity));
        let evidence = &mut summary.evidence;
        evidence.consider_handshakes(self.plan, recorder);
        evidence.disruptions = disruptions;
        evidence.consider_messages(self.plan.work.subscribers(), recorder);
        if recorder.messages.ended_by_client > 0 {
            summary.result.waited_through = None;
        }
        evidence.pipelined = self.plan.work.is_pipelined();
        let is_only = matches!(&self.plan.work.requests, Requests::Given(requests) if requests.len() == 1);
        evidence.is_local = self.plan.work.address.tcp().is_none();
        if evidence.is_local {
            summary.result.kernel = TcpCounters::default();
        }
        evidence.redirection =
            summary.result.redirected_to.clone().map(|place| Redirection { place, is_only });
        evidence.odd_bodies = odd_bodies(self.requests, &summary.merged.recorder.operations);
        evidence.descriptors = self.capacity.map(|capacity| capacity.descriptors.shortage());
        evidence.ports = ports;
        summary.judged()
    }
}

impl<E: HttpExchange> HttpSummary<'_, E> {
    /// The bodies that came, and those that the verified answers had.
    fn bodies(&self, recorder: &Recorder) -> Bodies {
        let mut bodies = Bodies {
            received_bytes: recorder.body_bytes,
            other_length: recorder.failures[Failure::Mismatch],
            ..Bodies::default()
        };
        for (index, tally) in recorder.operations.iter().enumerate() {
            let expected = self.requests.counted_by(index).and_then(|template| template.expected_body_bytes);
            if let Some(bytes) = expected {
                let right = tally.answered - tally.answered_wrongly;
                bodies.compared += right;
                bodies.expected_bytes += right * bytes;
            }
        }
        bodies
    }
}

/// Adds what there is of compression, and of deliveries, where the plan has subscribers. How many answers a connection has says
/// nothing then: most of them listen.
fn add_deliveries(result: &mut LoadResult, plan: &HttpLoad, recorder: &Recorder, length: Nanos) {
    result.compression = compression::summary(plan, recorder);
    result.deliveries = deliveries::summary(plan, recorder, length);
    if result.deliveries.is_some() {
        result.connections.replies_per_connection = None;
    }
}

/// Where one tally counts several requests, their answers need not be of one length.
fn odd_bodies<E: HttpExchange>(requests: &RequestSource<E>, tallies: &[OperationTally]) -> Vec<OddBody> {
    let odd =
        tallies.iter().zip(requests.tally_labels()).enumerate().filter_map(|(index, (tally, label))| {
            if let Some(MismatchedBody { number, bytes: found_bytes }) = tally.mismatched_body {
                let verified_bytes = requests.template(requests.operation(number)).expected_body_bytes?;
                return Some(OddBody::Mismatched {
                    operation: requests.label(number),
                    verified_bytes,
                    found_bytes,
                });
            }
            let template = requests.counted_by(index)?;
            let is_doubtful = template.expected_body_bytes.is_none() && !template.body_varies;
            let (shortest_bytes, longest_bytes) = tally.body_bytes?;
            (is_doubtful && shortest_bytes < longest_bytes).then(|| OddBody::Differing {
                operation: label.clone(),
                shortest_bytes,
                longest_bytes,
            })
        });
    odd.collect()
}

/// What the load needed of local ports, by the rate of new connections that its schedule asked for; without one, by that
/// to which its answers would have led (Little's law) had no request waited for a port.
fn port_shortage(
    result: &LoadResult,
    plan: &HttpLoad,
    merged: &Merged,
    capacity: &Capacity,
) -> Option<String> {
    let opened_cps = result.connections.rate_cps?;
    let unhindered_cps = || {
        let turn_s = result.latency_ms.mean? / 1e3 + plan.work.conversation.think_s;
        let under_way = plan.model.connections() * plan.work.conversation.requests_at_once();
        Some(under_way as f64 / turn_s / result.connections.replies_per_connection?)
    };
    let wanted_cps = plan.asked_cps(merged.length).or_else(unhindered_cps).unwrap_or(0.0);
    let ports = capacity.ports.as_ref()?;
    Some(ports.shortage(plan.model.connections(), opened_cps.max(wanted_cps), merged.whole))
}
