//! A text as a file of proofs that are checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    mazurka_fuzz::files::proof(text);
});
