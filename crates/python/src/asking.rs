//! A few requests outside of a load.

use loadcurve_engine::{Answer, Unanswered};
use loadcurve_plan::HttpLoad;
use loadcurve_record::Class as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupts::Interrupts;
use crate::plan::{Plan, read_plan};

/// How a call of gRPC has ended: the name of its status, and what the server says of it.
type Ended = (&'static str, Option<String>);

/// Of a request its status, the length of its answer's body and how it has ended where it is a call, or the class of its
/// failure and an explanation.
type Outcome = (Option<(u16, u64, Option<Ended>)>, Option<(&'static str, String)>);

#[pyfunction]
pub(crate) fn ask(py: Python<'_>, plan: &str, take_body: Bound<'_, PyAny>) -> PyResult<Vec<Outcome>> {
    let take_body = take_body.unbind();
    let Plan::Http(plan) = read_plan(plan)? else {
        return Err(PyValueError::new_err("paths can only be requested from web servers"));
    };
    let outcomes = py.detach(|| asked(&plan, &take_body))?;
    Ok(outcomes.into_iter().map(shown).collect())
}

/// What becomes of the requests; what Python raises meanwhile ends the asking.
fn asked(plan: &HttpLoad, take_body: &Py<PyAny>) -> PyResult<Vec<Result<Answer, Unanswered>>> {
    Interrupts::watching(|interrupts| {
        let mut take = |place: usize, part: &[u8]| {
            if !part.is_empty() {
                let call = |py: Python<'_>| take_body.call1(py, (place, PyBytes::new(py, part))).map(drop);
                interrupts.keep(Python::attach(call));
            }
        };
        loadcurve_engine::ask(plan, &mut take, &|| interrupts.are_there())
    })
}

fn shown(outcome: Result<Answer, Unanswered>) -> Outcome {
    match outcome {
        Ok(Answer { status, body_bytes, call }) => {
            (Some((status, body_bytes, call.map(|call| (call.status, call.text)))), None)
        }
        Err(Unanswered { failure, text }) => (None, Some((failure.code(), text))),
    }
}
