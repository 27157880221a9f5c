//! Descriptor sets, which may come from strangers.

use std::collections::HashMap;
use std::mem;

use prost::Message;
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};

/// `FileDescriptorSet`, whose files are encoded already.
#[derive(Clone, PartialEq, Message)]
struct OfFiles {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

/// A descriptor set of encoded files.
#[must_use]
pub fn of_files(files: Vec<Vec<u8>>) -> Vec<u8> {
    OfFiles { files }.encode_to_vec()
}

/// The services and messages of an encoded set.
///
/// # Errors
/// It is none, or lacks something.
pub(crate) fn read(bytes: &[u8]) -> Result<DescriptorPool, String> {
    let mut set = FileDescriptorSet::decode(bytes).map_err(|error| error.to_string())?;
    set.file.iter().try_for_each(require_known_syntax)?;
    import_publicly(&mut set.file);
    DescriptorPool::from_file_descriptor_set(set).map_err(|error| error.to_string())
}

/// Refuses a file of another syntax than the two that can be read; the pool panics where it meets one.
fn require_known_syntax(file: &FileDescriptorProto) -> Result<(), String> {
    match file.syntax() {
        "" | "proto2" | "proto3" => Ok(()),
        other => Err(format!(
            "{} has the syntax {other:?}, and only \"proto2\" and \"proto3\" can be read",
            file.name()
        )),
    }
}

/// Has each file import by itself what it sees by way of public imports.
///
/// The pool follows these by recursion, without an end where files import each other, and does not see all that is behind
/// several of them.
fn import_publicly(files: &mut [FileDescriptorProto]) {
    let places: HashMap<_, _> =
        files.iter().enumerate().map(|(at, file)| (file.name().to_owned(), at)).collect();
    let public: Vec<Vec<_>> = files.iter().map(|file| publicly_imported(file, &places)).collect();
    for at in 0..files.len() {
        let mut is_seen = vec![false; files.len()];
        is_seen[at] = true;
        let mut due = Vec::new();
        for place in files[at].dependency.iter().filter_map(|name| places.get(name)) {
            if !mem::replace(&mut is_seen[*place], true) {
                due.push(*place);
            }
        }
        let mut further = Vec::new();
        while let Some(place) = due.pop() {
            for seen in &public[place] {
                if !mem::replace(&mut is_seen[*seen], true) {
                    due.push(*seen);
                    further.push(files[*seen].name().to_owned());
                }
            }
        }
        files[at].dependency.extend(further);
        files[at].public_dependency.clear();
    }
}

/// Where the files are that a file imports publicly, each once.
fn publicly_imported(file: &FileDescriptorProto, places: &HashMap<String, usize>) -> Vec<usize> {
    let names =
        file.public_dependency.iter().filter_map(|at| file.dependency.get(usize::try_from(*at).ok()?));
    let mut found: Vec<_> = names.filter_map(|name| places.get(name).copied()).collect();
    found.sort_unstable();
    found.dedup();
    found
}
