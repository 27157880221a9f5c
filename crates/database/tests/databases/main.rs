//! What every module for a database promises, tried on real servers and on servers that misbehave.
//!
//! Real servers are named by `LOADCURVE_TEST_MONGODB_URL` and `LOADCURVE_TEST_POSTGRESQL_URL`; a test whose server is not
//! named says so and is skipped. Each test works in its own namespace and removes it.

mod addresses;
mod answers;
mod connections;
mod contract;
mod fake_mongodb;
mod faults;
mod losses;
mod ownership;
mod support;

/// The same tests for each database, and for each way of storing records.
macro_rules! on_every_database {
    ($($module:ident::$test:ident as $name:ident,)*) => {
        mod mongodb {
            use loadcurve_database::MongoDb;
            $(#[test] fn $name() {
                super::support::on_server("LOADCURVE_TEST_MONGODB_URL", stringify!($name), &[], super::$module::$test::<MongoDb>);
            })*
        }
        mod postgresql_columns {
            use loadcurve_database::PostgreSql;
            $(#[test] fn $name() {
                let settings = [("layout", "columns"), ("synchronous_commit", "off")];
                let url = "LOADCURVE_TEST_POSTGRESQL_URL";
                super::support::on_server(url, stringify!($name), &settings, super::$module::$test::<PostgreSql>);
            })*
        }
        mod postgresql_jsonb {
            use loadcurve_database::PostgreSql;
            $(#[test] fn $name() {
                let settings = [("layout", "jsonb"), ("synchronous_commit", "off")];
                let url = "LOADCURVE_TEST_POSTGRESQL_URL";
                super::support::on_server(url, stringify!($name), &settings, super::$module::$test::<PostgreSql>);
            })*
        }
    };
}

on_every_database! {
    contract::reads_back as what_was_inserted_is_read_back,
    contract::reads_one_field as one_field_is_read_alone,
    contract::updates as an_update_writes_its_fields_and_no_others,
    contract::scans as a_scan_is_in_the_order_of_the_bytes_of_keys,
    contract::scans_far as a_long_scan_is_complete,
    contract::deletes as a_deleted_record_is_gone,
    contract::finds_nothing as what_is_not_there_is_not_found,
    contract::refuses_duplicates as a_key_that_is_there_is_rejected_in_words_without_it,
    contract::inserts_batches as a_batch_adds_every_record,
    contract::keeps_any_text as any_text_is_kept,
    contract::serves_sessions_together as sessions_do_not_wait_for_one_another,
    contract::says_its_version as the_version_names_the_server,
    ownership::makes_and_removes as a_table_that_was_made_is_ours_and_can_be_removed,
    ownership::makes_none_twice as a_table_that_is_there_is_not_made_again,
    losses::survives_a_restart as a_session_goes_on_once_its_server_is_back,
    losses::sees_a_close as a_server_that_goes_away_in_mid_operation_is_a_lost_connection,
    losses::sees_a_reset as a_reset_in_mid_operation_is_reported_as_one,
    losses::forgets_late_answers as a_late_answer_is_never_taken_for_another_one,
}
