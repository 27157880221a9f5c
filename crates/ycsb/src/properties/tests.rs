use super::{Properties, PropertyFile, RunProperties};
use crate::operation::InsertOrder;
use crate::workload::{LengthDistribution, Mix, RequestDistribution, Workload};
use proptest::prelude::*;

fn file(text: &str) -> PropertyFile<'_> {
    PropertyFile { name: "site.properties", text }
}

fn read(text: &str) -> Properties {
    Properties::read(Workload::default(), Some(file(text)), &[]).unwrap_or_else(|invalid| panic!("{invalid}"))
}

fn message(text: &str, overrides: &[&str]) -> String {
    let overrides: Vec<String> = overrides.iter().map(|property| (*property).to_owned()).collect();
    Properties::read(Workload::default(), Some(file(text)), &overrides).unwrap_err().to_string()
}

/// What the files `workloada` to `workloadf` of YCSB 0.17.0 set, without their comments.
const CORE: [(&str, &str); 6] = [
    (
        "a",
        "readproportion=0.5\nupdateproportion=0.5\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian",
    ),
    (
        "b",
        "readproportion=0.95\nupdateproportion=0.05\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian",
    ),
    (
        "c",
        "readproportion=1\nupdateproportion=0\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian",
    ),
    (
        "d",
        "readproportion=0.95\nupdateproportion=0\nscanproportion=0\ninsertproportion=0.05\nrequestdistribution=latest",
    ),
    (
        "e",
        "readproportion=0\nupdateproportion=0\nscanproportion=0.95\ninsertproportion=0.05\nrequestdistribution=zipfian\n\
         maxscanlength=100\nscanlengthdistribution=uniform",
    ),
    (
        "f",
        "readproportion=0.5\nupdateproportion=0\nscanproportion=0\ninsertproportion=0\n\
         readmodifywriteproportion=0.5\nrequestdistribution=zipfian",
    ),
];

#[test]
fn the_core_workloads_are_those_of_ycsbs_files() {
    for (name, own) in CORE {
        let text = format!(
            "recordcount=1000\noperationcount=1000\nworkload=site.ycsb.workloads.CoreWorkload\nreadallfields=true\n{own}\n"
        );
        let properties = read(&text);
        assert_eq!(Some(properties.workload), Workload::preset(name), "{name}");
        assert_eq!(properties.run, RunProperties { operations: Some(1000), ..RunProperties::default() });
    }
    assert_eq!(Workload::PRESETS.to_vec(), CORE.map(|(name, _)| name).to_vec());
    assert_eq!(Workload::preset("g"), None);
}

#[test]
fn a_file_that_says_nothing_is_ycsbs_defaults() {
    let Properties { workload, run, ignored } = read("# nothing\n");
    assert_eq!((workload, run, ignored), (Workload::default(), RunProperties::default(), vec![]));
}

#[test]
fn every_property_is_read() {
    let properties = read(
        "workload=com.yahoo.ycsb.workloads.CoreWorkload\nrecordcount=500\ninsertstart=20\ninsertcount=300\n\
         fieldcount=3\nfieldlength=50\nminfieldlength=5\nfieldlengthdistribution=uniform\nfieldnameprefix=f\n\
         readallfields=FALSE\nwriteallfields=true\nreadproportion=1\nupdateproportion=2\ninsertproportion=3\n\
         scanproportion=4\nreadmodifywriteproportion=5\ndeleteproportion=6\nhotspotdatafraction=0.1\n\
         hotspotopnfraction=0.9\nrequestdistribution=hotspot\nminscanlength=2\nmaxscanlength=20\n\
         scanlengthdistribution=zipfian\ninsertorder=ordered\nzeropadding=12\ndataintegrity=false\n\
         operationcount=1000\nthreadcount=8\ntarget=2500.5\nmaxexecutiontime=60\ntable=other\n",
    );
    let workload = Workload {
        mix: Mix { read: 1.0, update: 2.0, insert: 3.0, scan: 4.0, read_modify_write: 5.0, delete: 6.0 },
        records: 500,
        insert_start: 20,
        insert_count: Some(300),
        field_count: 3,
        field_bytes: 50,
        field_bytes_min: 5,
        field_bytes_distribution: LengthDistribution::Uniform,
        field_prefix: "f".into(),
        read_all_fields: false,
        write_all_fields: true,
        request_distribution: RequestDistribution::Hotspot { records: 0.1, operations: 0.9 },
        scan_records_min: 2,
        scan_records_max: 20,
        scan_records_distribution: LengthDistribution::ZIPFIAN,
        insert_order: InsertOrder::Ordered,
        zero_padding: 12,
        verify_values: false,
    };
    let run = RunProperties {
        operations: Some(1000),
        threads: Some(8),
        rate_rps: Some(2500.5),
        duration_max_s: Some(60),
        table: Some("other".into()),
    };
    assert_eq!(properties, Properties { workload, run, ignored: vec![] });
    let exponential =
        read("exponential.frac=0.5\nexponential.percentile=90\nrequestdistribution=exponential");
    let expected = RequestDistribution::Exponential { percentile: 90.0, fraction: 0.5 };
    assert_eq!(exponential.workload.request_distribution, expected);
}

#[test]
fn zero_is_no_bound_as_in_ycsb() {
    assert_eq!(read("operationcount=0\ntarget=0\nmaxexecutiontime=0").run, RunProperties::default());
}

#[test]
fn what_changes_nothing_here_is_listed() {
    let text = "measurementtype=hdrhistogram\nhdrhistogram.percentiles=95,99\nhistogram.buckets=1000\nstatus.interval=1";
    let expected = ["hdrhistogram.percentiles", "histogram.buckets", "measurementtype", "status.interval"];
    assert_eq!(read(text).ignored, expected);
}

#[test]
fn the_last_of_two_holds_and_the_command_line_last_of_all() {
    assert_eq!(read("fieldcount=x\nfieldcount=4").workload.field_count, 4);
    let overrides = ["fieldcount=5".to_owned(), "fieldcount=6".to_owned()];
    let properties = Properties::read(Workload::default(), Some(file("fieldcount=4")), &overrides).unwrap();
    assert_eq!(properties.workload.field_count, 6);
}

#[test]
fn properties_change_only_what_they_name_of_a_workload() {
    let base = Workload::preset("d").unwrap();
    let properties = Properties::read(base.clone(), None, &["recordcount=7".into()]).unwrap();
    assert_eq!(properties.workload, Workload { records: 7, ..base });
}

#[test]
fn everything_that_is_wrong_is_said_at_once_with_its_line() {
    let text = "recordcont=5\nworkload=site.ycsb.RestWorkload\n\nfieldcount=ten\nrequestdistribution=zipf\n\
                target=-1\nthreadcount=0\nmongodb.url=mongodb://host\nreadproportion=NaN\na=\\u12\ncolour=red\n";
    let expected = [
        "site.properties:1: recordcont: unknown property; expected one of YCSB's core workload; did you mean \"recordcount\"?",
        "site.properties:2: workload: found \"site.ycsb.RestWorkload\"; expected \
        site.ycsb.workloads.CoreWorkload, the only supported class of workloads",
        "site.properties:4: fieldcount: found \"ten\"; expected a whole number of 0 or more",
        "site.properties:5: requestdistribution: found \"zipf\"; expected uniform, zipfian, latest, hotspot, exponential or \
         sequential",
        "site.properties:6: target: found \"-1\"; expected operations per second, a number of 0 or more",
        "site.properties:7: threadcount: found \"0\"; expected a whole number of 1 or more",
        "site.properties:8: mongodb.url: not a property of a workload; set the database by its URL, and its \
        options as settings",
        "site.properties:9: readproportion: found \"NaN\"; expected a number",
        "site.properties:10: found \"\\\\u12\"; expected four hexadecimal digits after \\u",
        "site.properties:11: colour: unknown property; expected one of YCSB's core workload",
        "-p maxscanlength=many: found \"many\"; expected a whole number of 0 or more",
        "-p table: found \"table\"; expected name=value",
    ];
    assert_eq!(message(text, &["maxscanlength=many", "table"]), expected.join("\n"));
}

#[test]
fn a_workload_that_cannot_be_run_is_said_where_it_is_asked_for() {
    assert_eq!(
        message("recordcount=0\nreadproportion=0\nupdateproportion=0\n", &[]),
        "site.properties:3: updateproportion: the shares of all operations are 0; at least one must be \
        above 0"
    );
    assert_eq!(
        message("# c\nrecordcount=0\n", &["fieldcount=0"]),
        "site.properties:2: recordcount: there are 0 records; a mix that does not only insert requires at \
        least 1\n-p fieldcount=0: a record has 0 fields; expected at least 1"
    );
    assert_eq!(
        message("requestdistribution=hotspot\nhotspotopnfraction=1.5", &[]),
        "site.properties:2: hotspotopnfraction: the hotspot's share of the operations is 1.5; it must be from 0 to 1"
    );
}

#[test]
fn a_flaw_that_no_property_brought_about_is_the_files() {
    let base = Workload { field_count: 0, ..Workload::default() };
    let invalid = Properties::read(base.clone(), Some(file("recordcount=5")), &[]).unwrap_err();
    assert_eq!(invalid.to_string(), "site.properties: a record has 0 fields; expected at least 1");
    let invalid = Properties::read(base, None, &[]).unwrap_err();
    assert_eq!(invalid.to_string(), "workload: a record has 0 fields; expected at least 1");
}

proptest! {
    #[test]
    fn whatever_a_file_says_what_comes_of_it_can_be_run(
        lines in prop::collection::vec(
            (
                prop::sample::select(super::KNOWN.iter().map(|known| known.name).collect::<Vec<_>>()),
                prop_oneof!["[0-9]{1,3}", "0\\.[0-9]", "uniform|zipfian|latest|hotspot|true|hashed|core|-1|[ -~]{0,5}"],
            ),
            0..12,
        ),
    ) {
        let text = lines.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("\n");
        match Properties::read(Workload::default(), Some(file(&text)), &[]) {
            Ok(properties) => prop_assert_eq!(properties.workload.validate(), Ok(())),
            Err(invalid) => prop_assert!(!invalid.0.is_empty()),
        }
    }
}
