//! The examples of RFC 9204, appendix B, which are expected values from another hand.

use loadcurve_wire::h3::qpack::Decoder;

use crate::support::{bytes, fields_of, said_by};

fn assert_fields(decoder: &mut Decoder, stream: u64, section: &str, expected: &[(&str, &str)]) {
    let fields = fields_of(decoder, stream, &bytes(section)).unwrap().expect("nothing has to be waited for");
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (str::from_utf8(name).unwrap(), str::from_utf8(value).unwrap()))
        .collect();
    assert_eq!(fields, expected);
}

#[test]
fn a_literal_with_a_name_of_the_static_table_is_read() {
    // Appendix B.1.
    let section = "0000 510b 2f69 6e64 6578 2e68 746d 6c";
    assert_fields(&mut Decoder::new(220), 0, section, &[(":path", "/index.html")]);
}

#[test]
fn a_dynamic_table_is_filled_used_acknowledged_and_emptied_as_there() {
    // Appendix B.2 to B.5, on one connection.
    let mut decoder = Decoder::new(220);
    let insert = "3fbd01 c00f 7777 772e 6578 616d 706c 652e 636f 6d c10c 2f73 616d 706c 652f 7061 7468";
    decoder.receive(&bytes(insert)).unwrap();
    let request = [(":authority", "www.example.com"), (":path", "/sample/path")];
    assert_fields(&mut decoder, 4, "0381 1011", &request);
    assert_eq!(said_by(&mut decoder), [0x84]);

    decoder.receive(&bytes("4a63 7573 746f 6d2d 6b65 790c 6375 7374 6f6d 2d76 616c 7565")).unwrap();
    assert_eq!(said_by(&mut decoder), [0x01]);

    decoder.receive(&bytes("02")).unwrap();
    let mut other = Decoder::new(220);
    assert_eq!(fields_of(&mut other, 8, &bytes("0500 80c1 81")), Ok(None), "its table is empty");
    // The stream is given up before its section is read.
    decoder.cancel(8);
    assert_eq!(said_by(&mut decoder), [0x48, 0x01]);
    let request = [(":authority", "www.example.com"), (":path", "/"), ("custom-key", "custom-value")];
    assert_fields(&mut decoder, 12, "0500 80c1 81", &request);

    decoder.receive(&bytes("810d 6375 7374 6f6d 2d76 616c 7565 32")).unwrap();
    // Entries 1 to 4 are left: the newest one is the last that was added, and entry 0 is gone.
    assert_fields(
        &mut decoder,
        16,
        "0600 80 81 82 83",
        &[
            ("custom-key", "custom-value2"),
            (":authority", "www.example.com"),
            ("custom-key", "custom-value"),
            (":path", "/sample/path"),
        ],
    );
    fields_of(&mut decoder, 20, &bytes("0600 84")).unwrap_err();
    let counts = decoder.take_counts();
    // The largest size in B.4 is 217 bytes, behind which 215 are left.
    assert_eq!((counts.capacity_bytes, counts.used_bytes), (220, 217));
    assert_eq!((counts.entries, counts.dropped_entries), (5, 1));
    assert_eq!((counts.sections, counts.sections_with_entries), (3, 3));
}
