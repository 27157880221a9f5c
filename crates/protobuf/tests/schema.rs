//! Messages of real files, encoded as the definition of protobuf has it.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use loadcurve_protobuf::Schema;
use proptest::prelude::*;
use prost::Message as _;

const HELLO: &str = r#"
syntax = "proto3";
package h;
import "part.proto";
message Who { string name = 1; int32 age = 2; repeated Part parts = 3; Part part = 4; Mood mood = 5; }
message Nothing {}
enum Mood { UNKNOWN = 0; GLAD = 1; }
service Hello {
  rpc Say (Who) returns (Nothing);
  rpc Listen (Who) returns (stream Nothing);
  rpc Tell (stream Who) returns (Nothing);
}
"#;
const PART: &str = "syntax = \"proto3\"; package h; message Part { uint32 size = 1; bytes data = 2; }";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder for one test, which is removed with it.
struct Folder(PathBuf);

impl Folder {
    fn with(files: &[(&str, &[u8])]) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("loadcurve-protobuf-{}-{number}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        Self(folder)
    }

    fn schema(&self, file: &str) -> Result<Schema, String> {
        Schema::read(&self.0.join(file), &[])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn hello() -> (Folder, Schema) {
    let folder = Folder::with(&[("hello.proto", HELLO.as_bytes()), ("part.proto", PART.as_bytes())]);
    let schema = folder.schema("hello.proto").unwrap();
    (folder, schema)
}

#[test]
fn a_message_is_encoded_by_the_numbers_of_its_fields() {
    let (_folder, schema) = hello();
    let say = schema.method("/h.Hello/Say").unwrap();
    // Tags are the number of the field times eight and the wire type (protobuf, Encoding).
    for (json, bytes) in [
        ("{}", &b""[..]),
        (r#"{"name": "x"}"#, b"\x0a\x01x"),
        (r#"{"age": 150}"#, b"\x10\x96\x01"),
        (r#"{"part": {"size": 1, "data": "AAE="}}"#, b"\x22\x06\x08\x01\x12\x02\x00\x01"),
        (r#"{"parts": [{"size": 1}, {}]}"#, b"\x1a\x02\x08\x01\x1a\x00"),
        (r#"{"mood": "GLAD"}"#, b"\x28\x01"),
    ] {
        assert_eq!(say.encode(json).unwrap(), bytes, "{json}");
    }
}

#[test]
fn what_does_not_fit_is_named_with_its_field_and_line() {
    let (_folder, schema) = hello();
    let say = schema.method("h.Hello/Say").unwrap();
    for (json, parts) in [
        ("{\n  \"nam\": \"x\"\n}", &["line 2", "nam", "h.Who has name, age, parts, part, mood"][..]),
        ("{\"age\": \"old\"}", &["line 1", " in age", "invalid digit"]),
        ("{\"part\":\n{\"size\": -1}}", &["line 2", " in part.size"]),
        ("{\"part\": {\"sise\": 1}}", &["part", "sise", "h.Part has size, data"]),
        ("{\"mood\": \"SAD\"}", &["in mood", "SAD"]),
        ("{\"name\": \"x\"", &["line 1", "EOF"]),
        ("{} {}", &["line 1, column 4", "trailing"]),
        ("[]", &["line 1"]),
    ] {
        let fault = say.encode(json).unwrap_err();
        assert!(parts.iter().all(|part| fault.contains(part)), "{json}: {fault}");
    }
}

#[test]
fn a_method_or_service_that_is_not_there_is_named_with_those_that_are() {
    let (_folder, schema) = hello();
    let fault = schema.method("/h.Hello/Shout").unwrap_err();
    assert!(
        fault.contains("\"Shout\" of h.Hello; it has h.Hello/Say, h.Hello/Listen, h.Hello/Tell"),
        "{fault}"
    );
    let fault = schema.method("/h.Goodbye/Say").unwrap_err();
    assert!(fault.contains("\"h.Goodbye\"; it has h.Hello"), "{fault}");
    assert_eq!(schema.methods(), ["h.Hello/Say", "h.Hello/Listen", "h.Hello/Tell"]);
}

#[test]
fn a_file_of_a_set_that_has_an_edition_in_place_of_a_syntax_is_named() {
    // FileDescriptorProto: the name is field 1 and the syntax field 12 (google/protobuf/descriptor.proto).
    let set = loadcurve_protobuf::of_files(vec![b"\x0a\x07a.proto\x62\x08editions".to_vec()]);
    let fault = Schema::decode(&set, "the set").unwrap_err();
    assert!(fault.starts_with("the set: a.proto has the syntax \"editions\""), "{fault}");
}

#[test]
fn whether_a_method_streams_is_known() {
    let (_folder, schema) = hello();
    let streams = |name: &str| {
        let method = schema.method(&format!("h.Hello/{name}")).unwrap();
        (method.streams_requests(), method.streams_answers())
    };
    assert_eq!(["Say", "Listen", "Tell"].map(streams), [(false, false), (false, true), (true, false)]);
}

#[test]
fn a_file_that_is_none_is_named_with_the_line() {
    let folder = Folder::with(&[
        ("broken.proto", b"syntax = \"proto3\";\nmessage {}\n"),
        ("lost.proto", b"syntax = \"proto3\";\nimport \"nowhere.proto\";\n"),
        ("set.bin", b"\xff\xff\xff"),
    ]);
    for (file, parts) in [
        ("broken.proto", &["broken.proto", "2"][..]),
        ("lost.proto", &["nowhere.proto"]),
        ("set.bin", &["set.bin", "descriptor set"]),
        ("missing.proto", &["missing.proto"]),
        ("missing.bin", &["missing.bin", "cannot be read"]),
    ] {
        let fault = folder.schema(file).unwrap_err();
        assert!(parts.iter().all(|part| fault.contains(part)), "{file}: {fault}");
    }
}

proptest! {
    #[test]
    fn a_set_in_which_anything_is_changed_is_read_or_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        static SET: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let (folder, _) = hello();
            protox::compile([folder.0.join("hello.proto")], [&folder.0]).unwrap().encode_to_vec()
        });
        let mut set = SET.clone();
        for (place, byte) in edits {
            let at = place.index(set.len());
            set[at] = byte;
        }
        if let Ok(schema) = Schema::decode(&set, "the set") {
            for method in schema.methods() {
                let _ = schema.method(&method).and_then(|method| method.encode("{\"name\": \"x\"}"));
            }
        }
    }
}
