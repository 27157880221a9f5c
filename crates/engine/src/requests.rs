//! What is sent: the requests of the plan as bytes, each with what a worker must know to read its answer.

use std::sync::Arc;

use loadcurve_plan::{Choice, ListedRequests, LoadPlan, Picker, Request, Requests, Weights};
use loadcurve_record::Failure;

use crate::error::StartError;
use crate::requests::encoded::Encoder;
use crate::requests::reader::ListReader;

mod body;
mod encoded;
mod file;
mod line;
mod lines;
mod list;
mod reader;

pub use body::body_length;
pub use list::{ListedRequest, RequestList};

pub(crate) use encoded::EncodedRequest;

/// Up to so many requests each have figures of their own. A longer list has them for all its requests together: a
/// histogram for each line would take more memory than the list itself.
pub(crate) const TALLIES_MAX: usize = 100;

/// The requests of a load, which all its threads share.
pub(crate) struct RequestSource {
    encoded: Vec<EncodedRequest>,
    picker: Picker,
    targets: Targets,
    /// What each tally is called: each request, or all of them together.
    tally_labels: Vec<String>,
}

/// Where the targets of the requests come from.
enum Targets {
    /// Every request is encoded with its own.
    Given { labels: Vec<String>, weights: Weights },
    /// From the lines of a list; only what the requests have in common is encoded.
    Listed { list: Arc<RequestList>, method: String },
}

impl RequestSource {
    /// The requests of a plan, with the files that they are made from open.
    ///
    /// # Errors
    /// A request cannot be sent, or a file cannot be used.
    pub(crate) fn open(plan: &LoadPlan) -> Result<Arc<Self>, StartError> {
        let source = match &plan.requests {
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

    fn of_requests(plan: &LoadPlan, requests: &[Request], name: String) -> Result<Self, StartError> {
        let mut encoder = Encoder::of(plan);
        let labels: Vec<String> = requests.iter().map(Request::label).collect();
        Ok(Self {
            encoded: requests.iter().map(|request| encoder.encode(request)).collect::<Result<_, _>>()?,
            picker: Picker::new(plan.pick, requests.len() as u64, plan.seed),
            tally_labels: if requests.len() <= TALLIES_MAX { labels.clone() } else { vec![name] },
            targets: Targets::Given {
                labels,
                weights: Weights::new(requests.iter().map(|request| request.weight)),
            },
        })
    }

    fn of_list(
        plan: &LoadPlan,
        listed: &ListedRequests,
        list: RequestList,
        name: String,
    ) -> Result<Self, StartError> {
        Ok(Self {
            encoded: vec![Encoder::of(plan).encode_around_target(&request_of(listed, "/", None))?],
            picker: Picker::new(plan.pick, list.count(), plan.seed),
            targets: Targets::Listed { list: Arc::new(list), method: listed.method.clone() },
            tally_labels: vec![name],
        })
    }

    /// Which operation is request `number` of the load.
    pub(crate) fn operation(&self, number: u64) -> usize {
        match (&self.targets, self.picker.choice(number)) {
            (Targets::Listed { .. }, _) => 0,
            (Targets::Given { weights, .. }, Choice::Share(share)) => weights.at(share),
            (Targets::Given { .. }, Choice::Number(number)) => usize::try_from(number).unwrap_or(usize::MAX),
        }
    }

    /// What the requests of an operation have in common.
    pub(crate) fn encoded(&self, operation: usize) -> &EncodedRequest {
        &self.encoded[operation]
    }

    /// The request that a tally counts; none where it counts several.
    pub(crate) fn counted_by(&self, tally: usize) -> Option<&EncodedRequest> {
        match &self.targets {
            Targets::Given { labels, .. } if labels.len() == self.tally_labels.len() => {
                self.encoded.get(tally)
            }
            Targets::Given { .. } | Targets::Listed { .. } => None,
        }
    }

    /// What each tally is called.
    pub(crate) fn tally_labels(&self) -> &[String] {
        &self.tally_labels
    }

    /// What request `number` of the load is called. That of a list whose file has changed goes by the list.
    pub(crate) fn label(&self, number: u64) -> String {
        match &self.targets {
            Targets::Given { labels, .. } => labels[self.operation(number)].clone(),
            Targets::Listed { list, method } => {
                match ListReader::of(Arc::clone(list)).find(self.picker.choice(number)) {
                    Ok(target) => format!("{method} {}", String::from_utf8_lossy(target)),
                    Err(_) => self.tally_labels[0].clone(),
                }
            }
        }
    }
}

fn request_of(listed: &ListedRequests, target: &str, weight: Option<f64>) -> Request {
    Request {
        method: listed.method.clone(),
        target: target.to_owned(),
        headers: listed.headers.clone(),
        body: listed.body.clone(),
        expected_body_bytes: None,
        weight: weight.unwrap_or(1.0),
    }
}

fn requests_of(listed: &ListedRequests, short: &[ListedRequest]) -> Vec<Request> {
    short.iter().map(|request| request_of(listed, &request.target, request.weight)).collect()
}

/// One thread's way of writing requests.
pub(crate) struct RequestWriter {
    source: Arc<RequestSource>,
    /// Finds the targets of a list.
    reader: Option<ListReader>,
}

impl RequestWriter {
    pub(crate) fn of(source: Arc<RequestSource>) -> Self {
        let reader = match &source.targets {
            Targets::Given { .. } => None,
            Targets::Listed { list, .. } => Some(ListReader::of(Arc::clone(list))),
        };
        Self { source, reader }
    }

    /// Appends request `number` of the load, which is of this operation, without a body that is read from a file.
    ///
    /// # Errors
    /// The list is not what it was.
    pub(crate) fn append(&mut self, number: u64, operation: usize, to: &mut Vec<u8>) -> Result<(), Failure> {
        let request = &self.source.encoded[operation];
        match &mut self.reader {
            None => to.extend_from_slice(&request.bytes),
            Some(reader) => {
                let target = reader.find(self.source.picker.choice(number))?;
                let (before, after) = request.bytes.split_at(request.target_at);
                to.extend_from_slice(before);
                to.extend_from_slice(target);
                to.extend_from_slice(after);
            }
        }
        Ok(())
    }
}
