//! A few requests as a load makes them, outside of one: what a server is verified by is what is measured.

use loadcurve_plan::{HttpLoad, Requests};
use loadcurve_record::{Class as _, Failure};
use loadcurve_wire::{HttpExchange, Response};
use serde::Serialize;

use crate::agreement::refuse_tls;
use crate::dialogue::{Dialogue, Patience, Unanswered};
use crate::error::StartError;
use crate::load::one_delivery;
use crate::requests::RequestSource;
use crate::result::LoadResult;
use crate::spoken::visit_exchange;
use crate::transport::Transport;
use crate::visitor::{ExchangeVisitor, Spoken};

/// What a message is verified with that has come to a subscriber: it has no status.
const DELIVERED: u16 = 200;
/// What servers of TLS that know HTTP answer a request in clear text.
const BAD_REQUEST: u16 = 400;

/// How a call of gRPC has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallEnd {
    /// The name of its status.
    pub status: &'static str,
    /// The number of its status.
    pub code: u8,
    /// What the server says of it.
    pub text: Option<String>,
}

/// What a request was answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The status code, 200 to 599.
    pub status: u16,
    /// Length of the body without its framing.
    pub body_bytes: u64,
    /// Of a call of gRPC, how it has ended; `None` where the answer does not say it.
    pub call: Option<CallEnd>,
}

/// Makes each of the requests that a plan gives once, on a separate connection, exactly as its load would make it; gives
/// what became of each, up to the first that is not answered. The parts of bodies are handed to `take_body` as they come,
/// with the place of their request.
///
/// A request has the timeout of the plan for everything, connecting and handshakes included, and more for a long body
/// of known length, of either side, that does not come slowly. Where `is_interrupted` says so, what is not answered yet has failed.
///
/// # Errors
/// The plan is not sound, or gives no requests, or its server does not agree to how it is to be spoken with.
pub fn ask(
    plan: &HttpLoad,
    take_body: &mut dyn FnMut(usize, &[u8]),
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Result<Answer, Unanswered>>, StartError> {
    let outcomes = visit_exchange(plan, is_interrupted, Asking { plan, take_body, is_interrupted })?;
    if plan.work.tls.is_none() && outcomes.first().is_some_and(may_come_from_tls) {
        refuse_tls(plan, is_interrupted)?;
    }
    Ok(outcomes)
}

/// Whether a server of TLS might answer a request in clear text like this.
fn may_come_from_tls(outcome: &Result<Answer, Unanswered>) -> bool {
    match outcome {
        Ok(answer) => answer.status == BAD_REQUEST,
        Err(unanswered) => {
            matches!(unanswered.failure, Failure::Malformed | Failure::ClosedEarly | Failure::Reset)
        }
    }
}

/// What became of one message that was published for one subscriber.
fn delivered(result: &LoadResult, plan: &HttpLoad) -> Result<Answer, Unanswered> {
    if let (Some(deliveries), 1) = (&result.deliveries, result.requests.answered) {
        return Ok(Answer { status: DELIVERED, body_bytes: deliveries.delivered_bytes, call: None });
    }
    let deliveries = result.deliveries.as_deref();
    let subscribers = deliveries.map(|deliveries| &deliveries.subscribers);
    let ended =
        subscribers.and_then(|one| one.refused.iter().chain(one.closed.iter()).find(|(_, count)| *count > 0));
    if let Some((failure, _)) = ended {
        let text = format!("the connection of its subscriber has failed ({})", failure.code());
        return Err(Unanswered { failure, text });
    }
    let others = deliveries.map_or(0, |deliveries| deliveries.unmarked + deliveries.of_other_loads);
    let beside = if others > 0 {
        "; what came instead has not the marker of the message, which the server has to send on as it is"
    } else {
        "; the server sends nothing on that is published, or not to this path"
    };
    let failure = result
        .errors
        .iter()
        .find(|(_, count)| *count > 0)
        .map_or(Failure::Undelivered, |(failure, _)| failure);
    let text = match failure {
        Failure::Undelivered => format!(
            "nobody receives it: a subscriber had no such message within {} s{beside}",
            plan.timeout_s
        ),
        other => format!("the publisher's message failed ({})", other.code()),
    };
    Err(Unanswered { failure, text })
}

struct Asking<'a> {
    plan: &'a HttpLoad,
    take_body: &'a mut dyn FnMut(usize, &[u8]),
    is_interrupted: &'a dyn Fn() -> bool,
}

impl ExchangeVisitor for Asking<'_> {
    type Outcome = Vec<Result<Answer, Unanswered>>;

    fn visit<E: HttpExchange<Carrier: Transport> + 'static>(
        self,
        spoken: Spoken<E::Settings>,
    ) -> Result<Self::Outcome, StartError> {
        let Self { plan, take_body, is_interrupted } = self;
        let Requests::Given(given) = &plan.work.requests else {
            return Err(StartError::Plan("requests of a list can only be sent by a load".into()));
        };
        if plan.work.subscribers().is_some() {
            let result = one_delivery::<E>(plan, spoken, is_interrupted)?;
            // All messages go the same way.
            return Ok(vec![delivered(&result, plan); given.len()]);
        }
        let requests = RequestSource::<E>::open(plan)?;
        let mut outcomes = Vec::with_capacity(given.len());
        for place in 0..given.len() {
            let template = requests.template(place);
            let sent_bytes = template.body.as_ref().map_or(0, |body| body.length());
            let patience = Patience {
                timeout: plan.timeout(),
                counted_bytes_max: template.expected_body_bytes.unwrap_or(0).saturating_add(sent_bytes),
                is_stream: plan.work.events().is_some(),
                is_interrupted,
            };
            let io = E::Carrier::alone(plan)?;
            let dialogue = Dialogue::<_, E>::open(io, &spoken.settings, patience);
            let answered =
                dialogue.and_then(|dialogue| dialogue.ask(template, &mut |part| take_body(place, part)));
            let is_last = answered.is_err();
            outcomes.push(answered.map(|(response, text)| {
                let Response { status, grpc_status, .. } = response;
                let body_bytes = response.content_bytes();
                let of_call = grpc_status.filter(|_| requests.makes_calls());
                let call = of_call.map(|end| CallEnd { status: end.name(), code: end.code(), text });
                Answer { status, body_bytes, call }
            }));
            if is_last {
                break;
            }
        }
        Ok(outcomes)
    }
}
