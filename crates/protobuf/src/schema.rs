//! What files say of services and their messages.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use prost_reflect::{DescriptorPool, MessageDescriptor, MethodDescriptor, ServiceDescriptor};

use crate::json;
use crate::names::listed;
use crate::set;

/// The longest descriptor set that is read.
const SET_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The services and messages of files.
#[derive(Debug)]
pub struct Schema {
    pool: DescriptorPool,
    /// What it was read from, for people.
    name: String,
}

impl Schema {
    /// Reads a `.proto` file with all that it imports, which is looked for beside it and in `folders`; or, under any other
    /// name, a descriptor set (`protoc --descriptor_set_out --include_imports`).
    ///
    /// # Errors
    /// The file, or one that it imports, is not there or is none; the text names it, and the line where that is known.
    pub fn read(file: &Path, folders: &[PathBuf]) -> Result<Self, String> {
        // A pipe would be waited for if it were opened before it is looked at.
        if file.metadata().is_ok_and(|found| !found.is_file()) {
            let name = file.display();
            return Err(format!(
                "{name}: it is not a regular file; expected a .proto file or a descriptor set"
            ));
        }
        let pool = if file.extension().is_some_and(|extension| extension == "proto") {
            compiled(file, folders)?
        } else {
            decoded(file)?
        };
        Ok(Self { pool, name: file.display().to_string() })
    }

    /// Reads an encoded descriptor set, which has a name for people.
    ///
    /// # Errors
    /// It is none, or lacks something.
    pub fn decode(set: &[u8], name: &str) -> Result<Self, String> {
        let pool = set::read(set).map_err(|fault| format!("{name}: {fault}"))?;
        Ok(Self { pool, name: name.to_owned() })
    }

    /// The method under a path such as `/package.Service/Method`; the slash at the beginning may be missing.
    ///
    /// # Errors
    /// There is no such method; the text has those that there are.
    pub fn method(&self, path: &str) -> Result<Method, String> {
        let (service, name) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
        let Some(found) = self.pool.get_service_by_name(service) else {
            let services = self.pool.services().map(|service| service.full_name().to_owned());
            return Err(format!("{} has no service {service:?}; it has {}", self.name, listed(services)));
        };
        let method = found.methods().find(|method| method.name() == name);
        method.map(Method).ok_or_else(|| {
            let methods = paths_of(&found);
            format!("{} has no method {name:?} of {service}; it has {}", self.name, listed(methods))
        })
    }

    /// The paths of all methods, in the order of the files.
    #[must_use]
    pub fn methods(&self) -> Vec<String> {
        self.pool.services().flat_map(|service| paths_of(&service).collect::<Vec<_>>()).collect()
    }
}

/// A method of a service.
#[derive(Debug)]
pub struct Method(MethodDescriptor);

impl Method {
    /// The message of a call that JSON describes, encoded.
    ///
    /// # Errors
    /// It does not fit the message's type; the text names the field and the line.
    pub fn encode(&self, json: &str) -> Result<Vec<u8>, String> {
        json::encode(&self.input(), json)
    }

    /// Whether the client sends several messages in one call.
    #[must_use]
    pub fn streams_requests(&self) -> bool {
        self.0.is_client_streaming()
    }

    /// Whether the server answers with several messages.
    #[must_use]
    pub fn streams_answers(&self) -> bool {
        self.0.is_server_streaming()
    }

    fn input(&self) -> MessageDescriptor {
        self.0.input()
    }
}

fn compiled(file: &Path, folders: &[PathBuf]) -> Result<DescriptorPool, String> {
    let beside = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let includes = folders.iter().map(PathBuf::as_path).chain([beside]);
    // It says itself where something is wrong.
    let in_words = |error: protox::Error| format!("{error:?}");
    let mut compiler = protox::Compiler::new(includes).map_err(in_words)?;
    compiler.include_imports(true);
    compiler.open_file(file).map_err(in_words)?;
    Ok(compiler.descriptor_pool())
}

fn decoded(file: &Path) -> Result<DescriptorPool, String> {
    let unreadable = |error: std::io::Error| format!("{}: it cannot be read: {error}", file.display());
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    opened.take(SET_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > SET_BYTES_MAX {
        let most = SET_BYTES_MAX / (1024 * 1024);
        return Err(format!("{}: longer than {most} MiB; expected a descriptor set", file.display()));
    }
    set::read(&bytes).map_err(|fault| {
        format!(
            "{}: {fault}; expected a file that ends in .proto, or a descriptor set with its imports \
             (protoc --descriptor_set_out --include_imports)",
            file.display()
        )
    })
}

fn paths_of(service: &ServiceDescriptor) -> impl Iterator<Item = String> {
    service.methods().map(|method| format!("{}/{}", method.parent_service().full_name(), method.name()))
}
