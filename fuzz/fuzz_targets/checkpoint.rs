//! A text as a checkpoint that is resumed.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    mazurka_fuzz::files::checkpoint(text);
});
