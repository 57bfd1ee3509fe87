//! Bytes as a certificate that is checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    mazurka_fuzz::files::certificate(bytes);
});
