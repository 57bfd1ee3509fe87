//! Takes a text as a checkpoint and resumes it.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    mazurka_fuzz::files::checkpoint(text);
});
