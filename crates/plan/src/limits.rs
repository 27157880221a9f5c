//! The ranges of options, each in one place: `python -m docs.generate` writes them into `loads/limits.py`, by which
//! Python refuses a value before the engine does.

/// The most requests at once on one connection: more measure its buffers, not its server.
pub const REQUESTS_AT_ONCE_MAX: usize = 1024;
/// The smallest window of a connection of HTTP/2 in bytes, with which every one starts (RFC 9113 §6.9.2).
pub const CONNECTION_WINDOW_BYTES_MIN: u32 = 65_535;
/// The largest window of HTTP/2 in bytes (RFC 9113 §6.9.1).
pub const WINDOW_BYTES_MAX: u32 = 2_147_483_647;
/// The window of HTTP/2 in bytes where a load sets none; it never holds an answer back.
pub const WINDOW_BYTES_DEFAULT: u32 = 1_073_741_823;
/// The longest pause of a client in s.
pub const THINK_S_MAX: f64 = 86_400.0;
/// The longest warm-up in s.
pub const WARMUP_S_MAX: f64 = 86_400.0;
/// The longest timeout in s.
pub const TIMEOUT_S_MAX: f64 = 3_600.0;
/// The longest window of a load in s.
pub const DURATION_S_MAX: f64 = 1_000_000.0;
/// The longest replay of recorded requests in s.
pub const REPLAY_S_MAX: f64 = 1_000_000.0;
/// The longest stretch of a rate in s.
pub const STRETCH_S_MAX: f64 = 1_000_000.0;
/// The highest rate per second: above one arrival per nanosecond two due times would fall together.
pub const RATE_MAX: f64 = 1_000_000_000.0;
/// The longest path of a Unix socket in bytes, without the byte that ends it (unix(7)).
pub const SOCKET_PATH_BYTES_MAX: usize = 107;
/// The least status code of HTTP (RFC 9110 §15).
pub const STATUS_MIN: u16 = 100;
/// The greatest status code of HTTP (RFC 9110 §15).
pub const STATUS_MAX: u16 = 599;
/// The longest line of a list of requests in bytes: more than any server takes for a request line.
pub const LIST_LINE_BYTES_MAX: usize = 65_536;
/// The most records in one request: more are more than databases take in one message.
pub const BATCH_MAX: usize = 100_000;
/// The most periods of a series: more than a chart shows, and ten minutes in seconds; even, to pair off.
pub const SERIES_PERIODS_MAX: usize = 600;
