//! A message from its JSON, by protobuf's mapping.

use prost_reflect::prost::Message as _;
use prost_reflect::{DeserializeOptions, DynamicMessage, Kind, MessageDescriptor};
use serde_path_to_error::{Path, Segment, Track};

use crate::names::listed;

/// Encodes what a text of JSON says of a message.
///
/// # Errors
/// It is no JSON, or does not fit; the text names the field and the line.
pub(crate) fn encode(message: &MessageDescriptor, json: &str) -> Result<Vec<u8>, String> {
    let mut track = Track::new();
    let mut reader = serde_json::Deserializer::from_str(json);
    let read = DynamicMessage::deserialize_with_options(
        message.clone(),
        serde_path_to_error::Deserializer::new(&mut reader, &mut track),
        &DeserializeOptions::new(),
    );
    match read.and_then(|found| reader.end().map(|()| found)) {
        Ok(found) => Ok(found.encode_to_vec()),
        Err(error) => Err(fault(message, &track.path(), &error)),
    }
}

/// Where JSON does not fit, and what would.
fn fault(message: &MessageDescriptor, path: &Path, error: &serde_json::Error) -> String {
    let text = error.to_string();
    // serde says where behind the text, in words that are the same for all errors.
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let (place, within) = match names_of(path).as_slice() {
        [] => (String::new(), Some(message.clone())),
        names => (format!(" in {}", names.join(".")), message_at(message, names)),
    };
    let fields = within.filter(|_| text.contains("field")).map(|within| {
        let names = within.fields().map(|field| field.name().to_owned());
        format!("; {} has {}", within.full_name(), listed(names))
    });
    let (line, column) = (error.line(), error.column());
    format!("line {line}, column {column}{place}: {text}{}", fields.unwrap_or_default())
}

/// The names of the fields that lead to a place; those of lists and maps stand for their items.
fn names_of(path: &Path) -> Vec<String> {
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Map { key } => Some(key.clone()),
            Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

/// The type of the message that these fields lead to.
fn message_at(message: &MessageDescriptor, names: &[String]) -> Option<MessageDescriptor> {
    names.iter().try_fold(message.clone(), |within, name| {
        let field = within.get_field_by_name(name).or_else(|| within.get_field_by_json_name(name))?;
        match field.kind() {
            Kind::Message(next) => Some(next),
            _ => None,
        }
    })
}
