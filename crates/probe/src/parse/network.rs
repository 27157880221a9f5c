//! TCP in this network namespace: `/proc/net/snmp`, `netstat` and `sockstat`.

use super::text::{fields, lines, number};

/// The values of these names in a table of a line of names and a line of values, both beginning with `prefix`.
pub(crate) fn named<const N: usize>(bytes: &[u8], prefix: &[u8], wanted: [&str; N]) -> [Option<u64>; N] {
    let mut table = lines(bytes).filter_map(|line| line.strip_prefix(prefix));
    let (Some(names), Some(values)) = (table.next(), table.next()) else { return [None; N] };
    chosen(fields(names).zip(fields(values)), wanted)
}

/// The values of these names in a line of `/proc/net/sockstat` such as `TCP: inuse 9 orphan 0 tw 225`.
pub(crate) fn paired<const N: usize>(bytes: &[u8], prefix: &[u8], wanted: [&str; N]) -> [Option<u64>; N] {
    let Some(line) = lines(bytes).find_map(|line| line.strip_prefix(prefix)) else { return [None; N] };
    chosen(fields(line).step_by(2).zip(fields(line).skip(1).step_by(2)), wanted)
}

fn chosen<'a, const N: usize>(
    pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    wanted: [&str; N],
) -> [Option<u64>; N] {
    let mut found = [None; N];
    for (name, value) in pairs {
        if let Some(place) = wanted.iter().position(|wanted| wanted.as_bytes() == name) {
            found[place] = number(value);
        }
    }
    found
}
