//! A server of `MongoDB`'s protocol that answers what a test wants it to, by the wire protocol's specification.

use mongodb::bson::{Document, deserialize_from_slice, doc, serialize_to_vec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const OP_REPLY: i32 = 1;
const OP_QUERY: i32 = 2004;
const OP_MSG: i32 = 2013;

/// Serves until the test ends; returns its address. What is no greeting is answered by `answer`, which is given the
/// command.
pub(crate) async fn serve(answer: fn(&Document) -> Document) -> String {
    serve_first(usize::MAX, answer).await
}

/// The same for this many connections; later ones are closed at once. The first is that of the driver's monitor.
pub(crate) async fn serve_first(connections: usize, answer: fn(&Document) -> Document) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        for number in 0.. {
            let (client, _) = listener.accept().await.unwrap();
            if number < connections {
                tokio::task::spawn_local(converse(client, answer));
            }
        }
    });
    format!("mongodb://{address}/")
}

async fn converse(mut client: TcpStream, answer: fn(&Document) -> Document) {
    while let Ok(length) = client.read_i32_le().await {
        let mut message = vec![0; usize::try_from(length).unwrap() - 4];
        client.read_exact(&mut message).await.unwrap();
        let number = |at: usize| i32::from_le_bytes(message[at..at + 4].try_into().unwrap());
        let (request, operation) = (number(0), number(8));
        let body = match operation {
            // Flags, then one section of kind 0: a document, and others that no test looks at.
            OP_MSG => &message[17..],
            // Flags, the collection's name, two numbers, then the document.
            OP_QUERY => &message[16 + message[16..].iter().position(|byte| *byte == 0).unwrap() + 9..],
            other => panic!("unexpected operation {other}"),
        };
        let document_length = usize::try_from(i32::from_le_bytes(body[..4].try_into().unwrap())).unwrap();
        let command: Document = deserialize_from_slice(&body[..document_length]).unwrap();
        let greets = command.keys().any(|key| key.eq_ignore_ascii_case("ismaster") || key == "hello");
        let reply = serialize_to_vec(&if greets { greeting() } else { answer(&command) }).unwrap();
        let (kind, before): (i32, &[u8]) = match operation {
            OP_MSG => (OP_MSG, &[0; 5]),
            // Flags, a cursor, a position, and how many documents follow: one.
            _ => (OP_REPLY, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
        };
        let total = i32::try_from(16 + before.len() + reply.len()).unwrap();
        let head: Vec<u8> = [total, 0, request, kind].into_iter().flat_map(i32::to_le_bytes).collect();
        client.write_all(&[&head, before, &reply].concat()).await.unwrap();
    }
}

fn greeting() -> Document {
    doc! {
        "ok": 1, "helloOk": true, "isWritablePrimary": true, "ismaster": true, "minWireVersion": 0, "maxWireVersion": 21,
        "maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
    }
}

/// An answer without records.
pub(crate) fn nothing_found() -> Document {
    doc! { "ok": 1, "cursor": { "id": 0_i64, "ns": "loadcurve.usertable", "firstBatch": [] } }
}
