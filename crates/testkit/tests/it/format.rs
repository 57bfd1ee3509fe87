//! Formatting random programs: the program stays the same, and formatting it again changes nothing.

use crate::common::programs;
use mazurka_lang::{format, load};
use mazurka_testkit::swarm::{kinds, messages, models, swarm, synchronised};

#[test]
fn random_programs_are_not_changed() {
    let generators: [fn(u64) -> String; 5] = [swarm, models, kinds, messages, synchronised];
    for seed in 0..programs(100) {
        for generator in generators {
            let source = generator(seed);
            let laid_out = format(&source).unwrap_or_else(|why| panic!("{why}\n{source}"));
            assert_eq!(format(&laid_out).as_ref(), Ok(&laid_out), "{source}");
            let codes = |text: &str| -> Vec<&str> {
                let mistakes = load(text, &[]).err().unwrap_or_default();
                mistakes.iter().map(|mistake| mistake.code).collect()
            };
            assert_eq!(codes(&laid_out), codes(&source), "{source}");
        }
    }
}
