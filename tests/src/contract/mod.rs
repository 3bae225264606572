//! The contract: what is promised on every database, one file per group of promises.
//!
//! A promise that holds on one database only, or differently, says so where it branches; nothing is skipped.
//! The line `// Cases:` above a function names the cases of `docs/protocol.md` that it shows.

#![expect(missing_docs, clippy::missing_panics_doc, reason = "the name of a test is its promise")]

pub mod after_commit;
pub mod answer;
pub mod argument;
pub mod by_hand;
pub mod canonical;
pub mod concurrency;
pub mod detached;
pub mod downstream;
pub mod ended;
pub mod endpoint;
pub mod error;
pub mod expiry;
pub mod extractor;
pub mod fingerprint;
pub mod header;
pub mod health;
pub mod inbox;
pub mod inbox_end;
pub mod inbox_handler;
pub mod limit;
pub mod lookup;
pub mod method;
pub mod mismatch;
pub mod observed;
pub mod operator;
pub mod option;
pub mod outcome;
pub mod policy;
pub mod received;
pub mod replay;
pub mod scope;
pub mod setting;
pub mod shape;
pub mod state;
pub mod store;
pub mod stored;
pub mod sweeper;
pub mod transaction;
pub mod transient;
pub mod unstored;
pub mod waiting;
pub mod webhook;

/// Makes a test of every function of the contract, for one database, one setting of its engines, and one kind of place,
/// given as the future that makes one.
///
/// A function that is missing from this list fails the test `every_promise_is_on_the_list`.
#[macro_export]
macro_rules! contract {
    ($database:ty) => {
        $crate::contract!($database, |builder| builder);
    };
    ($database:ty, $engine:expr) => {
        $crate::contract!($database, $engine, $crate::database::create::<$database>());
    };
    ($database:ty, $engine:expr, $place:expr) => {
        $crate::contract! { $database, $engine, $place =>
            after_commit {
                queued_work_is_done_once_after_commit
                queued_work_is_not_done_when_the_run_fails
                queued_work_is_not_done_when_the_commit_fails
                queued_work_is_done_where_the_writes_are_kept
                queued_work_is_done_without_a_key
                a_drain_waits_for_queued_work
            }
            answer {
                a_body_of_another_length_than_it_says_is_rolled_back
                a_body_that_panics_is_rolled_back
                a_first_answer_never_says_that_it_is_a_replay
                no_marker_leaves_with_its_answer
            }
            argument {
                arguments_can_be_reordered_and_renamed
                a_skipped_argument_is_not_compared
                every_byte_of_a_large_body_is_compared
            }
            by_hand {
                an_operation_by_hand_is_as_an_annotated_handler
                a_key_that_may_be_left_out_protects_where_it_is_sent
                a_malformed_key_is_refused_even_if_it_may_be_left_out
                a_field_of_the_body_may_be_the_key
                a_name_of_its_own_survives_another_route
                the_options_of_an_operation_are_its_own
                a_ttl_out_of_range_counts_as_the_nearest_within
                a_global_key_with_other_parts_is_refused
            }
            canonical {
                the_order_of_members_does_not_matter
                whitespace_does_not_matter
                a_whole_float_is_the_integer_where_floats_are_read
                a_float_where_an_integer_is_read_is_refused_by_axum
                integers_beyond_a_double_are_told_apart
                zero_has_no_sign
                the_spelling_of_a_string_does_not_matter
                unicode_is_not_normalised
                the_order_of_elements_matters
                a_member_the_handler_does_not_read_is_not_compared
                absent_and_null_are_the_same_where_they_read_the_same
                absent_and_the_default_are_the_same
                a_number_is_not_its_digits
                members_are_sorted_at_every_depth
                members_beyond_ascii_are_sorted
                a_hash_map_is_the_same_whatever_its_order
                a_set_is_the_same_if_it_is_sorted
                the_order_of_form_fields_does_not_matter
                a_field_that_is_not_serialized_is_not_compared
                an_optional_field_can_be_added_by_a_deploy
                a_payload_without_a_canonical_form_is_refused
            }
            concurrency {
                a_duplicate_of_a_running_request_is_told_so_at_once
                a_duplicate_in_another_process_never_runs
                duplicates_of_a_running_request_need_no_connection
                a_burst_runs_once
                a_double_click_is_one_order
                a_crowd_on_a_completed_key_gets_replays_only
                other_keys_are_held_up_only_where_writes_are
                the_same_key_of_another_tenant_is_another_key_while_running
                in_progress_is_not_stored
                only_a_process_that_knows_the_first_body_refuses_another
            }
            detached {
                a_client_that_hangs_up_does_not_stop_the_work
                a_client_that_half_closes_does_not_stop_the_work
                clients_that_hang_up_at_any_moment_find_their_answer
                a_time_out_layer_ends_the_wait_and_not_the_work
                a_drain_waits_for_the_work
                a_drain_that_has_waited_long_enough_drops_the_work
                a_handler_that_never_returns_is_ended
            }
            downstream {
                a_downstream_key_is_the_same_in_every_process
                two_tenants_with_one_key_do_not_meet_downstream
                a_run_that_was_rolled_back_is_not_charged_twice
                without_a_key_there_is_none_to_hand_on
            }
            ended {
                a_handler_that_commits_by_itself_never_succeeds_nor_runs_again
                a_leaked_savepoint_is_no_success
                a_cancelled_savepoint_is_no_success
                a_handler_that_replaces_its_transaction_never_succeeds
                a_handler_that_rolls_back_and_writes_on_runs_once
                the_pool_works_after_a_leaked_savepoint
                a_handler_that_rolls_back_without_a_key_never_succeeds
            }
            endpoint {
                a_named_endpoint_may_move_to_another_path
                the_parameters_of_a_named_endpoint_are_compared
                operations_of_two_names_are_two_requests
            }
            error {
                a_refusal_is_a_problem_document
                the_type_of_each_refusal_is_its_own
                the_base_of_the_types_is_the_applications
                a_refusal_is_a_problem_document_whatever_is_accepted
                no_refusal_says_the_key
                a_refusal_leaves_the_key_as_it_was
                a_failure_of_the_library_leaves_the_key_unused
                a_row_without_an_answer_must_be_reconciled
                a_drained_engine_refuses_new_keys
                the_applications_errors_are_its_own
            }
            expiry {
                a_key_is_live_up_to_its_expiry
                a_key_that_expires_now_is_expired
                an_expired_key_is_a_new_one
                an_expired_key_takes_another_body
                a_failed_answer_replaces_an_expired_one
                a_failure_that_is_not_stored_leaves_the_expired_row
                a_crowd_on_an_expired_key_runs_once
                a_replay_does_not_extend_the_time
                each_endpoint_has_its_own_ttl
                a_changed_ttl_leaves_old_rows_alone
                the_business_constraint_holds_when_the_key_has_expired
            }
            extractor {
                a_body_that_axum_refuses_leaves_the_key_unused
                a_body_over_the_limit_leaves_the_key_unused
                a_body_that_axum_refuses_is_refused_on_a_completed_key_too
            }
            fingerprint {
                a_header_that_is_an_input_is_compared
                another_body_is_the_same_request_where_nothing_is_compared
                a_comparison_can_be_switched_on_and_off_between_builds
            }
            header {
                a_quoted_key_is_accepted
                a_bare_key_is_accepted
                quoted_and_bare_are_the_same_key
                bare_uuids_are_keys_whatever_they_begin_with
                parameters_after_a_quoted_key_are_ignored
                a_bare_key_takes_neither_parameters_nor_spaces
                a_request_without_a_key_is_refused
                an_empty_key_is_refused
                whitespace_around_the_field_is_ignored
                spaces_within_quotes_are_part_of_the_key
                a_key_beyond_ascii_is_refused
                a_tab_within_a_key_is_refused
                other_control_characters_never_reach_the_library
                unbalanced_quotes_and_unknown_escapes_are_refused
                escapes_within_quotes_are_undone
                a_key_of_255_characters_is_accepted
                a_key_of_256_characters_is_refused
                two_lines_are_refused_even_if_equal
                lines_joined_by_an_intermediary_are_refused
                a_comma_within_quotes_is_part_of_the_key
                other_structured_types_are_bare_keys
                strict_syntax_takes_quoted_keys_only
                the_field_name_is_read_in_any_case
                a_look_alike_of_the_field_name_is_no_key
                keys_that_differ_in_case_are_two
                a_caller_who_is_nobody_is_told_so_first
            }
            health {
                an_engine_whose_table_can_be_read_is_ready
                an_engine_without_its_table_says_so
                an_engine_without_its_database_says_so
                an_engine_that_drains_is_not_ready
                an_engine_without_a_free_connection_is_not_asked_for_long
                an_engine_that_is_off_says_so_and_needs_no_table
            }
            inbox {
                a_message_is_processed_once
                nothing_of_a_message_shows_before_it_may_be_acknowledged
                consumers_of_one_message_process_it_once_each
                the_same_id_of_another_source_is_another_message
                a_message_without_an_id_is_refused
                an_id_is_any_text
                a_message_comes_again_until_its_work_succeeds
                a_message_that_two_processes_consume_at_once_is_processed_once
                a_message_that_has_expired_is_processed_again
                the_row_of_a_message_is_complete_without_an_answer
                a_forgotten_message_is_processed_again
                a_row_of_something_else_under_the_same_id_is_not_taken_for_a_duplicate
                a_message_is_remembered_as_long_as_the_consumer_says
                what_an_inbox_was_told_is_kept_within_its_bounds
                a_message_is_not_processed_where_the_table_will_not_do
                a_message_that_gets_no_connection_is_left_to_its_queue
            }
            inbox_end {
                a_claim_lives_and_dies_with_its_transaction
                a_claim_in_a_savepoint_is_undone_with_it
                a_claim_outside_of_a_transaction_is_refused
                a_swallowed_error_is_no_success_where_it_aborts
                a_commit_of_a_message_that_the_database_refuses_keeps_nothing
                work_that_commits_by_itself_is_no_success
                work_that_rolls_back_by_itself_is_no_success
                work_that_changes_its_transaction_for_another_is_no_success
                work_may_claim_another_message
                a_commit_of_a_transaction_that_is_over_is_no_success
                a_nested_transaction_that_was_left_open_is_no_success
                a_panic_of_the_work_goes_on_and_keeps_nothing
                work_that_is_given_up_leaves_the_pool_whole
                a_message_that_failed_holds_nothing_while_it_waits
            }
            inbox_handler {
                two_events_about_one_change_apply_it_once
                a_replay_claims_nothing_and_applies_nothing
                a_claim_is_gone_with_a_handler_that_fails
                a_handler_with_the_scope_of_an_inbox_shares_its_messages
            }
            limit {
                a_body_is_collected_within_the_run_limit_of_its_handler
                a_run_ends_before_its_key_expires
                the_longest_times_that_may_be_set_work
                a_request_that_still_waits_when_a_drain_is_over_has_not_begun
                a_handler_that_blocks_beyond_its_limit_is_rolled_back
            }
            lookup {
                a_look_up_beside_the_transaction_sees_what_is_committed
                a_write_beside_the_transaction_is_refused
                a_read_only_pool_refuses_whatever_writes
            }
            method {
                a_get_ignores_the_key
                safe_methods_run_each_time_with_or_without_a_key
                a_get_may_answer_with_a_stream_and_a_post_with_a_key_may_not
                a_put_that_adds_adds_once
                a_patch_is_applied_once
                a_repeated_delete_gets_204_and_not_404
                a_handler_without_the_attribute_runs_each_time
            }
            mismatch {
                another_body_is_refused_and_changes_nothing
                a_row_of_another_scope_or_key_under_the_same_id_is_refused
                another_body_is_refused_while_the_first_runs
                another_body_in_another_process_is_refused_once_the_first_is_known
                the_refusal_says_nothing_of_the_first_request
                another_path_parameter_is_refused
                another_query_is_refused
                a_query_is_compared_as_it_is_read
                the_media_type_of_raw_bytes_is_not_compared
                the_parameters_of_the_media_type_are_not_compared
                credentials_and_traces_are_not_compared
                two_bodies_at_once_are_one_order_and_one_refusal
            }
            observed {
                each_request_has_a_span_that_says_how_it_ended
                a_span_leads_to_the_key_row_and_does_not_say_the_key
                the_work_is_within_its_requests_span
                an_endpoint_of_its_own_name_is_seen_under_it
            }
            operator {
                find_shows_the_stored_answer_while_it_lives
                find_shows_nothing_of_a_run_that_goes_on
                a_forgotten_key_is_a_new_one
                a_row_without_an_answer_is_found_and_can_be_forgotten
                the_times_of_a_failed_answer_are_those_of_its_reservation
                a_handler_can_be_called_without_a_server
                the_table_can_be_created_by_several_processes_at_once
                a_check_says_that_the_table_is_missing
            }
            option {
                the_key_may_be_a_part_of_the_request
                a_key_that_is_not_required_may_be_missing_but_not_malformed
                a_stream_may_be_compared_as_received
                a_handler_can_be_called_by_another_in_its_transaction
            }
            outcome {
                an_err_rolls_the_writes_back_and_is_stored
                record_success_runs_again_after_a_failure
                a_panic_leaves_nothing_behind
                a_panic_goes_on_in_the_layers_around_the_handler
                keep_writes_commits_them_with_an_err
                keep_writes_commits_them_whatever_record_says
                keep_writes_and_record_are_refused_on_not_now
                keep_writes_is_refused_with_retry_after_and_do_not_record
                keep_writes_and_record_lift_401_and_403
                record_stores_an_err_that_answers_500
                record_all_stores_401_and_403_and_no_not_now
                do_not_record_leaves_a_failure_unstored
                a_success_that_must_not_be_recorded_is_rolled_back
                a_body_of_unknown_length_is_rolled_back
                keep_writes_cannot_save_a_transaction_whose_statement_failed
            }
            policy {
                strict_syntax_is_a_policys_to_ask_for
                a_key_of_another_format_is_refused
                a_policy_may_read_the_key_from_another_field
                the_status_of_a_mismatch_is_a_policys_to_choose
                a_policy_may_bound_the_answers_it_stores
                users_whom_a_policy_names_do_not_meet
                the_rejection_of_a_policys_extractor_is_the_answer
                a_handler_overrides_its_policy
                an_application_without_state_keeps_the_engine_in_an_extension
                a_policys_field_outside_the_scope_is_compared
            }
            received {
                received_json_is_compared_as_any_json
                a_received_body_of_another_media_type_is_compared_as_bytes
                a_received_body_that_is_refused_leaves_the_key_unused
                a_received_body_may_hold_the_key
            }
            replay {
                a_retry_replays_the_first_answer
                a_hundred_requests_run_once_and_leave_the_row_as_it_was
                a_replay_names_the_same_location
                an_answer_without_a_body_is_replayed_without_one
                a_replay_has_every_byte_of_a_binary_body
                a_replay_keeps_the_spacing_and_order_of_json
                only_listed_and_configured_headers_are_replayed
                a_cookie_is_not_replayed
                a_coded_body_is_replayed_in_its_coding
                a_replay_shows_the_resource_as_it_was
                a_caller_who_lost_access_gets_no_replay
                another_process_replays
                a_restarted_process_replays
                repeated_headers_are_replayed_in_order_and_as_bytes
                a_plain_answer_is_replayed
            }
            scope {
                tenants_do_not_meet
                users_of_one_tenant_do_not_meet
                endpoints_do_not_meet
                without_the_endpoint_a_key_is_one_for_all
                without_the_endpoint_the_method_is_still_compared
                a_part_may_be_long_and_of_any_script
                without_the_tenant_a_key_is_one_for_all
                a_global_key_is_one_for_everything
                parts_that_join_to_the_same_text_are_told_apart
                a_part_that_is_empty_or_holds_nul_is_refused
                an_endpoint_without_a_route_is_refused
                methods_of_one_path_do_not_meet
                the_endpoint_is_the_route_with_its_nesting
                a_label_keeps_the_scope_when_an_argument_is_renamed
                one_value_under_two_labels_is_two_scopes
                a_get_beside_the_route_does_not_disturb_it
            }
            setting {
                a_mismatch_may_have_another_status
                a_key_of_another_format_is_refused
                another_header_may_hold_the_key
                what_is_not_compared_is_given_the_first_answer
                an_engine_that_is_off_runs_every_request
                a_task_may_be_given_what_its_request_has
            }
            shape {
                stripes_clients_are_answered_as_by_stripe
                a_failure_in_stripes_shape_is_an_api_error
                an_echoed_key_can_be_sent_again
                a_key_that_is_refused_is_not_echoed
                an_answer_that_is_passed_on_says_nothing_of_the_run_it_comes_from
                every_error_links_to_the_documentation
                an_application_may_word_the_errors_itself
                replays_are_marked_as_the_application_says
            }
            state {
                behind_an_arc_a_retry_replays_and_another_body_is_refused
                behind_an_arc_a_duplicate_is_told_of_the_first
                behind_an_arc_failures_are_what_they_are
                the_engine_may_be_the_whole_state
            }
            store {
                a_request_that_gets_no_connection_is_not_run
                a_request_without_a_database_is_not_run
                a_request_without_the_key_table_is_not_run
                a_key_table_that_is_dropped_meanwhile_is_noticed
            }
            stored {
                an_answer_marked_keep_writes_commits_them
                an_answer_of_400_and_above_is_stored_without_its_writes
                an_err_that_answers_500_is_not_stored
                record_all_stores_an_err_that_answers_500
                a_500_that_the_handler_decided_on_is_replayed
                an_err_below_500_is_replayed
                record_success_stores_no_failure
                not_now_and_not_you_are_not_stored
                a_failure_with_retry_after_is_not_stored
                a_response_over_the_limit_is_rolled_back
                a_redirect_is_replayed
                an_accepted_answer_with_retry_after_is_stored
            }
            sweeper {
                only_what_has_expired_is_swept
                a_batch_is_no_larger_than_its_limit_and_stays_when_the_next_one_fails
                rows_without_an_answer_are_swept_as_all_are
                a_run_that_goes_on_keeps_its_row
                sweepers_do_not_meet
                a_running_take_over_is_not_swept
                a_crowd_on_a_key_that_is_swept_runs_once
                requests_do_not_notice_a_sweeper_that_cannot_connect
                a_sweeper_sweeps_again_and_again
                a_sweeper_is_stopped_between_two_batches
                a_sweeper_ends_with_its_handle
                a_sweeper_ends_with_its_engine
                a_drain_ends_the_sweepers
                a_pass_that_is_given_up_leaves_its_pool_whole
                what_a_sweeper_was_told_is_kept_within_its_bounds
                a_batch_out_of_range_counts_as_the_nearest_within
            }
            transaction {
                a_commit_that_the_database_refuses_is_no_success
                a_swallowed_database_error_is_no_success_where_it_aborts
                a_savepoint_of_the_handlers_own_is_its_own
                an_error_within_a_savepoint_does_not_spoil_the_rest
                a_run_whose_row_is_gone_is_no_success
                a_statement_that_was_given_up_does_no_harm_unless_it_fails
            }
            transient {
                an_error_with_the_drivers_as_its_source_is_looked_into
                a_transparent_wrapper_is_looked_through
                an_anyhow_wrapper_is_looked_into_where_it_lets_one
                an_error_of_text_is_not_stored_when_it_answers_500
                an_error_that_says_it_is_transient_is_believed
                an_error_that_says_it_is_not_transient_is_stored
            }
            unstored {
                a_failed_answer_whose_commit_fails_does_not_leave
                nothing_is_said_of_a_transaction_that_was_lost
            }
            waiting {
                a_duplicate_waits_and_gets_the_first_answer
                a_duplicate_waits_and_gets_the_first_error
                one_of_those_who_wait_runs_when_the_first_leaves_nothing
                a_wait_that_runs_out_is_told_so
                a_sender_of_events_is_told_503_when_the_wait_runs_out
                another_body_does_not_wait
                a_duplicate_of_an_annotated_handler_waits
                a_crowd_that_waits_holds_no_connection
                a_duplicate_waits_for_another_process
                a_duplicate_runs_when_another_process_leaves_nothing
                a_crowd_that_waits_for_another_process_holds_one_connection
                a_wait_may_be_longer_than_the_time_for_a_connection
                who_does_not_wait_is_told_so_behind_one_who_does
                a_drain_ends_the_wait_for_another_process
            }
            webhook {
                a_duplicate_event_is_answered_without_a_run
                an_event_that_failed_is_handled_when_it_is_delivered_again
                ten_deliveries_at_once_have_one_effect
                a_delivery_behind_one_that_takes_long_is_told_to_come_again
                a_cloud_event_is_identified_by_its_source_as_well
                a_delivery_may_differ_from_the_one_before
                each_consumer_of_an_event_handles_it_once
                an_event_that_is_sent_again_after_thirty_days_is_known
                a_call_and_the_event_about_it_are_one_effect_each
                a_delivery_without_a_usable_id_is_refused
                what_the_builder_asks_of_clients_is_not_asked_of_senders
                a_handler_overrides_the_policy_for_webhooks
            }
        }
    };
    ($database:ty, $engine:expr, $place:expr => $($group:ident { $($promise:ident)* })*) => {
        $(mod $group {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let promise = $crate::contract::$group::$promise::<$database>;
                $crate::bench::run_at::<$database>($place, $engine, promise).await;
            })*
        })*
    };
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_promise_is_on_the_list() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/contract");
        let list = include_str!("mod.rs");

        for entry in fs::read_dir(directory).unwrap() {
            let source = fs::read_to_string(entry.unwrap().path()).unwrap();
            for line in source.lines() {
                let Some(rest) = line.strip_prefix("pub async fn ") else { continue };
                let name = rest.split('<').next().unwrap();
                assert!(list.lines().any(|line| line.trim() == name), "`{name}` is not on the list");
            }
        }
    }
}
