//! Takes a text as a record and replays it.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    mazurka_fuzz::files::record(text);
});
