//! Whatever JSON claims to be a load on a web server: reading and checking it does not panic, and what is taken says the
//! same when it is written and read again.

#![cfg_attr(fuzzing, no_main)]

use loadcurve_fuzz::target;
use loadcurve_plan::HttpLoad;

target!(|input: &[u8]| {
    let Ok(load) = serde_json::from_slice::<HttpLoad>(input) else { return };
    let text = serde_json::to_string(&load).expect("a load can be written");
    if load.validate().is_err() {
        return;
    }
    let again: HttpLoad = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(again, load);
    let _ = load.pace();
    assert!(load.timeout().0 > 0);
});
