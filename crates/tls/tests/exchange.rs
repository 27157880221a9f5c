//! HTTP/1.x over TLS against a server in the same process, without a socket between them.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::{fs, process};

use loadcurve_plan::{Tls as Plan, TlsVersion, Verify};
use loadcurve_tls::{Client, Settings, Tls};
use loadcurve_wire::{Event, Exchange as _, FanOutWebSocket, Http1, Malformed, Readiness, Response};
use proptest::prelude::*;
use rustls::crypto::CryptoProvider;
use rustls::server::ServerSessionMemoryCache;
use rustls::{HandshakeKind, NamedGroup, ServerConfig};
use server::{
    ANSWER, Server, any_certificate, read, request, server_config, settings, shake_hands, with_certificate,
    written,
};

#[path = "support/server.rs"]
mod server;

fn answered(events: &[Event]) -> Vec<&Response> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Answered(_, response) => Some(response),
            _ => None,
        })
        .collect()
}

/// A server that exchanges keys in this group alone.
fn server_config_of_group(group: NamedGroup) -> Arc<ServerConfig> {
    let mut provider = CryptoProvider::clone(ServerConfig::builder().crypto_provider());
    provider.kx_groups.retain(|offered| offered.name() == group);
    let builder = ServerConfig::builder_with_provider(Arc::new(provider));
    with_certificate(builder.with_safe_default_protocol_versions().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn answers_arrive_whatever_the_pieces_in_which_their_records_do(
        lengths in prop::collection::vec(1_usize..4000, 1..8),
        pipeline in 1_usize..5,
    ) {
        let mut server = Server::of(&server_config(), ANSWER);
        let mut client = Tls::<Http1>::new(pipeline, &settings(&any_certificate(), "http/1.1", false));
        shake_hands(&mut client, &mut server, &lengths).unwrap();
        let mut requests = written(&mut client);
        let mut plain = Vec::new();
        for tag in 0..pipeline {
            client.begin(tag, &request(), None, &mut plain);
        }
        client.protect(&mut plain);
        requests.extend(plain);
        let events = read(&mut client, &server.serve(&requests), &lengths).unwrap();
        let responses = answered(&events);
        prop_assert_eq!(responses.len(), pipeline);
        prop_assert!(responses.iter().all(|response| (response.status, response.body_bytes) == (200, 5)));
        prop_assert_eq!(client.readiness(), Readiness::Ready);
    }
}

#[test]
fn a_client_that_ends_the_connection_says_so_to_the_server() {
    let mut server = Server::of(&server_config(), ANSWER);
    let mut client = Tls::<Http1>::new(1, &settings(&any_certificate(), "http/1.1", false));
    shake_hands(&mut client, &mut server, &[1000]).unwrap();
    server.serve(&written(&mut client));
    let mut goodbye = Vec::new();
    client.end(&mut goodbye);
    server.connection.read_tls(&mut goodbye.as_slice()).unwrap();
    assert!(server.connection.process_new_packets().unwrap().peer_has_closed());
    // Once is enough.
    goodbye.clear();
    client.end(&mut goodbye);
    assert!(goodbye.is_empty());
}

#[test]
fn a_protocol_in_which_nothing_is_an_answer_is_that_over_tls_too() {
    assert_eq!([Tls::<Http1>::FANS_OUT, Tls::<FanOutWebSocket>::FANS_OUT], [false, true]);
}

#[test]
fn what_was_agreed_on_is_known_and_is_what_was_asked_for() {
    for (versions, suites, expected) in [
        (vec![TlsVersion::Tls13], vec!["TLS_CHACHA20_POLY1305_SHA256".to_owned()], (0x0304, 0x1303)),
        (
            vec![TlsVersion::Tls12],
            vec!["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256".to_owned()],
            (0x0303, 0xc02b),
        ),
    ] {
        let plan = Plan { versions, suites, groups: vec!["secp256r1".into()], ..any_certificate() };
        let mut client = Tls::<Http1>::new(1, &settings(&plan, "http/1.1", false));
        shake_hands(&mut client, &mut Server::of(&server_config(), ANSWER), &[1000]).unwrap();
        let agreement = client.agreement().unwrap();
        assert_eq!((agreement.version, agreement.suite), expected);
        assert_eq!((agreement.group, agreement.is_resumed), (Some(23), false));
    }
}

#[test]
fn the_post_quantum_group_is_agreed_on_where_it_is_the_only_one_that_is_offered() {
    let plan = Plan { groups: vec!["X25519MLKEM768".into()], ..any_certificate() };
    let mut client = Tls::<Http1>::new(1, &settings(&plan, "http/1.1", false));
    let mut server = Server::of(&server_config(), ANSWER);
    shake_hands(&mut client, &mut server, &[1000]).unwrap();
    // As IANA has registered it: the TLS Supported Groups registry, 4588.
    assert_eq!(client.agreement().unwrap().group, Some(4588));
    let seen_there =
        server.connection.negotiated_key_exchange_group().map(rustls::crypto::SupportedKxGroup::name);
    assert_eq!(seen_there, Some(rustls::NamedGroup::X25519MLKEM768));
}

#[test]
fn a_handshake_that_begins_again_in_another_group_is_a_full_one() {
    let plan = Plan { groups: vec!["x25519".into(), "secp256r1".into()], ..any_certificate() };
    let mut client = Tls::<Http1>::new(1, &settings(&plan, "http/1.1", false));
    let mut server = Server::of(&server_config_of_group(NamedGroup::secp256r1), ANSWER);
    shake_hands(&mut client, &mut server, &[1000]).unwrap();
    assert_eq!(server.connection.handshake_kind(), Some(HandshakeKind::FullWithHelloRetryRequest));
    let agreement = client.agreement().unwrap();
    assert_eq!((agreement.group, agreement.is_resumed), (Some(23), false));
}

#[test]
fn the_secrets_of_connections_are_written_for_their_owner_alone() {
    let file = std::env::temp_dir().join(format!("loadcurve-key-log-{}", process::id()));
    let plan = Plan { key_log: Some(file.clone()), ..any_certificate() };
    let mut client = Tls::<Http1>::new(1, &settings(&plan, "http/1.1", false));
    shake_hands(&mut client, &mut Server::of(&server_config(), ANSWER), &[1000]).unwrap();
    let (mode, text) =
        (fs::metadata(&file).unwrap().permissions().mode(), fs::read_to_string(&file).unwrap());
    fs::remove_file(&file).unwrap();
    assert_eq!(mode & 0o777, 0o600);
    assert!(text.contains("CLIENT_TRAFFIC_SECRET_0 "), "{text}");
}

#[test]
fn as_many_connections_resume_a_session_as_were_asked_to() {
    let config = server_config();
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        for (full_handshakes, most_full) in [(1.0, 20), (0.25, 6), (0.0, 1)] {
            let plan = Plan { full_handshakes, versions: vec![version], ..any_certificate() };
            let settings = settings(&plan, "http/1.1", false);
            let mut client = Tls::<Http1>::new(1, &settings);
            let mut full = 0;
            for _ in 0..20 {
                let mut server = Server::of(&config, ANSWER);
                shake_hands(&mut client, &mut server, &[5000]).unwrap();
                full += usize::from(!client.agreement().unwrap().is_resumed);
                // The tickets of version 1.3 come behind the handshake.
                let tickets = server.serve(&written(&mut client));
                read(&mut client, &tickets, &[5000]).unwrap();
            }
            // The first connection that may resume finds no session yet.
            assert_eq!(full, most_full, "{version:?}, {full_handshakes}");
        }
    }
}

/// Makes connections one after the other, each with a request, and counts those that resumed a session.
fn resumed(config: &Arc<ServerConfig>, client: &mut Tls<Http1>, connections: usize) -> usize {
    let resumed = |_| {
        let mut server = Server::of(config, ANSWER);
        shake_hands(client, &mut server, &[5000]).unwrap();
        let is_resumed = client.agreement().unwrap().is_resumed;
        let tickets = server.serve(&written(client));
        read(client, &tickets, &[5000]).unwrap();
        is_resumed
    };
    (0..connections).map(resumed).filter(|is_resumed| *is_resumed).count()
}

#[test]
fn a_session_that_was_offered_and_one_that_there_was_not_are_told_apart() {
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let plan = Plan { full_handshakes: 0.0, versions: vec![version], ..any_certificate() };
        let mut client = Tls::<Http1>::new(1, &settings(&plan, "http/1.1", false));
        let mut kinds = Vec::new();
        let first = server_config();
        // The other one knows nothing of the sessions of the first.
        for config in [&first, &first, &server_config()] {
            let mut server = Server::of(config, ANSWER);
            shake_hands(&mut client, &mut server, &[5000]).unwrap();
            let agreement = client.agreement().unwrap();
            kinds.push((agreement.is_offered, agreement.is_resumed));
            let tickets = server.serve(&written(&mut client));
            read(&mut client, &tickets, &[5000]).unwrap();
        }
        assert_eq!(kinds, [(false, false), (true, true), (true, false)], "{version:?}");
    }
}

#[test]
fn a_server_that_keeps_few_sessions_resumes_as_one_that_keeps_all() {
    let mut config = ServerConfig::clone(&server_config());
    config.session_storage = ServerSessionMemoryCache::new(8);
    let plan = Plan { full_handshakes: 0.0, versions: vec![TlsVersion::Tls13], ..any_certificate() };
    let client = Client::new(&plan, 50, "http/1.1", false).unwrap();
    let mut client = Tls::<Http1>::new(1, &Settings { client, inner: () });
    // Each connection brings two tickets, so those that are kept soon outnumber what the server remembers.
    assert_eq!(resumed(&Arc::new(config), &mut client, 60), 59);
}

#[test]
fn quic_is_refused_where_nothing_of_tls_1_3_is_allowed() {
    let refused = |plan: Plan| Client::new(&plan, 1, "h3", true).unwrap_err().0;
    let older = Plan { versions: vec![TlsVersion::Tls12], ..any_certificate() };
    assert!(refused(older.clone()).contains("HTTP/3 has TLS 1.3 alone"));
    assert!(Client::new(&older, 1, "h2", true).is_ok());
    let suites = vec!["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".into()];
    let said = refused(Plan { suites, ..any_certificate() });
    assert!(said.contains("none of the cipher suites belongs to TLS 1.3"), "{said}");
    let suites = vec!["TLS_AES_128_GCM_SHA256".into()];
    let versions = vec![TlsVersion::Tls12, TlsVersion::Tls13];
    assert!(Client::new(&Plan { versions, suites, ..any_certificate() }, 1, "h3", true).is_ok());
}

#[test]
fn as_many_tickets_are_kept_as_there_are_connections_at_once() {
    let mut config = ServerConfig::clone(&server_config());
    config.send_tls13_tickets = 10;
    let config = Arc::new(config);
    let plan = Plan { full_handshakes: 0.0, versions: vec![TlsVersion::Tls13], ..any_certificate() };
    let settings = Settings { client: Client::new(&plan, 3, "http/1.1", false).unwrap(), inner: () };
    assert_eq!(resumed(&config, &mut Tls::new(1, &settings), 1), 0);
    // They take their tickets before any of them brings new ones.
    let mut clients: [Tls<Http1>; 5] = std::array::from_fn(|_| Tls::new(1, &settings));
    for client in &mut clients {
        shake_hands(client, &mut Server::of(&config, ANSWER), &[5000]).unwrap();
    }
    let resumed = clients.each_ref().map(|client| client.agreement().unwrap().is_resumed);
    assert_eq!(resumed, [true, true, true, false, false]);
}

#[test]
fn an_answer_that_ends_with_the_connection_is_whole_only_where_the_server_says_that_it_ends_it() {
    for says_so in [true, false] {
        let mut server = Server::of(&server_config(), b"HTTP/1.1 200 OK\r\n\r\nup to the end");
        let mut client = Tls::<Http1>::new(1, &settings(&any_certificate(), "http/1.1", false));
        shake_hands(&mut client, &mut server, &[1000]).unwrap();
        let mut bytes = Vec::new();
        client.begin(0, &request(), None, &mut bytes);
        client.protect(&mut bytes);
        let mut answer = server.serve(&bytes);
        if says_so {
            server.connection.send_close_notify();
            answer.extend(server.output());
        }
        let mut events = read(&mut client, &answer, &[1000]).unwrap();
        // Where the server says so, nobody waits for the connection to be closed.
        assert_eq!(answered(&events).len(), usize::from(says_so));
        events.extend(client.end_of_input());
        assert_eq!(answered(&events).len(), usize::from(says_so));
    }
}

#[test]
fn pipelined_requests_are_given_back_however_the_server_ends_the_connection() {
    const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    const SILENT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for (answer, is_announced) in [(LAST, true), (SILENT, false)] {
        for piece in [1, 1000] {
            let mut server = Server::of(&server_config(), answer);
            let mut client = Tls::<Http1>::new(4, &settings(&any_certificate(), "http/1.1", false));
            shake_hands(&mut client, &mut server, &[1000]).unwrap();
            let mut bytes = Vec::new();
            client.begin(0, &request(), None, &mut bytes);
            client.protect(&mut bytes);
            let mut arrived = server.serve(&bytes);
            for tag in 1..4 {
                client.begin(tag, &request(), None, &mut bytes);
            }
            server.connection.send_close_notify();
            arrived.extend(server.output());
            let events = read(&mut client, &arrived, &[piece]).unwrap();
            let is_given_back = |event: &&Event| match event {
                Event::Moved(_) => is_announced,
                Event::Dropped(_) => !is_announced,
                _ => false,
            };
            assert_eq!((answered(&events).len(), events.iter().filter(is_given_back).count()), (1, 3));
            assert_eq!(client.readiness(), Readiness::Closed);
        }
    }
}

#[test]
fn a_record_that_was_changed_on_its_way_ends_the_connection() {
    let mut server = Server::of(&server_config(), ANSWER);
    let mut client = Tls::<Http1>::new(1, &settings(&any_certificate(), "http/1.1", false));
    shake_hands(&mut client, &mut server, &[1000]).unwrap();
    let mut bytes = Vec::new();
    client.begin(0, &request(), None, &mut bytes);
    client.protect(&mut bytes);
    let mut answer = server.serve(&bytes);
    *answer.last_mut().unwrap() ^= 1;
    assert_eq!(read(&mut client, &answer, &[1000]), Err(Malformed::Protection));
    assert!(client.complaint().unwrap().contains("a TLS record is corrupt"));
}

#[test]
fn a_protocol_that_is_required_and_not_chosen_is_refused() {
    let mut client = Tls::<Http1>::new(1, &settings(&any_certificate(), "h2", true));
    let refused = shake_hands(&mut client, &mut Server::of(&server_config(), ANSWER), &[1000]);
    assert_eq!(refused, Err(Malformed::Protection));
    assert!(client.complaint().unwrap().contains("does not support \"h2\""), "{:?}", client.complaint());
}

#[test]
fn a_certificate_of_an_authority_that_is_not_trusted_is_refused_with_what_accepts_it() {
    let other = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let file = std::env::temp_dir().join(format!("loadcurve-tls-{}.pem", std::process::id()));
    std::fs::write(&file, other.cert.pem()).unwrap();
    let plan = Plan { verify: Verify::File(file.clone()), ..Plan::of("localhost") };
    let mut client = Tls::<Http1>::new(1, &settings(&plan, "http/1.1", false));
    std::fs::remove_file(file).unwrap();
    let refused = shake_hands(&mut client, &mut Server::of(&server_config(), ANSWER), &[1000]);
    assert_eq!(refused, Err(Malformed::Protection));
    let complaint = client.complaint().unwrap();
    assert!(complaint.contains("--cacert") && complaint.contains("--insecure"), "{complaint}");
}
