//! Whatever a property file holds: reading it does not panic, line ends of another system change nothing, every problem
//! has its place, and a workload that is taken can be asked for operations, of records that are there.
//!
//! What follows the last byte that no text can hold is a property of the command line.

#![cfg_attr(fuzzing, no_main)]

use std::sync::Arc;

use loadcurve_fuzz::target;
use loadcurve_plan::Share;
use loadcurve_ycsb::{
    InsertedKeys, InvalidProperties, Kind, Operation, Operations, Properties, PropertyFile, Workload,
};

const SEPARATOR: u8 = 0xff;
const OPERATIONS: u64 = 50;
/// Larger records cost time and find nothing.
const RECORD_BYTES_MAX: usize = 4096;

target!(|input: &[u8]| {
    let mut parts = input.rsplitn(2, |byte| *byte == SEPARATOR).map(str::from_utf8);
    let (Some(Ok(last)), rest) = (parts.next(), parts.next()) else { return };
    let (text, overrides) = match rest {
        None => (last, vec![]),
        Some(Ok(text)) => (text, vec![last.to_owned()]),
        Some(Err(_)) => return,
    };
    let outcome = read(text, &overrides);
    if !text.contains('\r') {
        assert_eq!(read(&text.replace('\n', "\r\n"), &overrides), outcome);
    }
    match outcome {
        Ok(properties) => make_some(&properties.workload),
        Err(invalid) => {
            assert!(!invalid.0.is_empty());
            for problem in invalid.0 {
                assert!(problem.place.starts_with("file") || problem.place.starts_with("-p "), "{problem:?}");
            }
        }
    }
});

fn read(text: &str, overrides: &[String]) -> Result<Properties, InvalidProperties> {
    Properties::read(Workload::default(), Some(PropertyFile { name: "file", text }), overrides)
}

/// Makes some operations of both phases, every second insert of which is acknowledged.
fn make_some(workload: &Workload) {
    if workload.field_count * (workload.field_bytes + 1) > RECORD_BYTES_MAX {
        return;
    }
    let inserted = Arc::new(InsertedKeys::new(workload, Share::whole()));
    let mut load = Operations::load(workload, 1).expect("what is taken is valid");
    let mut run = Operations::run(workload, 1, Arc::clone(&inserted)).expect("what is taken is valid");
    let mut operation = Operation::default();
    for number in 0..OPERATIONS {
        load.make(number, &mut operation);
        assert_eq!(operation.record, workload.insert_start + number);
        run.make(number, &mut operation);
        if operation.kind != Kind::Insert {
            assert!(operation.record < inserted.end());
            assert!(operation.record < workload.records || (operation.record - workload.records) & 1 == 0);
        } else if (operation.record - workload.records) & 1 == 0 {
            inserted.acknowledge(operation.record);
        }
        assert!(operation.values.iter().all(|value| value.text.len() <= workload.field_bytes));
    }
}
