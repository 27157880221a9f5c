//! Messages of gRPC from JSON, and what the reflection of servers says of them.

#[cfg(feature = "protobuf")]
pub(crate) use with_schemas::*;
#[cfg(not(feature = "protobuf"))]
pub(crate) use without_schemas::*;

#[cfg(feature = "protobuf")]
mod with_schemas {
    use std::path::PathBuf;

    use loadcurve_protobuf::{Answered, Question, Schema};
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use pyo3::pybacked::PyBackedBytes;
    use pyo3::types::PyBytes;

    /// What a descriptor set is called that is not in a file.
    const SET: &str = "the descriptor set";

    /// Where a schema is.
    #[derive(FromPyObject)]
    pub(crate) enum Source {
        Set(PyBackedBytes),
        File(PathBuf),
    }

    impl Source {
        fn read(&self, folders: &[PathBuf]) -> PyResult<Schema> {
            let read = match self {
                Self::Set(set) => Schema::decode(set, SET),
                Self::File(file) => Schema::read(file, folders),
            };
            read.map_err(PyValueError::new_err)
        }
    }

    /// Encodes the message of a call by a schema.
    #[pyfunction]
    #[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
    pub(crate) fn encode_message<'py>(
        py: Python<'py>,
        schema: Source,
        folders: Vec<PathBuf>,
        method: &str,
        json: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let method = schema.read(&folders)?.method(method);
        let encoded = method.and_then(|method| method.encode(json)).map_err(PyValueError::new_err)?;
        Ok(PyBytes::new(py, &encoded))
    }

    /// Whether a method streams its requests and its answers, by a schema.
    #[pyfunction]
    #[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
    pub(crate) fn method_streams(
        schema: Source,
        folders: Vec<PathBuf>,
        method: &str,
    ) -> PyResult<(bool, bool)> {
        let method = schema.read(&folders)?.method(method).map_err(PyValueError::new_err)?;
        Ok((method.streams_requests(), method.streams_answers()))
    }

    /// The methods of a descriptor set.
    #[pyfunction]
    pub(crate) fn schema_methods(descriptors: &[u8]) -> PyResult<Vec<String>> {
        let schema = Schema::decode(descriptors, SET).map_err(PyValueError::new_err)?;
        Ok(schema.methods())
    }

    /// What the reflection of a server is asked: for the file of a symbol, for that of a name, or for the services.
    #[pyfunction]
    #[pyo3(signature = (*, symbol=None, file=None))]
    pub(crate) fn reflection_question(
        py: Python<'_>,
        symbol: Option<String>,
        file: Option<String>,
    ) -> Bound<'_, PyBytes> {
        let question = match (symbol, file) {
            (Some(symbol), _) => Question::FileOfSymbol(symbol),
            (None, Some(file)) => Question::FileByName(file),
            (None, None) => Question::Services,
        };
        PyBytes::new(py, &question.encode())
    }

    /// A file by its name, with the names of those that it imports.
    type File<'py> = (String, Vec<String>, Bound<'py, PyBytes>);

    /// The files, the services and the refusal of an answer: it has one of them.
    type Reflected<'py> = (Vec<File<'py>>, Vec<String>, Option<(i32, String)>);

    /// What the reflection of a server has answered.
    #[pyfunction]
    pub(crate) fn reflection_answer<'py>(py: Python<'py>, message: &[u8]) -> PyResult<Reflected<'py>> {
        Ok(match loadcurve_protobuf::answered(message).map_err(PyValueError::new_err)? {
            Answered::Files(files) => {
                let files =
                    files.into_iter().map(|file| (file.name, file.imports, PyBytes::new(py, &file.bytes)));
                (files.collect(), Vec::new(), None)
            }
            Answered::Services(services) => (Vec::new(), services, None),
            Answered::Refused { status, text } => (Vec::new(), Vec::new(), Some((status, text))),
        })
    }

    /// A descriptor set of files.
    #[pyfunction]
    pub(crate) fn descriptor_set(py: Python<'_>, files: Vec<Vec<u8>>) -> Bound<'_, PyBytes> {
        PyBytes::new(py, &loadcurve_protobuf::of_files(files))
    }
}

#[cfg(not(feature = "protobuf"))]
mod without_schemas {
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use pyo3::types::{PyDict, PyTuple};

    const NO_SCHEMAS: &str = "this build reads no .proto files, which a first demo leaves out: build it with `make setup`, \
        install the wheel, or give the encoded message as @FILE";

    /// Refuses to read a schema in a build that knows none.
    macro_rules! refusing {
        ($($name:ident)*) => {
            $(
                #[pyfunction]
                #[pyo3(signature = (*_given, **_named))]
                pub(crate) fn $name(
                    _given: &Bound<'_, PyTuple>,
                    _named: Option<&Bound<'_, PyDict>>,
                ) -> PyResult<()> {
                    Err(PyValueError::new_err(NO_SCHEMAS))
                }
            )*
        };
    }

    refusing!(encode_message method_streams schema_methods reflection_question reflection_answer descriptor_set);
}
