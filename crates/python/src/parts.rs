//! The parts of one load that several processes carry out.

use loadcurve_engine::{Finished, Gathered, LoadResult, PartFigures, PartRow, RunningLoad, StartError};
use loadcurve_plan::{Nanos, Pace, Share};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::interrupts::Interrupts;
use crate::plan::{Plan, read_plan, start_error};

/// Starts a share of a load, which comes to the form in which its part travels.
pub(crate) fn start_part(
    py: Python<'_>,
    plan: &str,
    index: usize,
    count: usize,
) -> PyResult<RunningLoad<serde_json::Result<String>>> {
    let plan = read_plan(plan)?;
    if index >= count {
        return Err(PyValueError::new_err(format!(
            "there is no share {index} of {count}: shares are numbered from 0"
        )));
    }
    let share = Share::new(index, count);
    let warmup = pace_of(&plan).warmup();
    let load = py.detach(|| match &plan {
        Plan::Http(load) => Interrupts::watching(|interrupts| {
            loadcurve_engine::start_part(load, share, &|| interrupts.are_there())
        }),
        Plan::Ycsb(load) => loadcurve_database::start_part(load, share).map_err(start_error),
    })?;
    Ok(load.map(move |finished| Ok(finished.encode(finished.part.window.start - warmup))))
}

/// The result of a load that the parts together make, and the row of each part, both as JSON; it began at this reading
/// of the clock here.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn merge_parts(
    py: Python<'_>,
    plan: &str,
    parts: Vec<String>,
    begin_ns: u64,
) -> PyResult<(String, String)> {
    let plan = read_plan(plan)?;
    let merged = py.detach(|| merge(&plan, &parts, Nanos(begin_ns)));
    let (result, rows) = merged.map_err(start_error)?;
    let json = |written: serde_json::Result<String>| {
        written.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    };
    Ok((json(serde_json::to_string(&result))?, json(serde_json::to_string(&rows))?))
}

/// Reads one part after the other, so that few of them are in memory at once, however many there are.
fn merge(plan: &Plan, parts: &[String], begin: Nanos) -> Result<(LoadResult, Vec<PartRow>), StartError> {
    if parts.is_empty() {
        return Err(StartError::Plan("there is no part: a result requires at least one".into()));
    }
    let pace = pace_of(plan);
    let (mut gathered, mut figures) = (Gathered::default(), Vec::with_capacity(parts.len()));
    for part in parts {
        let finished =
            Finished::decode(part, begin).map_err(|invalid| StartError::Plan(invalid.to_string()))?;
        figures.push(PartFigures::of(&pace, &finished));
        gathered.add(finished);
    }
    let result = match plan {
        Plan::Http(load) => loadcurve_engine::result_of(load, gathered)?,
        Plan::Ycsb(load) => loadcurve_database::result_of(load, gathered),
    };
    let rows = figures.into_iter().map(|figures| figures.beside(&result)).collect();
    Ok((result, rows))
}

fn pace_of(plan: &Plan) -> Pace {
    match plan {
        Plan::Http(load) => load.pace(),
        Plan::Ycsb(load) => load.pace(),
    }
}
