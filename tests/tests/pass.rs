//! What compiles, however odd it looks, and does what it says: one shape a file, each with a test of its own.
//!
//! They are modules of one program, which is linked once, and stand under the strictest lints. What must not compile is
//! in `ui.rs`, what lints say in `lints.rs`, and the edition before in a package of its own.

#![deny(warnings, missing_docs, unused_qualifications, clippy::pedantic, clippy::nursery)]
#![deny(rust_2018_idioms, rust_2024_compatibility, missing_debug_implementations)]
#![forbid(unsafe_code)]
// It asks for what `unreachable_pub` refuses.
#![allow(clippy::redundant_pub_crate)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../ui/pass"]
mod fixture {
    mod answer_alias;
    mod answer_half_open;
    mod answer_left_open;
    mod answer_nothing;
    mod answers_of_every_kind;
    mod any_database;
    mod associated_function;
    mod attribute_renamed;
    mod attribute_under_a_condition;
    mod body_of_every_kind;
    mod cfg_on_arguments;
    mod const_generics;
    mod context_arguments;
    mod debug_handler;
    mod debug_handler_with_state;
    mod docs_and_lints_on_arguments;
    mod endpoint_with_a_name;
    mod execution;
    mod extension_trait;
    mod extractors_that_may_fail;
    mod fifteen_extractors;
    mod fingerprint_body;
    mod fingerprint_skip;
    mod fingerprint_with;
    mod generics;
    mod inner_function;
    mod inner_function_of_a_generic_type;
    mod inner_function_of_a_type;
    mod inside_a_function;
    mod instrument_above;
    mod instrument_below;
    mod key_in_the_body;
    mod key_that_may_be_missing;
    mod lifetimes;
    mod macro_rules;
    mod macros_in_the_signature;
    mod mut_arguments;
    mod names_of_the_expansion;
    mod no_patterns;
    mod no_prelude;
    mod pattern_alternatives;
    mod pattern_bound_twice;
    mod pattern_by_index;
    mod pattern_nothing;
    mod pattern_reference;
    mod pattern_slice;
    mod pattern_struct;
    mod pattern_tuple;
    mod policy_as_a_parameter;
    mod policy_engine_in_an_extension;
    mod policy_from_another_module;
    mod policy_generic;
    mod policy_lent;
    mod policy_made_by_a_macro;
    mod policy_overridden;
    mod policy_with_marked_fields;
    mod policy_without_fields;
    mod raw_identifiers;
    mod renamed_runtime;
    mod required_false;
    mod scope_global;
    mod scope_of_calls_and_labels;
    mod shadowed_names;
    mod trait_objects_and_functions;
    mod transaction_alias;
    mod trial_context_in_an_extension;
    mod trial_state_in_an_arc;
    mod trial_state_with_channels;
    mod tuple_of_extractors_in_scope;
    mod tuples_of_extractors;
    mod two_handlers;
    mod unused_arguments;
    mod utoipa_above;
    mod utoipa_below;
    mod wait_mode;
}

#[test]
fn every_fixture_is_part_of_this_program() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/pass");
    let files = fs::read_dir(directory).expect("the directory of the fixtures");
    let files = files.map(|file| file.expect("a file").path().with_extension(""));
    let files = files.map(|file| file.file_name().expect("a name").to_string_lossy().into_owned());

    let modules = include_str!("pass.rs").lines().filter_map(|line| {
        let module = line.trim().strip_prefix("mod ")?.strip_suffix(';')?;
        Some(module.to_owned())
    });

    assert_eq!(files.collect::<BTreeSet<_>>(), modules.collect());
}
