//! The extension module `loadcurve._engine`: translation between Python and the engine, and nothing else.

use pyo3::prelude::*;

mod asking;
mod certificates;
mod database;
mod echo;
mod histogram;
mod interrupts;
mod kernel;
mod levels;
mod load;
mod parts;
mod pauses;
mod plan;
mod ports;
mod protobuf;
mod requests;
mod table;
mod tables;
mod toml_positions;
mod verdict;

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<database::Database>()?;
    // Benchmarks say so: such a build takes a multiple of the time of a release.
    module.add("HAS_DEBUG_ASSERTIONS", cfg!(debug_assertions))?;
    module.add("DatabaseError", module.py().get_type::<database::DatabaseError>())?;
    module.add_class::<echo::ClockEcho>()?;
    module.add_class::<kernel::KernelCounters>()?;
    module.add_class::<levels::Levels>()?;
    module.add_class::<load::Load>()?;
    module.add_class::<ports::LocalPorts>()?;
    module.add_class::<pauses::PauseWatch>()?;
    module.add_class::<requests::RequestList>()?;
    module.add_function(wrap_pyfunction!(asking::ask, module)?)?;
    module.add_function(wrap_pyfunction!(certificates::make_certificates, module)?)?;
    module.add_function(wrap_pyfunction!(database::workload, module)?)?;
    module.add_function(wrap_pyfunction!(echo::clock_exchanges, module)?)?;
    module.add_function(wrap_pyfunction!(protobuf::encode_message, module)?)?;
    module.add_function(wrap_pyfunction!(protobuf::method_streams, module)?)?;
    module.add_function(wrap_pyfunction!(protobuf::schema_methods, module)?)?;
    module.add_function(wrap_pyfunction!(protobuf::descriptor_set, module)?)?;
    module.add_function(wrap_pyfunction!(protobuf::reflection_question, module)?)?;
    module.add_function(wrap_pyfunction!(protobuf::reflection_answer, module)?)?;
    module.add_function(wrap_pyfunction!(parts::merge_parts, module)?)?;
    module.add_function(wrap_pyfunction!(load::latency_bounds_s, module)?)?;
    module.add_function(wrap_pyfunction!(load::uring_refusal, module)?)?;
    module.add_function(wrap_pyfunction!(requests::body_length, module)?)?;
    module.add_function(wrap_pyfunction!(requests::body_lines, module)?)?;
    module.add_function(wrap_pyfunction!(requests::is_expected_status, module)?)?;
    module.add_function(wrap_pyfunction!(histogram::counted_times, module)?)?;
    module.add_function(wrap_pyfunction!(histogram::percentile_curve, module)?)?;
    module.add_function(wrap_pyfunction!(histogram::pause_delays, module)?)?;
    module.add_class::<table::PeriodSums>()?;
    module.add_function(wrap_pyfunction!(table::count_of, module)?)?;
    module.add_function(wrap_pyfunction!(table::encoded_counters, module)?)?;
    module.add_function(wrap_pyfunction!(table::table_columns, module)?)?;
    module.add_function(wrap_pyfunction!(tables::grpc_statuses, module)?)?;
    module.add_function(wrap_pyfunction!(tables::tables, module)?)?;
    module.add_function(wrap_pyfunction!(toml_positions::toml_positions, module)?)?;
    module.add_function(wrap_pyfunction!(verdict::judge, module)?)?;
    Ok(())
}
