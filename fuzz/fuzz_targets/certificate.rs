//! Takes bytes as a certificate and checks it.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    mazurka_fuzz::files::certificate(bytes);
});
