use super::lines;
use proptest::prelude::*;

fn properties(text: &str) -> Vec<(usize, String, String)> {
    let property = |line: super::LogicalLine| {
        let (name, value) = line.property().unwrap();
        (line.number, name, value)
    };
    lines(text).into_iter().map(property).collect()
}

fn property(text: &str) -> (String, String) {
    let all = properties(text);
    let [(_, name, value)] = &all[..] else { panic!("{all:?}") };
    (name.clone(), value.clone())
}

/// The examples of the documentation of `java.util.Properties.load`.
#[test]
fn the_documentations_examples_are_read_as_it_says() {
    for text in ["Truth = Beauty", "  Truth:Beauty", "Truth                    :Beauty"] {
        assert_eq!(property(text), ("Truth".into(), "Beauty".into()), "{text}");
    }
    let fruits = "fruits                           apple, banana, pear, \\
                                  cantaloupe, watermelon, \\
                                  kiwi, mango";
    let expected = "apple, banana, pear, cantaloupe, watermelon, kiwi, mango";
    assert_eq!(property(fruits), ("fruits".into(), expected.into()));
    assert_eq!(property("cheeses"), ("cheeses".into(), String::new()));
}

#[test]
fn comments_and_empty_lines_are_no_properties() {
    assert_eq!(properties("# a=1\n  ! b=2\n\n \t\x0c\n"), []);
    // Of a comment no line is continued, and within a property a sign for a comment is none.
    assert_eq!(property("# a \\\nb=2"), ("b".into(), "2".into()));
    assert_eq!(property("a=1 \\\n# 2"), ("a".into(), "1 # 2".into()));
}

#[test]
fn any_end_of_a_line_ends_it() {
    let expected = [(1, "a".into(), "1".into()), (2, "b".into(), "2".into()), (3, "c".into(), "3".into())];
    for text in ["a=1\nb=2\nc=3", "a=1\r\nb=2\r\nc=3\r\n", "a=1\rb=2\rc=3"] {
        assert_eq!(properties(text), expected, "{text:?}");
    }
}

#[test]
fn a_property_of_several_lines_is_at_its_first() {
    let expected = [(2, "a".into(), "12".into()), (4, "b".into(), "3".into())];
    assert_eq!(properties("\na = 1\\\n   2\nb=3"), expected);
    // An even count of backslashes is a text.
    assert_eq!(properties("a=1\\\\\nb=2")[0].2, "1\\");
}

#[test]
fn escapes_are_what_they_stand_for() {
    assert_eq!(property(r"a\ \=\:b = \t\u0041\u00e4\q\\"), ("a =:b".into(), "\tAäq\\".into()));
}

#[test]
fn an_escape_without_its_digits_is_named() {
    for (text, escape) in [(r"a=\u12", r"\u12"), (r"a=\u00g1", r"\u00g1"), (r"\u+041=1", r"\u+041")] {
        assert_eq!(lines(text)[0].property(), Err(escape.into()), "{text}");
    }
}

#[test]
fn a_value_may_hold_separators() {
    assert_eq!(property("a==b"), ("a".into(), "=b".into()));
    assert_eq!(property("url http://host:80/"), ("url".into(), "http://host:80/".into()));
}

proptest! {
    #[test]
    fn what_is_escaped_as_java_stores_it_is_read_back(name in "[ -~äß]{1,12}", value in "[ -~\t\n\räß]{0,12}") {
        // As Properties.store writes: every sign that means something is escaped, in the value blanks only at its start.
        let escaped = |text: &str| {
            let escape = |character| match character {
                '\t' => "\\t".into(),
                '\n' => "\\n".into(),
                '\r' => "\\r".into(),
                ' ' | '=' | ':' | '#' | '!' | '\\' => format!("\\{character}"),
                _ if !character.is_ascii() => format!("\\u{:04x}", u32::from(character)),
                _ => character.to_string(),
            };
            text.chars().map(escape).collect::<String>()
        };
        prop_assert_eq!(property(&format!("{}={}", escaped(&name), escaped(&value))), (name, value));
    }

    #[test]
    fn no_text_is_too_odd_to_be_read(text in "(?s).{0,200}") {
        for line in lines(&text) {
            let _ = line.property();
            prop_assert!(line.number >= 1);
        }
    }
}
