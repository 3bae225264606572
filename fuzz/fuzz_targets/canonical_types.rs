#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| idem_fuzz::canonical_types::check(data));
