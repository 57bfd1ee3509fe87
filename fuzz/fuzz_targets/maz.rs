//! A text as a program in `.maz`.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    mazurka_fuzz::maz::read(text);
});
