//! A text as a program in ABS.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    mazurka_fuzz::abs::read(text);
});
