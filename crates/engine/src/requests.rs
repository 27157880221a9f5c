//! What is sent: the requests of the plan as templates, each with what a worker must know to judge its answer.

use std::collections::HashMap;
use std::sync::Arc;

use loadcurve_plan::{
    Choice, Expectation, Grpc, HttpLoad, ListedRequests, Messages, Model, Pick, Picker, Request, Requests,
    Weights,
};
use loadcurve_record::Failure;
use loadcurve_wire::HttpExchange;

use crate::error::StartError;
use crate::requests::reader::{ListReader, Listed};
use crate::requests::template::{Targets, Templates};

mod body;
mod body_lines;
mod file;
pub(crate) mod grpc;
mod line;
mod lines;
mod list;
pub(crate) mod quic;
mod reader;
mod redirection;
mod template;
mod websocket;
mod work;

pub(crate) use body::BodyFile;
pub use body::body_length;
pub use body_lines::body_lines;
pub use list::{ListedRequest, RequestList};
pub use reader::{expected_statuses, sample};
pub(crate) use template::Template;
pub(crate) use websocket::{websocket_http2_settings, websocket_settings};
#[cfg(test)]
pub(crate) use work::shown;

/// The most names of requests that each have their own figures. A list of more has them for all its requests together: a
/// histogram for each line would take more memory than the list itself.
pub(crate) const TALLIES_MAX: usize = 100;

/// The same load with the moments of its list of requests, where it replays them.
///
/// # Errors
/// The list cannot be used, or its lines have no times.
pub fn with_recording(plan: HttpLoad) -> Result<HttpLoad, StartError> {
    match (&plan.model, &plan.work.requests) {
        (Model::Recorded { .. }, Requests::Listed(listed)) => {
            let recording = RequestList::recording(&listed.file);
            Ok(plan.replaying(recording.map_err(|problems| StartError::Plan(problems.join("\n")))?))
        }
        _ => Ok(plan),
    }
}

/// The requests of a load, which all its threads share.
pub(crate) struct RequestSource<E: HttpExchange> {
    templates: Vec<Template<E>>,
    picker: Picker,
    in_order: bool,
    /// How calls of gRPC are judged, where that is what the requests are.
    grpc: Option<Grpc>,
    list: List,
    /// What each tally is called: the requests of a name, or all of them together.
    tally_labels: Vec<String>,
}

/// What the requests are picked from.
enum List {
    /// Every request has its own template.
    Given {
        labels: Vec<String>,
        /// Which tally each counts for.
        tallies: Vec<usize>,
        weights: Weights,
    },
    /// The lines of a file are the targets; there is one template for all.
    File { list: Arc<RequestList>, method: String },
}

impl<E: HttpExchange> RequestSource<E> {
    /// The requests of a plan, with the files that they are made from open.
    ///
    /// # Errors
    /// A request cannot be sent, or a file cannot be used.
    pub(crate) fn open(plan: &HttpLoad) -> Result<Arc<Self>, StartError> {
        let source = match &plan.work.requests {
            Requests::Given(requests) => {
                Self::of_requests(plan, requests, format!("{} requests", requests.len()))
            }
            Requests::Listed(listed) => {
                let list = RequestList::open(&listed.file)
                    .map_err(|problems| StartError::Plan(problems.join("\n")))?;
                let name = listed.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                match list.short() {
                    Some(short) => Self::of_requests(plan, &requests_of(listed, short), name),
                    None => Self::of_list(plan, listed, list, name),
                }
            }
        };
        source.map(Arc::new)
    }

    fn of_requests(plan: &HttpLoad, requests: &[Request], name: String) -> Result<Self, StartError> {
        let mut templates = Templates::of(plan);
        let labels: Vec<String> = requests.iter().map(Request::label).collect();
        let (tally_labels, tallies) = tallies_of(&labels, name);
        Ok(Self {
            templates: requests
                .iter()
                .map(|request| templates.template(request, Targets::Same))
                .collect::<Result<_, _>>()?,
            in_order: plan.work.pick == Pick::InOrder,
            grpc: plan.work.messages.as_ref().and_then(Messages::grpc),
            picker: Picker::new(plan.work.pick, requests.len() as u64, plan.seed),
            tally_labels,
            list: List::Given {
                labels,
                tallies,
                weights: Weights::new(requests.iter().map(|request| request.weight)),
            },
        })
    }

    fn of_list(
        plan: &HttpLoad,
        listed: &ListedRequests,
        list: RequestList,
        name: String,
    ) -> Result<Self, StartError> {
        Ok(Self {
            templates: vec![
                Templates::of(plan).template(&request_of(listed, "/", None, None), Targets::Varying)?,
            ],
            in_order: plan.work.pick == Pick::InOrder,
            grpc: plan.work.messages.as_ref().and_then(Messages::grpc),
            picker: Picker::new(plan.work.pick, list.count(), plan.seed),
            list: List::File { list: Arc::new(list), method: listed.method.clone() },
            tally_labels: vec![name],
        })
    }

    /// Which operation is request `number` of the load.
    pub(crate) fn operation(&self, number: u64) -> usize {
        match (&self.list, self.picker.choice(number)) {
            (List::File { .. }, _) => 0,
            (List::Given { weights, .. }, Choice::Share(share)) => weights.at(share),
            (List::Given { .. }, Choice::Number(number)) => usize::try_from(number).unwrap_or(usize::MAX),
        }
    }

    /// What request `number` of the load, of this operation, sends. A list in order comes round once for each turn; otherwise
    /// those that are picked have numbers at random.
    #[inline]
    pub(crate) fn sent(&self, number: u64, operation: usize) -> &E::Template {
        let turn = if self.in_order { number / self.templates.len() as u64 } else { number };
        self.template(operation).at_turn(turn)
    }

    /// The template of an operation.
    pub(crate) fn template(&self, operation: usize) -> &Template<E> {
        &self.templates[operation]
    }

    /// Whether its requests are calls of gRPC.
    pub(crate) fn makes_calls(&self) -> bool {
        self.grpc.is_some()
    }

    /// Which tally an operation counts for.
    pub(crate) fn tally(&self, operation: usize) -> usize {
        match &self.list {
            List::Given { tallies, .. } => tallies[operation],
            List::File { .. } => 0,
        }
    }

    /// The request that a tally counts; `None` if it counts several.
    pub(crate) fn counted_by(&self, tally: usize) -> Option<&Template<E>> {
        let List::Given { tallies, .. } = &self.list else { return None };
        let mut counted = tallies.iter().zip(&self.templates).filter(|(of_request, _)| **of_request == tally);
        let (_, first) = counted.next()?;
        counted.next().is_none().then_some(first)
    }

    /// What each tally is called.
    pub(crate) fn tally_labels(&self) -> &[String] {
        &self.tally_labels
    }

    /// What request `number` of the load is called. That of a list whose file has changed goes by the list.
    pub(crate) fn label(&self, number: u64) -> String {
        match &self.list {
            List::Given { labels, .. } => labels[self.operation(number)].clone(),
            List::File { list, method } => {
                match ListReader::of(Arc::clone(list)).find(self.picker.choice(number)) {
                    Ok(found) => format!("{method} {}", String::from_utf8_lossy(found.target)),
                    Err(_) => self.tally_labels[0].clone(),
                }
            }
        }
    }
}

/// What each tally is called, and which one each label counts for: one for each name, or a single one, called `name`, for
/// too many of them.
fn tallies_of(labels: &[String], name: String) -> (Vec<String>, Vec<usize>) {
    let mut found: HashMap<&str, usize> = HashMap::new();
    let mut names = vec![];
    let mut tallies = Vec::with_capacity(labels.len());
    for label in labels {
        tallies.push(*found.entry(label).or_insert_with(|| {
            names.push(label.clone());
            names.len() - 1
        }));
    }
    if names.len() > TALLIES_MAX {
        return (vec![name], vec![0; labels.len()]);
    }
    (names, tallies)
}

fn request_of(
    listed: &ListedRequests,
    target: &str,
    weight: Option<f64>,
    expected: Option<Expectation>,
) -> Request {
    Request {
        method: listed.method.clone(),
        target: target.to_owned(),
        headers: listed.headers.clone(),
        body: listed.body.clone(),
        chunked: listed.chunked,
        expected_body_bytes: None,
        body_varies: false,
        expected,
        weight: weight.unwrap_or(1.0),
        name: None,
    }
}

fn requests_of(listed: &ListedRequests, short: &[ListedRequest]) -> Vec<Request> {
    short
        .iter()
        .map(|request| {
            let expected = request.expected.map(Expectation::Recorded);
            request_of(listed, &request.target, request.weight, expected)
        })
        .collect()
}

/// One thread's way of finding what the templates leave open.
pub(crate) struct TargetReader {
    picker: Picker,
    /// None where every template has its own target.
    reader: Option<ListReader>,
}

impl TargetReader {
    pub(crate) fn of<E: HttpExchange>(source: &RequestSource<E>) -> Self {
        let reader = match &source.list {
            List::Given { .. } => None,
            List::File { list, .. } => Some(ListReader::of(Arc::clone(list))),
        };
        Self { picker: source.picker.clone(), reader }
    }

    /// What request `number` of the load asks for; `None` if its template has it.
    ///
    /// # Errors
    /// The list is not what it was.
    pub(crate) fn listed(&mut self, number: u64) -> Result<Option<Listed<'_>>, Failure> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        reader.find(self.picker.choice(number)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::{TALLIES_MAX, tallies_of};

    fn tallies(labels: &[String]) -> (Vec<String>, Vec<usize>) {
        tallies_of(labels, "list".to_owned())
    }

    #[test]
    fn requests_of_one_name_have_their_figures_together_in_the_order_of_the_first() {
        let (names, found) = tallies(&["b", "a", "b", "c"].map(str::to_owned));
        assert_eq!((names.join(" "), found), ("b a c".to_owned(), vec![0, 1, 0, 2]));
    }

    #[test]
    fn many_requests_of_few_names_have_figures_for_each_and_too_many_names_have_none() {
        let labels = |names: usize| (0..1000).map(|number| format!("{}", number % names)).collect::<Vec<_>>();
        let (names, found) = tallies(&labels(TALLIES_MAX));
        assert_eq!((names.len(), found[TALLIES_MAX + 3]), (TALLIES_MAX, 3));
        assert_eq!(tallies(&labels(TALLIES_MAX + 1)), (vec!["list".to_owned()], vec![0; 1000]));
    }
}
