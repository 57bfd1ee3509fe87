//! The worked examples find their mistakes.

macro_rules! example {
    ($($name:ident)*) => {
        $(
            mod $name {
                include!(concat!("../examples/", stringify!($name), ".rs"));

                #[test]
                fn finds_its_mistake() {
                    main();
                }
            }
        )*
    };
}

example!(spin_lock reference_count bounded_queue);
