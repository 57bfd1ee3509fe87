//! Symbolic execution: the figures of the SymPaths paper.

use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::{Limits, Mishap, Schedule};
use mazurka_explore::{Audience, End, Reduction, SymbolicFindings, symbolic};
use mazurka_lang::{Setting, SymbolicMachine, compile_symbolic, load};

struct Deaf;

impl<E> Audience<E> for Deaf {
    fn ended(&mut self, _: &E, _: End, _: &dyn Fn() -> Schedule) {}
    fn failed(&mut self, _: &E, _: Mishap, _: &dyn Fn() -> Schedule) {}
}

fn explore(source: &str, set: &[(&str, &str)], reduction: Reduction, pruned: bool) -> SymbolicFindings {
    let setting = |&(name, value): &(&str, &str)| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let settings: Vec<Setting> = set.iter().map(setting).collect();
    let program = load(source, &settings).expect("a program");
    let code = Arc::new(compile_symbolic(&program, source, true));
    let mut machine = SymbolicMachine::new(code, 1_000_000, None);
    let watch = &mut |_: &_| ControlFlow::Continue(());
    symbolic(&mut machine, reduction, pruned, &Limits::default(), watch, &mut Deaf)
}

const FIG8: &str = include_str!("../../../corpus/maz/sympaths-fig8/program.maz");

#[test]
fn the_table_of_example_3() {
    for (bounds, none, paper, canonical) in [
        (["1", "1"], (6744, 14495), [35, 596, 271], 25),
        (["2", "1"], (58944, 132_884), [97, 1562, 821], 58),
    ] {
        let set = [("A", bounds[0]), ("B", bounds[1])];
        let found = explore(FIG8, &set, Reduction::None, false);
        println!("none {} {} peak {} {:?}", found.states, found.steps, found.peak, found.elapsed);
        assert_eq!((found.states, found.steps), none);
        let found = explore(FIG8, &set, Reduction::Paper, false);
        println!("paper {} {} peak {}", found.states, found.steps, found.peak);
        let found2 = explore(FIG8, &set, Reduction::Paper, true);
        println!("pruned {} {} peak {}", found2.states, found2.steps, found.peak);
        let found3 = explore(FIG8, &set, Reduction::Canonical, false);
        println!("canonical {} {} peak {} {:?}", found3.states, found3.steps, found3.peak, found3.elapsed);
        let found4 = explore(FIG8, &set, Reduction::Canonical, true);
        println!("canonical pruned {} {} peak {}", found4.states, found4.steps, found4.peak);
        assert_eq!(found.states, paper[0]);
        assert!(found.steps <= paper[1]);
        assert_eq!(found2.states, paper[0]);
        assert!(found2.steps <= paper[2]);
        assert_eq!(found3.states, canonical);
        assert_eq!(found4.states, canonical);
    }
}
