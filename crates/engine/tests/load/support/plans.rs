//! Plans for the scripted server.

use std::net::SocketAddr;

use loadcurve_plan::{
    Arrivals, Body, Conversation, Http, Http2, HttpLoad, HttpVersion, Model, Pick, Rate, Request, Requests,
    Sockets, Stop, Waiting,
};

/// A GET request without anything special.
pub(crate) fn get(target: &str) -> Request {
    Request {
        method: "GET".into(),
        target: target.into(),
        headers: vec![],
        body: Body::Empty,
        chunked: false,
        expected_body_bytes: None,
        body_varies: false,
        expected: None,
        weight: 1.0,
        name: None,
    }
}

/// `requests_total` requests over this many connections, each connection sending as soon as it is answered.
pub(crate) fn closed(address: SocketAddr, connections: usize, requests_total: u64) -> HttpLoad {
    HttpLoad {
        work: Http {
            address: address.into(),
            way: Box::default(),
            source_addresses: vec![],
            authority: "localhost".into(),
            http: HttpVersion::Http11,
            tls: None,
            h2: Http2::default(),
            requests: Requests::Given(vec![get("/")]),
            conversation: Conversation::default(),
            pick: Pick::InOrder,
            messages: None,
            sockets: Sockets::Connection,
        },
        model: Model::Closed { connections },
        stop: Stop::RequestsTotal(requests_total),
        warmup_s: 0.0, // No answer of these tests takes that long; those about timeouts set their own.

        timeout_s: 60.0,
        seed: 0,
        threads: 1,
        cpus: vec![],
        io: crate::IO,
        waiting: Waiting::Auto,
    }
}

/// This many connections at a constant rate, each for one request.
pub(crate) fn sessions(address: SocketAddr, rate_cps: f64, connections: usize) -> HttpLoad {
    let model = Model::Sessions {
        connection_rate_cps: Rate::Constant(rate_cps),
        arrivals: Arrivals::Constant,
        connections,
    };
    let conversation = Conversation { calls: Some(1), ..Conversation::default() };
    let stop = Stop::ConnectionsTotal(connections as u64);
    HttpLoad { model, stop, ..closed(address, connections, 1).with(|http| http.conversation = conversation) }
}

/// Requests at a constant rate over this many connections.
pub(crate) fn open(address: SocketAddr, connections: usize, rate_rps: f64, stop: Stop) -> HttpLoad {
    let model = Model::Open { connections, rate_rps: Rate::Constant(rate_rps), arrivals: Arrivals::Constant };
    HttpLoad { model, stop, ..closed(address, connections, 1) }
}
