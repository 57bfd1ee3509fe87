//! Takes a text as a `.maz` program.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    mazurka_fuzz::maz::read(text);
});
