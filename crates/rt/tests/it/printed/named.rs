fn replay() {
    let body = crate::messages::lost_update;
    mazurka_rt::replay(body, "v1 0.0 0.1 0.1 0.0 0 0 0");
}
