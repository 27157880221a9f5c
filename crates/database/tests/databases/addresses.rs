//! Addresses of databases, however they are written: reading one never panics, and what is said of it never contains a
//! part of its password.

use std::collections::BTreeMap;

use loadcurve_database::{Database, InvalidTarget, OnDatabase, Product, Target};
use loadcurve_ycsb::Workload;
use proptest::prelude::*;

/// Is in every password here, and nowhere else in an address.
const SIGN: &str = "Zq7x";

/// What may be between a user and a host: all that divides an address, at any place of the password.
fn password() -> impl Strategy<Value = String> {
    (
        "[a-z0-9/?#@:%&=. €-]{0,8}",
        "[a-z0-9/?#@:%&=. €-]{0,8}",
        prop::sample::select(vec!["", "://", "?sslmode=", "@a?sslrootcert=", "?w=", "&tls="]),
    )
        .prop_map(|(before, behind, option)| format!("{before}{option}{SIGN}{behind}"))
}

fn address() -> impl Strategy<Value = String> {
    let scheme = prop::sample::select(vec![
        "postgresql://",
        "postgres://",
        "mongodb://",
        "mongodb+srv://",
        "cassandra://",
        "postgresql:",
        "",
    ]);
    let rest = prop::sample::select(vec![
        "127.0.0.1:5432/app",
        "[::1]:27017/?w=1",
        "one:1,two:2/app?replicaSet=rs0",
        "one/app?sslmode=verify-full&connect_timeout=x",
        "",
        "host:port",
    ]);
    (scheme, "[a-z]{0,4}", password(), rest)
        .prop_map(|(scheme, user, password, rest)| format!("{scheme}{user}:{password}@{rest}"))
}

/// Checks a target.
struct Check(Target);

impl OnDatabase for Check {
    type Output = Result<(), InvalidTarget>;

    fn on<D: Database>(self) -> Self::Output {
        D::check(&self.0)
    }
}

fn checked(url: &str) -> Result<(), InvalidTarget> {
    let target = Target {
        url: url.into(),
        namespace: "loadcurve".into(),
        table: "usertable".into(),
        settings: BTreeMap::new(),
        timeout_s: 1.0,
        workload: Workload::default(),
    };
    Product::of(url)?.dispatch(Check(target))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_part_of_a_password_stands_in_what_is_said_of_an_address(url in address()) {
        if let Err(invalid) = checked(&url) {
            prop_assert!(!invalid.to_string().contains(SIGN), "{invalid}");
        }
    }

    #[test]
    fn whatever_text_an_address_is_it_is_read_or_refused(url in "(mongodb|postgresql)(\\+srv)?://\\PC{0,60}") {
        let _read_or_refused = checked(&url);
    }
}
