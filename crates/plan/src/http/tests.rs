//! Which web loads are sound, and why others are refused.

use super::{Conversation, Http, HttpLoad, HttpVersion};
use crate::{
    Arrivals, Body, Call, Events, Grpc, Http2, IoChoice, ListedRequests, Messages, Model, Nanos, Pick, Rate,
    RateStretch, Recording, Request, Requests, Sockets, Stop, Tls, Waiting, WebSocket,
};

fn plan() -> HttpLoad {
    HttpLoad {
        work: Http {
            address: "127.0.0.1:80".parse().unwrap(),
            way: Box::default(),
            source_addresses: vec![],
            authority: "localhost".into(),
            http: HttpVersion::Http11,
            tls: None,
            h2: Http2::default(),
            requests: Requests::Given(vec![request(1.0)]),
            conversation: Conversation::default(),
            messages: None,
            sockets: Sockets::Connection,
            pick: Pick::InOrder,
        },
        model: Model::Closed { connections: 2 },
        stop: Stop::DurationS(1.0),
        warmup_s: 0.0,
        timeout_s: 1.0,
        seed: 0,
        threads: 1,
        cpus: vec![],
        io: IoChoice::Auto,
        waiting: Waiting::Auto,
    }
}

fn request(weight: f64) -> Request {
    Request {
        method: "GET".into(),
        target: "/".into(),
        headers: vec![],
        body: Body::Empty,
        chunked: false,
        expected_body_bytes: None,
        body_varies: false,
        expected: None,
        weight,
        name: None,
    }
}

fn asking(method: &str) -> Request {
    Request { method: method.into(), ..request(1.0) }
}

/// A replay of two requests, the second one half a second after the first.
fn replay(speed: f64) -> HttpLoad {
    let recording = Recording::default();
    HttpLoad { model: Model::Recorded { connections: 2, speed, recording }, ..plan() }
        .replaying(Recording::new([Nanos::ZERO, Nanos::from_millis(500)]).unwrap())
}

#[test]
fn a_replay_ends_with_its_last_request_or_sooner_after_its_duration() {
    assert_eq!(replay(1.0).stop, Stop::Recording);
    assert_eq!(replay(1.0).pace().cut_off(), Some(0));
    // At a quarter of the speed, the second request is due after 2 s, and the duration is 1 s.
    assert_eq!(replay(0.25).stop, Stop::DurationS(1.0));
    assert_eq!(replay(0.25).pace().cut_off(), Some(1));
    // At half of it, it is due at the end itself, so no longer within the load.
    assert_eq!(replay(0.5).pace().cut_off(), Some(1));
    assert_eq!(HttpLoad { stop: Stop::RequestsTotal(1), ..replay(1.0) }.pace().cut_off(), Some(1));
    assert_eq!(plan().pace().cut_off(), None);
    assert!([1.0, 0.25].iter().all(|speed| replay(*speed).validate().is_ok()));
}

#[test]
fn the_rate_asked_for_by_a_replay_is_that_of_the_requests_due_in_the_window() {
    let pace = HttpLoad { warmup_s: 0.1, ..replay(1.0) }.pace();
    assert_eq!(pace.asked_rps(Nanos::from_millis(400)), Some(0.0));
    // After the second request, 0.4 s into the window, nothing is asked for.
    assert_eq!(pace.asked_rps(Nanos::from_millis(900)), Some(2.5));
}

#[test]
fn a_sound_plan_is_accepted() {
    assert_eq!(plan().validate(), Ok(()));
}

#[test]
fn only_requests_that_may_reach_a_server_twice_are_sent_early() {
    let early = |change: fn(&mut Http)| {
        plan().with(|http| {
            http.http = HttpVersion::Http3;
            http.tls = Some(Tls { full_handshakes: 0.0, early_data: 0.5, ..Tls::of("localhost") });
            change(http);
        })
    };
    assert_eq!(early(|_| ()).validate(), Ok(()));
    assert_eq!(early(|http| http.requests = Requests::Given(vec![asking("HEAD")])).validate(), Ok(()));
    for (load, part) in [
        (early(|http| http.requests = Requests::Given(vec![asking("GET"), asking("PUT")])), "PUT cannot"),
        (
            early(|http| {
                http.requests = Requests::Listed(ListedRequests {
                    file: "list".into(),
                    method: "POST".into(),
                    headers: vec![],
                    body: Body::Empty,
                    chunked: false,
                });
            }),
            "RFC 8470",
        ),
        (
            early(|http| {
                http.requests =
                    Requests::Given(vec![Request { body: Body::Text("x".into()), ..asking("GET") }]);
            }),
            "with a body",
        ),
        (early(|http| http.http = HttpVersion::Http2), "over HTTP/3 only"),
    ] {
        let refusal = load.validate().unwrap_err().to_string();
        assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
    }
}

#[test]
fn connections_share_sockets_over_http3_alone() {
    let over = |version| {
        let tls = Tls::of("localhost");
        plan().with(|http| (http.http, http.tls, http.sockets) = (version, Some(tls), Sockets::Thread))
    };
    assert_eq!(over(HttpVersion::Http3).validate(), Ok(()));
    for version in [HttpVersion::Http10, HttpVersion::Http11, HttpVersion::Http2] {
        let refusal = over(version).validate().unwrap_err().to_string();
        assert!(refusal.contains("over HTTP/3 only"), "{refusal}");
    }
}

#[test]
fn events_are_checked_alone_and_together_with_a_pipeline() {
    let refused = |events_expected, pipeline| {
        let load = plan().with(|http| {
            let events = Events { events_expected, ..Events::default() };
            http.messages = Some(Messages::Events(events));
            http.conversation.pipeline = pipeline;
        });
        load.validate().unwrap_err().to_string()
    };
    assert!(refused(Some(0), 1).contains("at least 1 event"));
    assert!(refused(None, 2).contains("no pipeline with events"));
}

#[test]
fn answers_that_ids_tell_apart_are_not_those_of_a_pipeline() {
    let of = |pipeline, answer_id: Option<&str>| {
        let websocket = WebSocket { answer_id: answer_id.map(Into::into), ..WebSocket::default() };
        let load = plan().with(|http| {
            http.messages = Some(Messages::WebSocket(websocket));
            http.conversation.pipeline = pipeline;
        });
        load.work.is_pipelined()
    };
    assert_eq!([of(1, None), of(2, None), of(2, Some("id"))], [false, true, false]);
    let streams = plan().with(|http| {
        http.http = HttpVersion::Http3;
        http.conversation.streams = 10;
    });
    assert!(!streams.work.is_pipelined());
}

#[test]
fn messages_of_a_websocket_go_to_one_target_by_http_1_1_or_2() {
    let speaking = |change: fn(&mut Http)| {
        plan().with(|http| {
            http.messages = Some(Messages::WebSocket(WebSocket::default()));
            change(http);
        })
    };
    assert_eq!(speaking(|http| http.conversation.pipeline = 10).validate(), Ok(()));
    let over_http2 = |http: &mut Http| {
        http.http = HttpVersion::Http2;
        http.conversation.streams = 10;
    };
    assert_eq!(speaking(over_http2).validate(), Ok(()));
    for (load, part) in [
        (speaking(|http| http.http = HttpVersion::Http10), "over HTTP/1.1 or HTTP/2"),
        (
            speaking(|http| {
                http.http = HttpVersion::Http2;
                http.messages =
                    Some(Messages::WebSocket(WebSocket { subscribers: Some(2), ..WebSocket::default() }));
            }),
            "subscribers over HTTP/1.1",
        ),
        (
            speaking(|http| {
                let other = Request { target: "/other".into(), ..request(1.0) };
                http.requests = Requests::Given(vec![request(1.0), other]);
            }),
            "go to one WebSocket",
        ),
        (
            speaking(|http| {
                http.requests = Requests::Given(vec![Request { chunked: true, ..request(1.0) }]);
            }),
            "no chunks",
        ),
    ] {
        assert!(load.validate().unwrap_err().to_string().contains(part), "{part}");
    }
}

#[test]
fn messages_of_calls_that_are_kept_are_given_and_go_to_one_method() {
    let calling = |call, requests| {
        plan().with(|http| {
            http.http = HttpVersion::Http2;
            http.messages = Some(Messages::Grpc(Grpc { call, ..Grpc::default() }));
            http.requests = requests;
        })
    };
    let other = Request { target: "/other".into(), ..request(1.0) };
    let others = Requests::Given(vec![request(1.0), other]);
    let listed = Requests::Listed(ListedRequests {
        file: "list".into(),
        method: "POST".into(),
        headers: vec![],
        body: Body::Empty,
        chunked: false,
    });
    for (requests, part) in
        [(others, "go to the method of its calls"), (listed, "a list of paths has no messages")]
    {
        assert_eq!(calling(Call::Unary, requests.clone()).validate(), Ok(()));
        let refusal = calling(Call::Bidirectional, requests).validate().unwrap_err().to_string();
        assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
    }
}

#[test]
fn every_number_out_of_range_is_refused_with_the_number() {
    let conversation =
        |pipeline, calls, think_s| Conversation { pipeline, calls, think_s, ..Conversation::default() };
    let streams = |streams| Conversation { streams, ..Conversation::default() };
    let small_window = Http2 { connection_window_bytes: 65_534, ..Http2::default() };
    let sessions = Model::Sessions {
        connection_rate_cps: Rate::Constant(10.0),
        arrivals: Arrivals::Constant,
        connections: 1,
    };
    let resuming = |full_handshakes| Tls { full_handshakes, ..Tls::of("localhost") };
    let early = |early_data, full_handshakes| {
        let tls = Tls { full_handshakes, early_data, ..Tls::of("localhost") };
        plan().with(|http| (http.http, http.tls) = (HttpVersion::Http3, Some(tls)))
    };
    let given = |weights: &[f64]| Requests::Given(weights.iter().copied().map(request).collect());
    let from = |sources: &[&str]| {
        let sources = sources.iter().map(|source| source.parse().unwrap()).collect();
        plan().with(|http| http.source_addresses = sources)
    };
    let broken: Vec<(HttpLoad, &str)> = vec![
        (HttpLoad { model: Model::Closed { connections: 0 }, ..plan() }, "1 connection"),
        (HttpLoad { threads: 3, ..plan() }, "3 threads"),
        (HttpLoad { timeout_s: 0.0, ..plan() }, "timeout of 0"),
        (HttpLoad { warmup_s: -1.0, ..plan() }, "warm-up of -1"),
        (HttpLoad { stop: Stop::DurationS(f64::NAN), ..plan() }, "duration of NaN"),
        (HttpLoad { stop: Stop::RequestsTotal(0), ..plan() }, "0 requests"),
        (HttpLoad { stop: Stop::ConnectionsTotal(5), ..plan() }, "only a load of sessions"),
        (plan().with(|http| http.conversation = conversation(0, None, 0.0)), "pipeline of 0"),
        (plan().with(|http| http.conversation = conversation(1, Some(0), 0.0)), "1 call"),
        (plan().with(|http| http.conversation = conversation(1, None, -1.0)), "-1 s"),
        (plan().with(|http| http.conversation = conversation(2, None, 1.0)), "no pipeline"),
        (HttpLoad { model: sessions, ..plan() }, "number of calls"),
        (plan().with(|http| http.conversation = streams(2)), "no streams"),
        (plan().with(|http| http.conversation = streams(0)), "0 streams"),
        (plan().with(|http| http.conversation = streams(1025)), "1025 streams"),
        (
            plan().with(|http| {
                (http.http, http.conversation) = (HttpVersion::Http2, conversation(2, None, 0.0));
            }),
            "no pipeline",
        ),
        (plan().with(|http| http.h2 = small_window), "65534 bytes"),
        (from(&["127.0.0.2", "::1"]), "::1 cannot be a source address"),
        (from(&["127.0.0.2", "127.0.0.3", "127.0.0.2"]), "listed twice"),
        (plan().with(|http| http.requests = given(&[])), "at least one request"),
        (plan().with(|http| http.tls = Some(resuming(1.1))), "1.1 is not a share of full handshakes"),
        (early(1.5, 0.0), "1.5 is not a share of connections with early data"),
        (early(0.5, 1.0), "a share of full handshakes below 1"),
        (plan().with(|http| http.requests = given(&[1.0, -1.0])), "weight of -1"),
        (plan().with(|http| http.requests = given(&[0.0, 0.0])), "weight above 0"),
        (replay(0.0), "speed of 0"),
        (replay(1.0).replaying(Recording::default()), "at least one request"),
        (replay(1.0).with(|http| http.pick = Pick::Random), "pick them in order"),
        (HttpLoad { warmup_s: 0.6, ..replay(1.0) }, "within the warm-up of 0.6 s"),
        (HttpLoad { stop: Stop::Recording, ..plan() }, "only a replay"),
    ];
    for (plan, part) in broken {
        let refusal = plan.validate().unwrap_err().to_string();
        assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
    }
}

#[test]
fn a_rate_that_ends_at_zero_has_a_duration_and_begins_to_be_measured_before() {
    let down = RateStretch { length_s: 2.0, from_rps: 10.0, to_rps: 0.0 };
    let ending = |stop, warmup_s| HttpLoad {
        model: Model::Open {
            connections: 2,
            rate_rps: Rate::Changing(vec![down]),
            arrivals: Arrivals::Constant,
        },
        stop,
        warmup_s,
        ..plan()
    };
    assert_eq!(ending(Stop::DurationS(5.0), 1.9).validate(), Ok(()));
    let refusal = |plan: HttpLoad| plan.validate().unwrap_err().to_string();
    assert!(refusal(ending(Stop::RequestsTotal(9), 0.0)).contains("9 may never fall due"));
    assert!(refusal(ending(Stop::DurationS(5.0), 2.0)).contains("within the warm-up of 2 s"));
}

#[test]
fn a_way_that_leads_nowhere_is_refused() {
    let local = || plan().with(|http| http.address = "unix:/run/app.sock".parse().unwrap());
    assert_eq!(local().validate(), Ok(()));
    let with_source = local().with(|http| http.source_addresses = vec!["127.0.0.2".parse().unwrap()]);
    assert!(with_source.validate().unwrap_err().to_string().contains("a Unix socket"));
    let with_others = local().with(|http| http.way.other_addresses = vec!["[::1]:80".parse().unwrap()]);
    assert!(with_others.validate().is_err());
    let http3 = |tls: Option<Tls>| plan().with(|http| (http.http, http.tls) = (HttpVersion::Http3, tls));
    assert!(http3(None).validate().unwrap_err().to_string().contains("no clear text"));
    let http3 = http3(Some(Tls::of("example.org")));
    assert_eq!(http3.validate(), Ok(()));
    let on_path = http3.clone().with(|http| http.address = "unix:/run/app.sock".parse().unwrap());
    assert!(on_path.validate().unwrap_err().to_string().contains("a UDP port"));
    let behind = http3.with(|http| http.way.proxied = Some("example.org:443".into()));
    assert!(behind.validate().unwrap_err().to_string().contains("no proxy"));
    let proxied = plan().with(|http| http.way.proxied = Some("example.org:80".into()));
    assert_eq!(proxied.validate(), Ok(()));
    let http2 = proxied.with(|http| http.http = HttpVersion::Http2);
    assert!(http2.validate().unwrap_err().to_string().contains("forwards no HTTP/2 in clear text"));
    let encrypted = http2.with(|http| http.tls = Some(Tls::of("example.org")));
    assert_eq!(encrypted.validate(), Ok(()));
}

#[test]
fn a_plan_is_read_as_it_is_written_and_a_key_that_is_none_is_refused_wherever_it_stands() {
    let model = Model::Open {
        connections: 2,
        rate_rps: Rate::Changing(vec![RateStretch { length_s: 1.0, from_rps: 1.0, to_rps: 2.0 }]),
        arrivals: Arrivals::Poisson,
    };
    let plan = HttpLoad { model, ..plan() };
    let written = serde_json::to_value(&plan).unwrap();
    assert_eq!(serde_json::from_value::<HttpLoad>(written.clone()).unwrap(), plan);
    // This end can also be written as a table, like the others.
    let end = serde_json::json!({"recording": null});
    assert_eq!(serde_json::from_value::<Stop>(end).unwrap(), Stop::Recording);
    let tables = [
        "",
        "/model/open",
        "/model/open/rate_rps/0",
        "/work",
        "/work/conversation",
        "/work/h2",
        "/work/way",
        "/work/requests/given/0",
    ];
    for table in tables {
        let mut misspelt = written.clone();
        misspelt.pointer_mut(table).unwrap()["no_such_key"] = 1.into();
        assert!(serde_json::from_value::<HttpLoad>(misspelt).is_err(), "{table}");
    }
}
