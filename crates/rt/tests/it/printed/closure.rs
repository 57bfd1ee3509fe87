fn replay() {
    let body = || {};
    mazurka_rt::replay(body, "v1 0.0 0");
}
