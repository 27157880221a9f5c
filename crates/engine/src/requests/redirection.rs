//! Where a server redirects to, as results show it.

/// What is shown of a place, in bytes.
const MOST_BYTES: usize = 200;

/// The place that a Location names, without what may be secret: a user's name and password, and a query.
pub(super) fn in_words(location: &[u8]) -> String {
    let end = location.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(location.len());
    let place = location[..end.min(MOST_BYTES)].escape_ascii().to_string();
    let rest = if end < location.len() || end > MOST_BYTES { "…" } else { "" };
    let Some((scheme, address)) = place.split_once("//") else { return format!("{place}{rest}") };
    let (authority, path) = address.split_at(address.find('/').unwrap_or(address.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}//{host}{path}{rest}")
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn a_place_is_shown_without_users_and_queries() {
        for (location, shown) in [
            ("/there", "/there"),
            ("/there?token=Xq7Vt", "/there…"),
            ("https://me:Xq7Vt@example.org/a#b", "https://example.org/a…"),
            ("//me@example.org", "//example.org"),
            ("/a@b", "/a@b"),
        ] {
            assert_eq!(in_words(location.as_bytes()), shown);
        }
        assert_eq!(in_words(&[b'a'; 300]).chars().count(), 201);
    }
}
