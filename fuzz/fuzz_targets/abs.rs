//! Takes a text as an ABS program.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    mazurka_fuzz::abs::read(text);
});
