fn replay() {
    let body = || {};
    mazurka_rt::replay(body, "0.0 0");
}
