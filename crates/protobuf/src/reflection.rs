//! What a server is asked by gRPC's server reflection, and what it answers: `grpc.reflection.v1`, which is the same on the
//! wire as `v1alpha` before it.

use prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;

/// What a server is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// The names of its services.
    Services,
    /// The file in which a service is defined.
    FileOfSymbol(String),
    /// The file of a name, which another one imports.
    FileByName(String),
}

impl Question {
    /// The message of the call.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let mut request = Request::default();
        match self {
            Self::Services => request.list_services = Some(String::new()),
            Self::FileOfSymbol(name) => request.file_containing_symbol = Some(name),
            Self::FileByName(name) => request.file_by_filename = Some(name),
        }
        request.encode_to_vec()
    }
}

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The names of its services.
    Services(Vec<String>),
    /// The file that was asked for, and perhaps others that it imports.
    Files(Vec<ReflectedFile>),
    /// It does not have what was asked for, or does not give it.
    Refused {
        /// The number of a status of gRPC.
        status: i32,
        /// What the server says of it.
        text: String,
    },
}

/// A file of descriptors as a server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReflectedFile {
    /// Its name.
    pub name: String,
    /// The names of those that it imports.
    pub imports: Vec<String>,
    /// Its descriptors, encoded.
    pub bytes: Vec<u8>,
}

/// What the message of an answer says.
///
/// # Errors
/// It is another message.
pub fn answered(message: &[u8]) -> Result<Answered, String> {
    let response = Response::decode(message).map_err(|error| error.to_string())?;
    if let Some(ErrorResponse { status, text }) = response.error {
        return Ok(Answered::Refused { status, text });
    }
    if let Some(services) = response.services {
        return Ok(Answered::Services(services.services.into_iter().map(|one| one.name).collect()));
    }
    let Some(files) = response.files else {
        return Err("it has neither files nor services nor an error".into());
    };
    files.files.into_iter().map(read).collect::<Result<_, _>>().map(Answered::Files)
}

fn read(bytes: Vec<u8>) -> Result<ReflectedFile, String> {
    let file = FileDescriptorProto::decode(bytes.as_slice()).map_err(|error| error.to_string())?;
    Ok(ReflectedFile { name: file.name().to_owned(), imports: file.dependency, bytes })
}

/// `ServerReflectionRequest`, as far as it is used here.
#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(string, optional, tag = "3")]
    file_by_filename: Option<String>,
    #[prost(string, optional, tag = "4")]
    file_containing_symbol: Option<String>,
    #[prost(string, optional, tag = "7")]
    list_services: Option<String>,
}

/// `ServerReflectionResponse`, as far as it is used here.
#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(message, optional, tag = "4")]
    files: Option<FileDescriptorResponse>,
    #[prost(message, optional, tag = "6")]
    services: Option<ListServiceResponse>,
    #[prost(message, optional, tag = "7")]
    error: Option<ErrorResponse>,
}

#[derive(Clone, PartialEq, Message)]
struct FileDescriptorResponse {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct ListServiceResponse {
    #[prost(message, repeated, tag = "1")]
    services: Vec<ServiceResponse>,
}

#[derive(Clone, PartialEq, Message)]
struct ServiceResponse {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorResponse {
    #[prost(int32, tag = "1")]
    status: i32,
    #[prost(string, tag = "2")]
    text: String,
}

#[cfg(test)]
mod tests {
    use super::{Answered, Question, answered};

    #[test]
    fn questions_are_the_fields_of_their_numbers() {
        // A tag is the number of the field times eight, and two for a text (protobuf, Encoding).
        assert_eq!(Question::FileByName("a".into()).encode(), b"\x1a\x01a");
        assert_eq!(Question::FileOfSymbol("h.H".into()).encode(), b"\x22\x03h.H");
        assert_eq!(Question::Services.encode(), b"\x3a\x00");
    }

    #[test]
    fn answers_are_read_by_the_numbers_of_their_fields() {
        let services = answered(b"\x0a\x01h\x32\x0e\x0a\x05\x0a\x03h.H\x0a\x05\x0a\x03i.I").unwrap();
        assert_eq!(services, Answered::Services(vec!["h.H".into(), "i.I".into()]));
        let refused = answered(b"\x3a\x06\x08\x05\x12\x02no").unwrap();
        assert_eq!(refused, Answered::Refused { status: 5, text: "no".into() });
        // A file has its name in field 1, and what it imports in field 3.
        let Answered::Files(files) = answered(b"\x22\x0b\x0a\x09\x0a\x01a\x1a\x01b\x1a\x01c").unwrap() else {
            panic!("no files")
        };
        let found: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.imports.as_slice())).collect();
        assert_eq!(found, [("a", &["b".to_owned(), "c".to_owned()][..])]);
        assert_eq!(files[0].bytes, b"\x0a\x01a\x1a\x01b\x1a\x01c");
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for message in [&b""[..], b"\x0a\x01h", b"\x22\x05\x0a\x01", b"\x22\x03\x0a\x01\xff", b"\xff"] {
            assert!(answered(message).is_err(), "{message:?}");
        }
    }
}
