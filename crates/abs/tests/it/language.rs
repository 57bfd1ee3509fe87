//! Tests of the language: one run of each program, and its output.

use crate::common::machine;
use mazurka_abs::{Machine, Settings, load};
use mazurka_core::{Execution, Narrator, Status};

/// Runs the program; the next step is always made by the first task that can continue.
fn finish(machine: &mut Machine) {
    for _ in 0..10_000 {
        let tasks = machine.processes().in_order().to_vec();
        let Some(&first) = tasks
            .iter()
            .find(|&&task| machine.status(task) == Status::Ready)
        else {
            return;
        };
        machine.step(first, &[]).expect("it is ready");
    }
    panic!("it does not end");
}

fn output(machine: &Machine) -> String {
    let all = machine.bindings(false);
    let printed = all.into_iter().find(|binding| binding.name == "output");
    printed.map_or_else(String::new, |binding| binding.value)
}

/// Asserts the output of a program.
#[track_caller]
fn prints(source: &str, expected: &str) {
    let mut machine = machine(source, &[]);
    finish(&mut machine);
    assert!(machine.is_final(), "{:?}", machine.waiting());
    assert_eq!(output(&machine), format!("{expected:?}"));
}

/// Asserts the output of the statements of a main block.
#[track_caller]
fn shows(statements: &str, expected: &str) {
    prints(&format!("module M; {{ {statements} }}"), expected);
}

#[test]
fn numbers() {
    shows(
        "Int x = 9223372036854775807; println(toString(x + 1));",
        "9223372036854775808\n",
    );
    shows(
        "Int x = 4000000000; println(toString(x * x * x - x * x * x + 1));",
        "1\n",
    );
    shows(
        "Rat r = 1 / 3; println(toString(r + 1 / 6)); println(toString(6 / 3));",
        "1/2\n2\n",
    );
    shows(
        "println(toString(truncate(7 / 2))); println(toString(-7 % 3));",
        "3\n-1\n",
    );
    shows(
        "Float f = 1.5; println(toString(f * 2.0)); println(toString(floor(f)));",
        "3.0\n1\n",
    );
    shows(
        "println(toString(pow(2, 100)));",
        "1267650600228229401496703205376\n",
    );
    shows(
        "println(toString(max(3, 5)) + toString(min(\"a\", \"b\")));",
        "5a\n",
    );
}

#[test]
fn texts_and_data() {
    shows(
        "Int n = 3; println(`n is $n$, next $n + 1$`);",
        "n is 3, next 4\n",
    );
    shows(
        "println(substr(\"hello\", 1, 3)); println(toString(strlen(\"hello\")));",
        "ell\n5\n",
    );
    shows(
        "println(toString(list[Just(1), Nothing]));",
        "list[Just(1),Nothing]\n",
    );
    shows(
        "println(toString(Pair(\"a\", True)));",
        "Pair(\"a\",True)\n",
    );
    shows(
        "println(toString(elements(set[3, 1, 2, 1])));",
        "list[1,2,3]\n",
    );
    shows("println(toString(set[1, 2] == set[2, 1]));", "True\n");
    shows(
        "Map<String, Int> m = map[Pair(\"a\", 1)]; m = put(m, \"b\", 2); println(toString(lookupDefault(m, \"b\", 0)) + toString(isJust(lookup(m, \"c\"))));",
        "2False\n",
    );
    shows(
        "println(toString(length(concatenate(list[1], list[2, 3]))));",
        "3\n",
    );
    shows("println(toString(nth(reverse(list[1, 2, 3]), 0)));", "3\n");
}

#[test]
fn functions_that_take_functions() {
    shows(
        "println(toString(map((Int x) => x + 1)(list[1, 2])));",
        "list[2,3]\n",
    );
    shows(
        "Int k = 10; println(toString(filter((Int x) => x > k)(list[5, 15])));",
        "list[15]\n",
    );
    // A capture in one branch or scope leaves the parameters in scope for the rest.
    for outer in ["", "Int x = 100; "] {
        for body in [
            "case x { 0 => outer | n => x + n }",
            "case x { 3 => x + 3 | _ => let (Int z) = outer in z + x }",
            "(let (Int z) = outer in z - outer) + (if x == 0 then 5 else 2 * x)",
        ] {
            let function = format!("(Int x) => {body}");
            let main =
                format!("Int outer = 5; {outer}println(toString(map({function})(list[0, 3])));");
            shows(&main, "list[5,6]\n");
        }
    }
    shows(
        "println(toString(foldl((Int x, Int sum) => x + sum)(list[1, 2, 3], 0)));",
        "6\n",
    );
    prints(
        "module M; def Int twice(Int n) = 2 * n; def Int applied(f)(Int n) = f(f(n)); { println(toString(applied(twice)(3))); }",
        "12\n",
    );
    prints(
        "module M; data Tree<A> = Leaf | Node(Tree<A> l, A v, Tree<A> r);
         def Int sum(Tree<Int> t) = case t { Leaf => 0 | Node(l, v, r) => sum(l) + v + sum(r) };
         { Tree<Int> t = Node(Leaf, 1, Node(Leaf, 2, Leaf)); println(toString(sum(t)) + toString(v(t))); }",
        "31\n",
    );
}

#[test]
fn patterns_compare_with_bound_variables() {
    shows(
        "Int x = 2; Pair<Int, Int> p = Pair(2, 5); switch (p) { Pair(x, y) => println(toString(y)); _ => println(\"no\"); }",
        "5\n",
    );
    shows(
        "Int x = 3; Pair<Int, Int> p = Pair(2, 5); switch (p) { Pair(x, y) => println(toString(y)); _ => println(\"no\"); }",
        "no\n",
    );
    shows(
        "Int r = case \"b\" { \"a\" => 1; \"b\" => 2; }; println(toString(r));",
        "2\n",
    );
    shows(
        "Int r = when 1 > 2 then 1 else 3; println(toString(r));",
        "3\n",
    );
}

#[test]
fn a_tilde_negates_in_older_programs() {
    shows("if (~(1 > 2)) println(\"no\");", "no\n");
}

#[test]
fn exceptions() {
    shows(
        "try { Rat z = 1 / 0; } catch { DivisionByZeroException => println(\"zero\"); } finally { println(\"last\"); }",
        "zero\nlast\n",
    );
    shows(
        "try { Int x = head(Nil); } catch _ => println(\"no head\");",
        "no head\n",
    );
    prints(
        "module M; exception Odd(Int n); interface I { Int half(Int n); }
         class C implements I {
           Int half(Int n) { try { if (n % 2 == 1) { throw Odd(n); } return truncate(n / 2); } catch { Odd(3) => { return 0; } } finally { println(\"done\"); } }
         }
         { I i = new C(); Int a = i.half(4); Int b = i.half(3); println(toString(a) + toString(b)); }",
        "done\ndone\n20\n",
    );
}

/// Returns the failures of the first run of a program in which `D` uses an object whose method
/// `bad` throws an exception.
fn failures(statements: &str, thrown: &str) -> (String, Vec<String>) {
    let source = format!(
        "module M; interface I {{ Int bad(); }} class C implements I {{ Int bad() {{ {thrown} return 1; }} }}
         class D(I i) {{ Fut<Int> last = null; Unit run() {{ {statements} }} }}
         {{ I i = new C(); new D(i); }}"
    );
    let mut machine = machine(&source, &[]);
    finish(&mut machine);
    let mishaps = machine.events().iter().flat_map(|event| &event.mishaps);
    let messages = mishaps.map(|mishap| machine.explain(mishap).0).collect();
    (output(&machine), messages)
}

#[test]
fn an_exception_that_leaves_a_task_reaches_the_tasks_that_take_its_result() {
    let caught = "catch { NullPointerException => println(\"caught\"); }";
    for asks in [
        "Fut<Int> f = i!bad(); await f?; Int x = f.get;",
        "Int x = i.bad();",
        "Int x = await i!bad();",
        "Fut<Int> f = i!bad(); List<Fut<Int>> all = list[f]; Fut<Int> g = head(all); Int x = g.get;",
        "last = i!bad(); Fut<Int> g = last; Int x = g.get;",
    ] {
        let (output, messages) = failures(
            &format!("try {{ {asks} }} {caught}"),
            "throw NullPointerException;",
        );
        assert_eq!(output, "\"caught\\n\"", "{asks}");
        assert!(messages.is_empty(), "{asks}: {messages:?}");
        let (_, messages) = failures(asks, "throw NullPointerException;");
        assert_eq!(messages, ["NullPointerException is not caught in D2.run"]);
    }
}

#[test]
fn an_exception_that_no_task_reads_is_a_failure() {
    for ignores in [
        "i!bad();",
        "Fut<Int> f = i!bad();",
        "Fut<Int> f = i!bad(); await f?;",
        "await i!bad();",
    ] {
        let (_, messages) = failures(ignores, "throw NullPointerException;");
        assert_eq!(
            messages,
            ["NullPointerException is not caught in C1.bad"],
            "{ignores}"
        );
    }
}

#[test]
fn a_false_assertion_is_a_failure_even_if_it_is_caught() {
    let (_, messages) = failures("try { Int x = i.bad(); } catch _ => skip;", "assert 1 > 2;");
    assert_eq!(messages, ["an assertion fails in C1.bad"]);
}

#[test]
fn an_exception_kills_its_object_unless_it_recovers() {
    let source = "module M; interface I { Int bad(); Int good(); }
         class C implements I {
           Int bad() { throw NullPointerException; }
           Int good() { return 1; }
         }
         {
           I i = new C();
           try { Int x = i.bad(); } catch NullPointerException => println(\"bad\");
           try { Int x = i.good(); println(toString(x)); } catch ObjectDeadException => println(\"dead\");
         }";
    prints(source, "bad\ndead\n");
    let recovers = source.replace(
        "class C implements I {",
        "class C implements I { recover { NullPointerException => println(\"recovers\"); }",
    );
    prints(&recovers, "recovers\nbad\n1\n");
    let other = recovers.replace(
        "recover { Null",
        "recover { DivisionByZeroException => skip; Object",
    );
    prints(&other.replace("ObjectPointer", "ObjectDead"), "bad\ndead\n");
    let dies = source.replace("throw NullPointer", "die NullPointer");
    prints(&dies, "bad\ndead\n");
}

#[test]
fn a_cast_that_does_not_fit_gives_null() {
    prints(
        "module M; interface I { } interface J { } class C implements I { }
         { I i = new C(); J j = i as J; println(toString(j == null)); }",
        "True\n",
    );
}

#[test]
fn ranges_include_their_end() {
    shows("println(toString(range(1, 1)));", "list[1]\n");
    shows("println(toString(range(2, 1)));", "list[]\n");
}

#[test]
fn data_is_ordered_by_the_names_of_constructors() {
    prints(
        "module M; data D = Small | Large(Int n);
         { println(toString(Large(2) < Small) + toString(Large(1) < Large(2)) + toString(max(Small, Large(9)))); }",
        "TrueTrueSmall\n",
    );
    shows("println(toString(Nil > list[1]));", "True\n");
}

#[test]
fn sets_and_maps_are_written_by_their_elements() {
    shows(
        "println(toString(set[2, 1, 2])); println(toString(map[Pair(1, \"a\")])); println(toString(EmptySet));",
        "set[1,2]\nmap[Pair(1,\"a\")]\nset[]\n",
    );
    shows(
        "switch (set[1]) { Insert(x, _) => println(toString(x)); EmptySet => skip; }",
        "1\n",
    );
}

#[test]
fn objects_and_cogs() {
    prints(
        "module M;
         interface Cell { Unit put(Int n); Int read(); Cell other(); }
         class CellImpl(Int n) implements Cell {
           Cell mine = null;
           { n = n + 1; mine = new local Helper(this); }
           Unit put(Int k) { n = k; }
           Int read() { Int k = mine.read(); return n + k; }
           Cell other() { return mine; }
         }
         class Helper(Cell c) implements Cell {
           Unit put(Int k) { c.put(k); }
           Int read() { return 100; }
           Cell other() { return this; }
         }
         { Cell c = new CellImpl(1); Int a = c.read(); Cell o = c.other(); o.put(7); Int b = c.read(); println(toString(a) + \" \" + toString(b)); }",
        "102 107\n",
    );
    prints(
        "module M; interface A { } interface B extends A { } class C implements B { }
         { A a = new C(); Bool yes = a implements B; B b = a as B; println(toString(yes) + toString(b == a) + toString(b == null)); }",
        "TrueTrueFalse\n",
    );
    shows(
        "Int i = 0; while (i < 2) { i = i + 1; } foreach (x, at in list[\"a\", \"b\"]) { println(`$at$$x$`); } println(toString(i));",
        "0a\n1b\n2\n",
    );
}

#[test]
fn modules_keep_what_they_do_not_export() {
    let source = "module A; export f, T, X; data T = X | Y; def Int f() = 1; def Int g() = 2;
                  module B; import f, X from A; import * from A; { T t = X; println(toString(A.f() + f())); }";
    prints(source, "2\n");
    let hidden = source.replace("import f, X", "import g, X");
    let mistakes = load(&hidden, &Settings::default()).unwrap_err();
    assert_eq!(mistakes[0].code, "A0206");
}

#[test]
fn modules_pass_on_what_they_import() {
    let source = "module A; export X, f; data X = X; def Int f() = 1;
                  module B; export * from A; import * from A;
                  module C; import f from B; type Y = B.X; { println(toString(f())); }";
    prints(source, "1\n");
    let named = source
        .replace("export * from", "export f from")
        .replace("type Y = B.X;", "");
    prints(&named, "1\n");
    let mistakes = load(&named.replace("import f", "import X"), &Settings::default()).unwrap_err();
    assert_eq!(mistakes[0].code, "A0206");
}

#[test]
fn only_imported_names_of_the_standard_module_are_visible() {
    let source = "module A; import Unit from ABS.StdLib; { println(\"a\"); }";
    let mistakes = load(source, &Settings::default()).unwrap_err();
    assert_eq!(mistakes[0].code, "A0235");
    prints(
        &source.replace("import Unit", "import Unit, println"),
        "a\n",
    );
}

#[test]
fn an_init_block_calls_atomic_methods() {
    let source = "module M; interface J { [Atomic] Unit set(Int n); Int read(); }
         class D implements J { Int n = 0; [Atomic] Unit set(Int k) { n = k; } Int read() { return n; } }
         class C(J j) { { j.set(3); this.note(); } [Atomic] Unit note() { println(\"note\"); } Unit run() { println(\"run\"); } }
         { J j = new D(); new C(j); Int n = await j!read(); println(toString(n)); }";
    let machine = &mut machine(source, &[]);
    finish(machine);
    assert!(machine.is_final(), "{:?}", machine.waiting());
    let printed = output(machine);
    assert!(
        printed.contains('3') && printed.starts_with("\"note"),
        "{printed}"
    );
    let waits = source.replace("[Atomic] Unit note()", "Unit note()");
    assert_eq!(
        load(&waits, &Settings::default()).unwrap_err()[0].code,
        "A0237"
    );
}

#[test]
fn a_loop_that_only_suspends_waits() {
    use crate::common::explore;
    use mazurka_core::Limits;
    use mazurka_explore::Algorithm;
    let source = "module M; interface I { Unit spin(); Unit stop(); }
         class C implements I { Bool go = True; Unit spin() { while (go) { suspend; } } Unit stop() { go = False; } }
         { I i = new C(); i!spin(); i!stop(); }";
    for algorithm in [Algorithm::Optimal, Algorithm::CONTEXT, Algorithm::Stateful] {
        let found = explore(&mut machine(source, &[]), algorithm, &Limits::default());
        assert!(
            found.bounds.is_empty() && found.deadlock.is_none(),
            "{algorithm}"
        );
    }
}

#[test]
fn destinies_and_exceptions_are_types() {
    prints(
        "module M; exception Odd(Int number); interface I { Int m(); Bool same(); }
         class C implements I {
           Destiny mine = null; Fut<Int> f = null;
           Int m() { mine = destiny; return 3; }
           Bool same() { f = this!m(); await f?; return mine == f; }
         }
         { I i = new C(); Bool b = await i!same(); Odd e = Odd(7); Destiny d = i!m(); d.get;
           println(toString(b) + toString(number(e))); }",
        "True7\n",
    );
    let wrong = "module M; { Destiny d = 42; }";
    assert_eq!(
        load(wrong, &Settings::default()).unwrap_err()[0].code,
        "A0220"
    );
}

#[test]
fn let_hides_other_variables() {
    shows(
        "Int x = 1; Int y = let (Int x) = x + 1 in x * 10; println(toString(x + y));",
        "21\n",
    );
}

#[test]
fn random_is_explored_within_expressions() {
    use crate::common::explore;
    use mazurka_core::Limits;
    use mazurka_explore::Algorithm;
    let source = "module M; class C { Int f = 2 + random(2); Unit run() { println(toString(f * random(3))); } } { new C(); }";
    let found = explore(
        &mut machine(source, &[]),
        Algorithm::Optimal,
        &Limits::default(),
    );
    // 2 or 3, times 0, 1 or 2.
    assert_eq!((found.counts.executions, found.seen.observed.len()), (6, 6));
    let waits = "module M; { await random(2) == 1; }";
    assert_eq!(
        load(waits, &Settings::default()).unwrap_err()[0].code,
        "A0230"
    );
}

/// The names that `ABS.StdLib` exports, according to the manual.
const STANDARD: &str =
    "Destiny Unit String Int Rat Float Bool Fut Exception Object True False and not
    max min abs pow sqrt_newton exp_newton random truncate float rat floor ceil sqrt log exp
    numerator denominator Maybe Nothing Just isJust fromJust fromJustDefault Either Left Right left
    right isLeft isRight Pair fst snd Triple fstT sndT trdT trd Set EmptySet Insert set contains
    emptySet size elements union intersection difference isSubset insertElement remove take
    takeMaybe hasNext next List Nil Cons head tail list length isEmpty nth without concatenate
    appendright reverse copy range Map EmptyMap InsertAssoc map emptyMap removeKey values keys
    entries lookup lookupMaybe lookupUnsafe lookupDefault insert put lookupReverse
    lookupReverseDefault toString intToString substr strlen Time timeValue currentms now
    timeDifference timeLessThan Duration InfDuration durationValue isDurationInfinite addDuration
    subtractDuration durationLessThan subtractFromDuration lowlevelDeadline deadline Deadline
    Critical Spec ObjInv Ensures Requires WhileInv Resolves Local Role Succeeds Overlaps Annotation
    TypeAnnotation LocationType Far Near Somewhere Infer NullableType Nonnull Nullable COG Plain
    Final Atomic Readonly HTTPName HTTPCallable DomainClass Expansion ExpansionCall filter foldl
    foldr watch watchEx println print DivisionByZeroException AssertionFailException
    PatternMatchFailException NullPointerException StackOverflowEcxeption HeapOverflowException
    KeyboardInterruptException ObjectDeadException";

#[test]
fn every_name_of_the_standard_library_exists_or_is_refused() {
    for name in STANDARD.split_whitespace() {
        let source = format!("module M; import {name} from ABS.StdLib; {{ skip; }}");
        let loaded = load(&source, &Settings::default());
        assert!(loaded.is_ok(), "{name}: {loaded:?}");
    }
    for (call, code) in [
        ("Int x = ms_since_model_start();", "A0301"),
        ("String x = readln();", "A0304"),
        ("DeploymentComponent x = thisDC();", "A0302"),
    ] {
        let source = format!("module M; {{ {call} }}");
        let mistakes = load(&source, &Settings::default()).unwrap_err();
        assert_eq!(mistakes[0].code, code, "{call}");
    }
}

#[test]
fn long_lists_and_deep_recursion_do_not_use_up_the_stack() {
    shows("println(toString(length(range(1, 50000))));", "50000\n");
    shows(
        "List<Int> a = range(0, 30000); List<Int> b = range(0, 30000); println(toString(a == b) + toString(a < b));",
        "TrueFalse\n",
    );
}

#[test]
fn endless_work_is_given_up() {
    let mut machine = machine(
        "module M; def Int f(Int n) = f(n + 1); { Int x = f(0); }",
        &[],
    );
    finish(&mut machine);
    let main = machine.processes().in_order()[0];
    assert_eq!(machine.status(main), Status::Lost);
    let doubled =
        "module M; { String s = \"ab\"; Int i = 0; while (i < 100) { s = s + s; i = i + 1; } }";
    let mut machine = crate::common::machine(doubled, &[]);
    finish(&mut machine);
    assert_eq!(machine.status(main), Status::Lost);
    let squared = "module M; { Int n = 3; Int i = 0; while (i < 1000) { n = n * n; i = i + 1; } }";
    let mut machine = crate::common::machine(squared, &[]);
    finish(&mut machine);
    assert_eq!(machine.status(main), Status::Lost);
}

#[test]
fn time_can_be_ignored() {
    let source = "module M; class C { Unit run() { duration(1, 2); await duration(1, 1); println(\"done\"); } } { new C(); }";
    let settings = Settings {
        ignore_time: true,
        ..Settings::default()
    };
    let code = load(source, &settings).expect("time is ignored");
    let mut machine = Machine::new(code.into(), 1_000_000);
    finish(&mut machine);
    assert_eq!(output(&machine), "\"done\\n\"");
    assert_eq!(machine.events().len(), 4);
}

#[test]
fn only_the_scheduling_of_one_object_varies() {
    let source = "module M; interface I { Unit set(Int n); }
                  class Cell implements I { Int n = 0; Unit set(Int k) { n = k; } }
                  class Sender(I a, I b, Int k) { Unit run() { a!set(k); b!set(k); } }
                  { I a = new Cell(); I b = new Cell(); new Sender(a, b, 1); new Sender(a, b, 2); }";
    let finals = |object: Option<&str>| {
        let settings = Settings {
            object: object.map(str::to_owned),
            ..Settings::default()
        };
        let code = load(source, &settings).expect("a program");
        let mut machine = Machine::new(code.into(), 1_000_000);
        let all: Vec<u64> = mazurka_explore::Algorithm::ALL
            .iter()
            .map(|&algorithm| {
                let found = crate::common::explore(&mut machine, algorithm, &Default::default());
                found.counts.final_states
            })
            .collect();
        assert!(all.iter().all(|&count| count == all[0]), "{all:?}");
        all[0]
    };
    assert_eq!(finals(None), 4);
    assert_eq!(finals(Some("Cell1")), 2);
    assert_eq!(finals(Some("Cell")), 4);
    assert_eq!(finals(Some("Sender3")), 1);
}

/// Returns the code of the first mistake in a program.
fn first_code(source: &str) -> &'static str {
    load(source, &Settings::default()).expect_err("it is wrong")[0].code
}

#[test]
fn a_function_that_takes_functions_calls_itself_without_them() {
    let source = "module M; export *;
        def List<B> both<A, B>(f)(List<A> l) = case l { Nil => Nil | Cons(x, xs) => Cons(f(x), both(xs)) };
        def List<B> map<A, B>(f)(List<A> l) = case l { Nil => Nil | Cons(x, xs) => Cons(f(x), map(xs)) };
        { println(toString(both((Int x) => x * 2)(list[1, 2])));
          println(toString(map((Int x) => x + 1)(list[1, 2]))); }";
    prints(source, "list[2,4]\nlist[2,3]\n");
    // A recursive call passes on the functions of the outer call, so its types must be the same.
    let source = source.replace("Cons(f(x), both(xs))", "Cons(f(x), both(list[True]))");
    assert_eq!(first_code(&source), "A0220");
}

#[test]
fn domain_classes_are_texts() {
    let fine = "module M; [DomainClass: when i > 0 then \"a\" else \"b\"] class C(Int i) { } { }";
    assert!(load(fine, &Settings::default()).is_ok());
    assert_eq!(
        first_code("module M; [DomainClass: 15] class C { } { }"),
        "A0208"
    );
    assert_eq!(
        first_code("module M; [DomainClass: x] class C { } { }"),
        "A0208"
    );
}

#[test]
fn types_that_double_are_given_up() {
    let nested = (0..60).fold("1".to_owned(), |inner, _| format!("dup({inner})"));
    let source = format!(
        "module M; def Pair<A, A> dup<A>(A x) = Pair(x, x); def Bool same<A>(A x, A y) = True;
         {{ Bool b = same({nested}, {nested}); }}"
    );
    assert_eq!(first_code(&source), "A0112");
}
