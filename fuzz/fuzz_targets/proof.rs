//! Takes a text as a file of proofs and checks them.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    mazurka_fuzz::files::proof(text);
});
