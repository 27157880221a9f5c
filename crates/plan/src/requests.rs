//! What a load asks for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Expectation, InvalidPlan};

/// The requests that a load takes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Requests {
    /// Each with all its parts.
    Given(Vec<Request>),
    /// One for each line of a file.
    Listed(ListedRequests),
}

/// Requests that differ by what the lines of a file say: a target, a weight where it is not 1, and an expected status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedRequests {
    /// The list. It is read while the load runs, however long it is.
    pub file: PathBuf,
    /// `GET`, `HEAD`, …
    pub method: String,
    /// Header fields beside those that the protocol needs.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default)]
    pub body: Body,
    /// Whether the body is sent in chunks.
    #[serde(default)]
    pub chunked: bool,
}

impl Requests {
    /// The methods of all requests.
    pub(crate) fn methods(&self) -> impl Iterator<Item = &str> {
        let (given, listed): (&[Request], _) = match self {
            Self::Given(requests) => (requests, None),
            Self::Listed(listed) => (&[], Some(&listed.method)),
        };
        given.iter().map(|request| &request.method).chain(listed).map(String::as_str)
    }

    /// Whether one of them has a body.
    pub(crate) fn have_bodies(&self) -> bool {
        match self {
            Self::Given(requests) => requests.iter().any(|request| request.body != Body::Empty),
            Self::Listed(listed) => listed.body != Body::Empty,
        }
    }

    /// Checks what can be checked without reading a file.
    ///
    /// # Errors
    /// There is no request, or none that is ever picked, or a weight is out of its range.
    pub(crate) fn validate(&self) -> Result<(), InvalidPlan> {
        let Self::Given(requests) = self else { return Ok(()) };
        if requests.is_empty() {
            return Err(InvalidPlan("a load requires at least one request".into()));
        }
        requests
            .iter()
            .filter_map(|request| request.expected.as_ref())
            .try_for_each(Expectation::validate)?;
        let weights = requests.iter().map(|request| request.weight);
        match weights.clone().find(|weight| !(*weight >= 0.0 && weight.is_finite())) {
            Some(weight) => Err(InvalidPlan(format!(
                "a weight of {weight} is negative or not a number: \
                expected 0 or more"
            ))),
            None if weights.sum::<f64>() > 0.0 => Ok(()),
            None => Err(InvalidPlan("at least one request requires a weight above 0".into())),
        }
    }
}

/// What a request carries behind its head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// Nothing.
    #[default]
    Empty,
    /// This text.
    Text(String),
    /// These bytes, which need not be text.
    Bytes(Vec<u8>),
    /// What a file holds when the load starts. It is read while it is sent, however long it is.
    File(PathBuf),
    /// A line of a file, without its line break: each request takes the next one.
    Lines {
        /// The file.
        file: PathBuf,
    },
}

/// One request of the list, which the connections take in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `GET`, `HEAD`, …
    pub method: String,
    /// The request target: path and query.
    pub target: String,
    /// Header fields beside those that the protocol needs.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default)]
    pub body: Body,
    /// Whether the body is sent in chunks, without its length: by HTTP/1.1's transfer coding, or as plain data of HTTP/2.
    #[serde(default)]
    pub chunked: bool,
    /// The length that a successful answer's body must have; an answer of another length is a mismatch.
    #[serde(default)]
    pub expected_body_bytes: Option<u64>,
    /// Whether answers may differ in length without doubt about them, as those that are generated anew each time.
    #[serde(default)]
    pub body_varies: bool,
    /// The statuses that its answers may have; without them, any that is no error.
    #[serde(default)]
    pub expected: Option<Expectation>,
    /// How often it is picked by weight, beside the others' weights.
    #[serde(default = "one")]
    pub weight: f64,
    /// What its figures go by; its method and target unless it is given. Requests of one name have their figures together.
    #[serde(default)]
    pub name: Option<String>,
}

fn one() -> f64 {
    1.0
}

impl Request {
    /// The label that every outcome of this request carries.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("{} {}", self.method, self.target))
    }
}
