//! Compares `orders` with all assignments of orders to the accesses of small programs.

use mazurka::record::{Advice, AdvisedAccess};
use mazurka::weak::{Memory, OrdersRecord};
use mazurka::{Limits, Options, Program, Refused, Verdict, quietly};

const LOAD: [&str; 3] = ["relaxed", "acquire", "seq_cst"];
const STORE: [&str; 3] = ["relaxed", "release", "seq_cst"];
const UPDATE: [&str; 5] = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"];

/// Programs with a placeholder for each order: `#l`, `#s` or `#u`.
const SB: &str = "atomicity access
var x, y: atomic int = 0
var a, b: int = 0
ensures a == 1 || b == 1
process { x.store(1, #s); let r = y.load(#l); a := r }
process { y.store(1, #s); let r = x.load(#l); b := r }";
const MP: &str = "atomicity access
var m: int = 0
var f: atomic int = 0
process { m := 42; f.store(1, #s) }
process { await f.load(#l) == 1; assert m == 42 }";
const CHAIN: &str = "atomicity access
var m: int = 0
var f: atomic int = 0
process { m := 42; f.store(1, #s) }
process { let r = f.fetch_add(1, #u) }
process { if f.load(#l) == 2 { assert m == 42 } }";
const GUARDED: &str = "atomicity access
var m: int = 0
var f: atomic int = 0
process { m := 1; f.store(1, #s) }
process { f.load(#l) == 1 |> f.store(2, #s); m := m + 1 }";

fn marks(template: &str) -> Vec<&'static [&'static str]> {
    let marks = template.split('#').skip(1);
    marks
        .map(|rest| match rest.as_bytes()[0] {
            b'l' => &LOAD[..],
            b's' => &STORE[..],
            _ => &UPDATE[..],
        })
        .collect()
}

fn filled(template: &str, orders: &[&str]) -> String {
    let mut parts = template.split('#');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (part, order) in parts.zip(orders) {
        text += order;
        text += &part[1..];
    }
    text
}

/// Returns all assignments of orders.
fn assignments(marks: &[&'static [&'static str]]) -> Vec<Vec<&'static str>> {
    marks.iter().fold(vec![Vec::new()], |all, orders| {
        let longer = |one: &Vec<&'static str>| {
            let one = one.clone();
            orders
                .iter()
                .map(move |order| [&one[..], &[*order]].concat())
        };
        all.iter().flat_map(longer).collect()
    })
}

fn options(memory: Memory) -> Options {
    Options {
        memory: Some(memory),
        ..Options::default()
    }
}

fn load(source: &str) -> Program {
    Program::load("orders.maz", source, &[]).expect("a program")
}

fn passes(source: &str, memory: Memory) -> bool {
    let record = load(source).check(&options(memory), &mut quietly());
    record.expect("a verdict").verdict == Verdict::Verified
}

fn orders(source: &str, memory: Memory) -> OrdersRecord {
    let orders = load(source).orders(&options(memory), &mut quietly());
    orders.expect("orders")
}

fn advised(access: &AdvisedAccess) -> &str {
    access.advised.as_deref().expect("decided")
}

/// Whether each order is at least as strong.
fn includes(strong: &[&str], weak: &[&str]) -> bool {
    let stronger = |order| match order {
        "relaxed" => &UPDATE[..],
        "acquire" => &["acquire", "acq_rel", "seq_cst"],
        "release" => &["release", "acq_rel", "seq_cst"],
        "acq_rel" => &["acq_rel", "seq_cst"],
        _ => &["seq_cst"],
    };
    let mut pairs = strong.iter().zip(weak);
    pairs.all(|(strong, weak)| stronger(*weak).contains(strong))
}

#[test]
fn advice_is_that_of_all_assignments() {
    let (mut strengthened, mut weakened) = (0, 0);
    for (template, memory) in [
        (SB, Memory::Rc11),
        (SB, Memory::Tso),
        (MP, Memory::Rc11),
        (CHAIN, Memory::Rc11),
        (GUARDED, Memory::Rc11),
    ] {
        let all = assignments(&marks(template));
        let good: Vec<&Vec<&str>> = all
            .iter()
            .filter(|one| passes(&filled(template, one), memory))
            .collect();
        for written in &all {
            let found = orders(&filled(template, written), memory).orders;
            let new: Vec<&str> = found.accesses.iter().map(advised).collect();
            assert_eq!(new.len(), written.len(), "{template}");
            let to: Vec<usize> = (0..new.len())
                .filter(|&at| new[at] != written[at])
                .collect();
            let context = format!("{template}\n{written:?} -> {new:?} under {memory}");
            if good.contains(&written) {
                // No passing assignment is weaker.
                assert!(matches!(found.advice, Advice::Weaken | Advice::Keep));
                assert!(good.iter().any(|one| **one == new), "{context}");
                let weaker = |one: &&&Vec<&str>| ***one != new && includes(&new, one);
                assert_eq!(good.iter().find(weaker), None, "{context}");
                weakened += usize::from(!to.is_empty());
                continue;
            }
            let stronger = good.iter().filter(|one| includes(one, written));
            let changes = |one: &Vec<&str>| -> Vec<usize> {
                (0..one.len())
                    .filter(|&at| one[at] != written[at])
                    .collect()
            };
            let sets = stronger.clone().map(|one| changes(one));
            let least = sets.min_by_key(|set| (set.len(), set.clone()));
            match least {
                None => assert_eq!(found.advice, Advice::Helpless, "{context}"),
                Some(least) => {
                    assert_eq!(found.advice, Advice::Strengthen, "{context}");
                    assert_eq!(to, least, "{context}");
                    assert!(good.iter().any(|one| **one == new), "{context}");
                    let weaker = |one: &&&Vec<&str>| ***one != new && includes(&new, one);
                    assert_eq!(stronger.clone().find(weaker), None, "{context}");
                    strengthened += 1;
                }
            }
        }
    }
    assert!(
        strengthened > 50 && weakened > 20,
        "{strengthened}, {weakened}"
    );
}

#[test]
fn a_failed_compare_exchange_has_an_order_of_its_own() {
    let source = "atomicity access
var m: int = 0
var f: atomic int = 0
process { m := 42; f.store(2, release) }
process { let won = f.compare_exchange(0, 1, relaxed, relaxed); if !won { assert m == 42 } }";
    let found = orders(source, Memory::Rc11).orders;
    assert_eq!(found.advice, Advice::Strengthen);
    let update = &found.accesses[1];
    assert_eq!(update.access, "compare_exchange");
    assert_eq!(advised(update), "relaxed");
    assert_eq!(update.advised_failure.as_deref(), Some("acquire"));
}

#[test]
fn violations_that_no_order_removes_are_reported() {
    let source = "atomicity access  var x: atomic int = 0
process { x.store(1, relaxed) }  process { assert x.load(relaxed) == 0 }";
    let found = orders(source, Memory::Rc11).orders;
    assert_eq!(found.advice, Advice::Helpless);
    assert!(found.accesses.iter().all(|access| !access.changes()));
}

#[test]
fn a_fence_that_orders_nothing_is_not_needed() {
    let source = "atomicity access  var x: atomic int = 0
process { x.store(1, relaxed); fence(seq_cst); assert x.load(relaxed) == 1 }";
    let found = orders(source, Memory::Rc11).orders;
    assert_eq!(found.advice, Advice::Weaken);
    assert_eq!(advised(&found.accesses[1]), "relaxed");
}

#[test]
fn orders_are_refused_in_programs_without_orders() {
    let program = load("atomicity access  var x: int = 0  process { x := 1 }");
    let refused = |memory| program.orders(&options(memory), &mut quietly());
    assert_eq!(refused(Memory::Sc), Err(Refused::NoOrders));
    assert_eq!(refused(Memory::Rc11), Err(Refused::NothingOrdered));
}

#[test]
fn a_limit_leaves_orders_open() {
    let sb = filled(SB, &["relaxed"; 4]);
    for steps in [1, 40, 100] {
        let limits = Limits {
            steps: Some(steps),
            ..Limits::default()
        };
        let options = Options {
            limits,
            ..options(Memory::Rc11)
        };
        let whole = load(&sb).orders(&options, &mut quietly()).expect("orders");
        assert_eq!(whole.orders.advice, Advice::Open, "{steps}");
        assert!(!whole.record.scope.bounds.is_empty(), "{steps}");
        let open = |access: &AdvisedAccess| access.advised.is_none();
        assert!(whole.orders.accesses.iter().all(open), "{steps}");
    }
}

#[test]
fn check_lists_the_orders_that_would_remove_a_violation() {
    let record = |source: &str| {
        let record = load(source).check(&options(Memory::Rc11), &mut quietly());
        record.expect("a verdict")
    };
    let weak = record(&filled(MP, &["relaxed", "acquire"]));
    let [store] = &weak.stronger[..] else {
        panic!("one access is too weak: {:?}", weak.stronger);
    };
    assert_eq!((store.place.line, advised(store)), (4, "release"));
    assert!(
        record(&filled(MP, &["release", "acquire"]))
            .stronger
            .is_empty()
    );
    // No order helps.
    let wrong = filled(MP, &["release", "acquire"]).replace("m == 42", "m == 41");
    assert_eq!(record(&wrong).verdict, Verdict::Violated);
    assert!(record(&wrong).stronger.is_empty());
}
