//! From an address and settings to the driver's options.

use std::time::Duration;

use mongodb::options::{
    Acknowledgment, ClientOptions, ConnectionString, HostInfo, ReadConcern, ReadPreference,
    SelectionCriteria, ServerMonitoringMode, Tls, TlsOptions, WriteConcern,
};

use crate::database::{InvalidTarget, Target};
use crate::settings::{chosen, invalid, parsed, refuse_unknown};
use crate::tls;

/// The settings that this module knows.
const SETTINGS: [&str; 7] = [
    "journal",
    "max_pool_size",
    "min_pool_size",
    "ordered",
    "read_concern",
    "read_preference",
    "write_concern",
];

/// The collection that names the collections that we made.
pub(super) const MARKS: &str = "loadcurve_made";

/// The option of an address that names the certificates to trust.
pub(super) const CA_FILE: &str = "tlsCAFile";
const CERTIFICATE_KEY_FILE: &str = "tlsCertificateKeyFile";

/// What the settings say; what is none is left to the address and the driver.
#[derive(Debug)]
pub(super) struct MongoDbSettings {
    write_concern: Option<Acknowledgment>,
    journal: Option<bool>,
    read_preference: Option<ReadPreference>,
    read_concern: Option<ReadConcern>,
    max_pool_size: Option<u32>,
    min_pool_size: Option<u32>,
    /// Whether the rest of a batch is left out after a record that is refused.
    pub(super) ordered: bool,
}

impl MongoDbSettings {
    pub(super) fn of(target: &Target) -> Result<Self, InvalidTarget> {
        let settings = &target.settings;
        refuse_unknown(settings, "mongodb", &SETTINGS)?;
        let write_concern = settings.get("write_concern").map(|text| match text.parse() {
            Ok(0) => Err(invalid(
                "write_concern",
                text,
                "1 or more, because the driver does not support unacknowledged writes",
            )),
            Ok(nodes) => Ok(Acknowledgment::Nodes(nodes)),
            Err(_) if text == "majority" => Ok(Acknowledgment::Majority),
            Err(_) => Err(invalid("write_concern", text, "a number of members, or majority")),
        });
        let options = None;
        let read_preferences = [
            ("primary", ReadPreference::Primary),
            ("primaryPreferred", ReadPreference::PrimaryPreferred { options: options.clone() }),
            ("secondary", ReadPreference::Secondary { options: options.clone() }),
            ("secondaryPreferred", ReadPreference::SecondaryPreferred { options: options.clone() }),
            ("nearest", ReadPreference::Nearest { options }),
        ];
        let read_concerns =
            ["local", "available", "majority", "linearizable", "snapshot"].map(|level| (level, level));
        let pool = |name| parsed::<u32>(settings, name, "a number of connections");
        Ok(Self {
            write_concern: write_concern.transpose()?,
            journal: parsed(settings, "journal", "true or false")?,
            read_preference: chosen(settings, "read_preference", &read_preferences)?,
            read_concern: chosen(settings, "read_concern", &read_concerns)?.map(ReadConcern::custom),
            max_pool_size: pool("max_pool_size")?,
            min_pool_size: pool("min_pool_size")?,
            ordered: parsed(settings, "ordered", "true or false")?.unwrap_or(true),
        })
    }

    /// The driver's options: ours before those of the address, and then what neither says. The hosts may come
    /// `from_records` of the domain name service.
    pub(super) fn apply(
        self,
        options: &mut ClientOptions,
        timeout: Duration,
        sessions: usize,
        from_records: bool,
    ) {
        if self.write_concern.is_some() || self.journal.is_some() {
            let mut concern = options.write_concern.take().unwrap_or_else(|| WriteConcern::builder().build());
            concern.w = self.write_concern.or(concern.w);
            concern.journal = self.journal.or(concern.journal);
            options.write_concern = Some(concern);
        }
        if let Some(preference) = self.read_preference {
            options.selection_criteria = Some(SelectionCriteria::ReadPreference(preference));
        }
        options.read_concern = self.read_concern.or(options.read_concern.take());
        options.min_pool_size = self.min_pool_size.or(options.min_pool_size);
        // A client never waits for another's connection, and all may connect at once.
        let sessions = u32::try_from(sessions.max(1)).unwrap_or(u32::MAX);
        options.max_pool_size = self.max_pool_size.or(options.max_pool_size).or(Some(sessions));
        options.max_connecting.get_or_insert(sessions);
        // A failure is to be seen where it happens, not hidden behind a second attempt.
        options.retry_reads.get_or_insert(false);
        options.retry_writes.get_or_insert(false);
        // Looking for a server ends before the operation's own time does, so that its explanation is heard.
        options.server_selection_timeout.get_or_insert(timeout.mul_f64(0.9));
        options.connect_timeout.get_or_insert(timeout.mul_f64(0.9));
        // The monitors share the load's thread; polling takes one connection for each server instead of two.
        options.server_monitoring_mode.get_or_insert(ServerMonitoringMode::Poll);
        options.app_name.get_or_insert_with(|| "loadcurve".into());
        // One host is meant as such, unless the address asks for what it belongs to.
        let alone = options.hosts.len() == 1 && options.repl_set_name.is_none();
        if alone && !from_records && options.load_balanced != Some(true) {
            options.direct_connection.get_or_insert(true);
        }
    }
}

/// What is said of an address that the driver cannot read, before the reason.
const UNREADABLE: &str = "the address of the database cannot be read: ";
/// What to do about an address that names a user.
const ENCODE: &str = "user and password must be percent-encoded (@ is %40, : is %3A, / is %2F, % is %25), and what \
                      follows them must be hosts, a database and options";

/// Checks what can be checked of a target without asking anybody.
pub(super) fn check(target: &Target) -> Result<(), InvalidTarget> {
    MongoDbSettings::of(target)?;
    check_names(target)?;
    if splits_a_character(&target.url) {
        return Err(InvalidTarget(format!("{UNREADABLE}{ENCODE}")));
    }
    let read = ConnectionString::parse(&target.url).map_err(|error| unreadable(&target.url, &error))?;
    if matches!(&read.host_info, HostInfo::HostIdentifiers(hosts) if hosts.is_empty()) {
        return Err(InvalidTarget(
            "the address of the database has no host; expected one such as \
            mongodb://127.0.0.1:27017/"
                .into(),
        ));
    }
    if let Some(Tls::Enabled(options)) = &read.tls {
        check_files(options)?;
    }
    match read.write_concern.and_then(|concern| concern.w) {
        Some(Acknowledgment::Nodes(0)) => Err(InvalidTarget(
            "the address sets w=0, but the driver does not support unacknowledged writes: \
                remove it, or set w=1"
                .into(),
        )),
        _ => Ok(()),
    }
}

/// Checks that the files of encryption are there, and what they should be.
fn check_files(options: &TlsOptions) -> Result<(), InvalidTarget> {
    if let Some(file) = &options.ca_file_path {
        tls::certificates(CA_FILE, file)?;
    }
    if let Some(file) = &options.cert_key_file_path {
        tls::certificates(CERTIFICATE_KEY_FILE, file)?;
        tls::private_key(CERTIFICATE_KEY_FILE, file)?;
    }
    Ok(())
}

fn check_names(target: &Target) -> Result<(), InvalidTarget> {
    let wrong =
        |what: &str, name: &str, rule: &str| InvalidTarget(format!("{what} {name:?} cannot be used: {rule}"));
    let (namespace, table, prefix) = (&target.namespace, &target.table, &target.workload.field_prefix);
    if namespace.is_empty()
        || namespace.len() > 63
        || namespace.contains(['/', '\\', '.', ' ', '"', '$', '\0'])
    {
        let rule = r#"a database's name in MongoDB has 1 to 63 bytes and none of / \ . " $ and blanks"#;
        return Err(wrong("the namespace", namespace, rule));
    }
    if ["admin", "local", "config"].contains(&namespace.as_str()) {
        return Err(wrong("the namespace", namespace, "it is reserved by MongoDB"));
    }
    if table.is_empty() || table.contains(['$', '\0']) || table.starts_with("system.") || table == MARKS {
        let rule =
            format!("a collection's name contains no $, does not begin with system. and is not {MARKS}");
        return Err(wrong("the table", table, &rule));
    }
    if prefix.starts_with('$') || prefix.contains(['.', '\0']) {
        return Err(wrong(
            "the prefix of fields",
            prefix,
            "a field's name in MongoDB contains no dot and does not begin with $",
        ));
    }
    Ok(())
}

/// Whether what seems to be a percent-encoded byte ends within a character: the driver panics there, with a text that
/// quotes the password.
fn splits_a_character(url: &str) -> bool {
    const DIGITS: usize = 2;
    url.split('%').skip(1).any(|rest| rest.len() > DIGITS && !rest.is_char_boundary(DIGITS))
}

/// Why an address cannot be read, without what may be a part of a password.
pub(super) fn unreadable(url: &str, error: &mongodb::error::Error) -> InvalidTarget {
    let user = url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    let text = match (user, &*error.kind) {
        // The driver's text may quote what it could not read.
        (None, mongodb::error::ErrorKind::InvalidArgument { message, .. }) => message.clone(),
        (None, kind) => kind.to_string(),
        (Some(_), _) => ENCODE.into(),
    };
    InvalidTarget(format!("{UNREADABLE}{text}"))
}
