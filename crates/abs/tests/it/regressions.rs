//! Tests minimal programs for defects that were found by attempts to mislead the tool.

use crate::common::{explore, machine};
use mazurka_abs::{Machine, Observed, Settings, load};
use mazurka_core::{Execution, Limits, Narrator, ProcessId, Status};
use mazurka_explore::{Algorithm, Findings};

/// Asserts that all engines agree on a program, and returns their findings.
#[track_caller]
fn found(source: &str) -> Findings {
    let limits = Limits {
        depth: Some(40),
        ..Limits::default()
    };
    let mut all = Algorithm::ALL.iter().map(|&algorithm| {
        let found = explore(&mut machine(source, &[]), algorithm, &limits);
        (algorithm, found)
    });
    let (_, first) = all.next().expect("an engine");
    for (algorithm, found) in all {
        let results = |findings: &Findings| findings.seen.observed.len();
        assert_eq!(results(&found), results(&first), "{algorithm}");
        let failed = |findings: &Findings| !findings.failures.is_empty();
        assert_eq!(failed(&found), failed(&first), "{algorithm}");
    }
    first
}

/// Returns the value of a binding in the run that always continues with the first ready task.
fn bound(source: &str, name: &str) -> Option<String> {
    let mut machine = machine(source, &[]);
    finish(&mut machine);
    let all = machine.bindings(false);
    let binding = all.into_iter().find(|binding| binding.name == name)?;
    Some(binding.value)
}

fn finish(machine: &mut Machine) {
    let ready = |machine: &Machine| {
        let tasks = machine.processes().in_order().iter();
        { tasks }
            .copied()
            .find(|&task| machine.status(task) == Status::Ready)
    };
    while let Some(task) = ready(machine) {
        machine.step(task, &[]).expect("it is ready");
    }
}

#[test]
fn a_loop_that_asks_for_random_numbers_is_no_guard() {
    for condition in ["random(2) == 0", "x == 0 && random(2) == 0"] {
        let source = format!("module A; {{ Int x = 0; while ({condition}) {{ suspend; }} }}");
        let mut machine = machine(&source, &[]);
        let main = ProcessId(0);
        machine.step(main, &[0]).expect("another round");
        assert_eq!(machine.status(main), Status::Ready);
        machine.step(main, &[1]).expect("the last round");
        assert!(machine.is_final(), "{condition}");
        assert_eq!(found(&source).seen.observed.len(), 1);
    }
}

#[test]
fn a_recovery_block_does_not_hide_a_false_assertion() {
    let source = |statement: &str, recovery: &str| {
        format!(
            "module A; exception E1; interface I {{ Unit m(); }}
             class C implements I {{ recover {{ _ => {recovery} }} Unit m() {{ {statement} }} }}
             {{ I c = new C(); c!m(); }}"
        )
    };
    let failures = |statement, recovery| found(&source(statement, recovery)).failures.len();
    assert_eq!(failures("assert False;", "skip;"), 1);
    assert_eq!(failures("throw E1;", "assert False;"), 1);
    assert_eq!(failures("throw E1;", "skip;"), 0);
    assert_eq!(failures("throw E1;", "throw E1;"), 1);
}

#[test]
fn a_recovery_block_that_names_false_assertions_handles_them() {
    let source = |branches: &str| {
        format!(
            "module A; exception E1; interface I {{ Unit m(); Int n(); }}
             class C implements I {{
               Int n = 0;
               recover {{ {branches} }}
               Unit m() {{ assert False; }}
               Int n() {{ return n; }}
             }}
             {{ I c = new C(); await c!m(); Int k = await c!n(); println(toString(k)); }}"
        )
    };
    let named = source("AssertionFailException => n = 7;");
    assert!(found(&named).failures.is_empty());
    assert_eq!(bound(&named, "output").as_deref(), Some("\"7\\n\""));
    let thrown = source("AssertionFailException => throw E1;");
    let others = [
        "E1 => skip; AssertionFailException => throw E1;",
        "_ => n = 7;",
        "_ => n = 7; AssertionFailException => n = 8;",
        "x => n = 7; AssertionFailException => n = 8;",
        "E1 => n = 7;",
        "x => n = 7;",
    ];
    for source in others.map(source).iter().chain([&thrown]) {
        assert!(!found(source).failures.is_empty(), "{source}");
    }
    // In the task that takes the value of the future, the exception is a failure again.
    let taken = named.replace("await c!m();", "Fut<Unit> f = c!m(); f.get;");
    assert_eq!(found(&taken).failures.len(), 1);
}

#[test]
fn an_exception_kills_the_object_of_its_task_and_no_other() {
    // The manual: the current process terminates, and its object recovers or dies. A method called
    // within the cog is a part of the caller's process.
    let source = |body: &str| {
        format!(
            "module A; exception E1; interface I {{ Unit bad(); Int ok(); Unit m(); }}
             class C(I other) implements I {{
               Unit bad() {{ throw E1; }}
               Int ok() {{ return 1; }}
               Unit m() {{ {body} }}
             }}
             {{
               I d = new C(null); I c = new C(d); Fut<Unit> f = c!m();
               try {{ f.get; }} catch {{ E1 => println(\"E1\"); _ => println(\"another\"); }}
               try {{ Int k = await c!ok(); println(\"c lives\"); }} catch {{ _ => skip; }}
             }}"
        )
    };
    let output = |body: &str| bound(&source(body), "output");
    let self_call = "try { this.bad(); } catch { E1 => println(\"caught\"); }";
    assert_eq!(
        output(self_call).as_deref(),
        Some("\"caught\\nc lives\\n\"")
    );
    let local = "I o = new local C(null);
                 try { o.bad(); } catch { E1 => println(\"caught\"); }
                 Int k = o.ok(); println(\"o lives\");";
    assert_eq!(
        output(local).as_deref(),
        Some("\"caught\\no lives\\nc lives\\n\"")
    );
    // In another cog the call is a separate process, which kills its object.
    let remote = "try { other.bad(); } catch { E1 => println(\"caught\"); }
                  try { Int k = other.ok(); } catch { ObjectDeadException => println(\"dead\"); }";
    assert_eq!(
        output(remote).as_deref(),
        Some("\"caught\\ndead\\nc lives\\n\"")
    );
    // Unhandled, the exception ends the task of the caller, whose object dies.
    let local = "I o = new local C(null); o.bad();";
    assert_eq!(output(local).as_deref(), Some("\"E1\\n\""));
}

#[test]
fn exceptions_of_a_recovery_block_are_lost() {
    let source = |recovery: &str| {
        format!(
            "module A; exception E1; exception E2; interface I {{ Unit m(); }}
             class C implements I {{
               recover {{ E1 => {{ println(\"a\"); println(\"b\"); {recovery} }} }}
               Unit m() {{ throw E1; }}
             }}
             {{
               I c = new C(); Fut<Unit> f = c!m();
               try {{ f.get; }} catch {{ E1 => println(\"E1\"); _ => println(\"another\"); }}
             }}"
        )
    };
    for (recovery, dead) in [("throw E2;", true), ("skip;", false)] {
        let source = source(recovery);
        assert_eq!(
            bound(&source, "output").as_deref(),
            Some("\"a\\nb\\nE1\\n\"")
        );
        assert_eq!(bound(&source, "C1").is_some(), dead);
        assert!(found(&source).failures.is_empty());
    }
}

#[test]
fn die_kills_the_object_whose_method_has_it() {
    let source = |main: &str| {
        format!(
            "module A; exception E1; interface I {{ Unit k(); Unit ok(); }}
             class C implements I {{
               Unit k() {{ this.l(); }} Unit l() {{ die E1; }} Unit ok() {{ println(\"alive\"); }}
             }}
             class D(I c) implements I {{
               Unit k() {{ try c.k(); catch E1 => println(\"caught\"); }} Unit ok() {{ skip; }}
             }}
             {{ I c = new local C(); I d = new local D(c); {main} }}"
        )
    };
    let called = source(
        "Fut<Unit> f = d!k(); await f?; try c.ok(); catch ObjectDeadException => println(\"dead\");",
    );
    assert_eq!(
        bound(&called, "output").as_deref(),
        Some("\"caught\\ndead\\n\"")
    );
    assert_eq!(bound(&called, "C1").as_deref(), Some("dead"));
    assert_eq!(bound(&called, "D2"), None);
    assert_eq!(found(&called).seen.observed.len(), 1);
    // A call of `k` from the main block always kills the object before the tasks run. A task that
    // calls `k` may come before or after the task that runs `ok`.
    let from_main = source("c!ok(); c!ok(); try c.k(); catch E1 => println(\"main\"); suspend;");
    assert_eq!(bound(&from_main, "C1").as_deref(), Some("dead"));
    assert_eq!(found(&from_main).seen.observed.len(), 1);
    let raced = source("d!k(); c!ok();");
    assert_eq!(found(&raced).seen.observed.len(), 2);
}

/// Returns the code and the message of the first mistake in a program.
fn mistake(source: &str) -> (&'static str, String) {
    let mistakes = load(source, &Settings::default()).expect_err("it is wrong");
    (mistakes[0].code, mistakes[0].message.clone())
}

#[test]
fn synonyms_that_double_are_given_up_at_once() {
    let synonyms: String = (1..40)
        .map(|n| format!("type T{n} = Pair<T{}, T{}>; ", n - 1, n - 1))
        .collect();
    let source = |main: &str| {
        format!("module A; type T0 = Int; {synonyms} def Int f(T39 x) = 1; {{ {main} }}")
    };
    assert_eq!(mistake(&source("")).0, "A0112");
    // A type that contains itself is reported as infinite.
    assert_eq!(mistake("module A; type T = Pair<T, T>; { }").0, "A0211");
    let few = "module A; type T = Pair<Int, Int>; type U = Pair<T, T>; def Int f(U x) = 1; { }";
    assert!(load(few, &Settings::default()).is_ok());
}

#[test]
fn large_quotients_and_shared_parts_do_not_take_for_ever() {
    let quotients = "module A; { Int z = 3; Int i = 0; while (i < 17) { z = z * z; i = i + 1; }
        Rat r = 1 / z + 1 / (z + 1); println(\"end\"); }";
    let mut one = machine(quotients, &[]);
    finish(&mut one);
    assert_eq!(one.status(ProcessId(0)), Status::Lost);
    // Each quotient is small enough, but the limit on one step bounds the number of large
    // quotients.
    let many = "module A; { Rat r = 1; Int i = 1; while (True) { r = r + 1 / i; i = i + 1; } }";
    let mut one = machine(many, &[]);
    finish(&mut one);
    assert_eq!(one.status(ProcessId(0)), Status::Lost);
    let tree = "module A; data N = Z | S(N, N);
        def N p(N x, Int n) = if n == 0 then x else p(S(x, x), n - 1);";
    let mut one = machine(&format!("{tree} {{ println(toString(p(Z, 60))); }}"), &[]);
    finish(&mut one);
    assert_eq!(one.status(ProcessId(0)), Status::Lost);
    let field = format!(
        "{tree} interface I {{ Unit m(Int k); }}
         class C implements I {{
           N z = Z; Int w = 0; Unit m(Int k) {{ z = p(Z, 50); w = w * 2 + k; }}
         }}
         {{ I c = new C(); c!m(0); c!m(1); }}"
    );
    let shown = bound(&field, "C1.z").expect("a value");
    assert!(
        shown.len() < 21_000 && shown.ends_with('…'),
        "{}",
        shown.len()
    );
    assert_eq!(found(&field).seen.observed.len(), 2);
    // The same value with an object inside: the search for objects must examine each shared part
    // once.
    let with_objects = "module A; interface I { Unit m(); } data N = Z(I i) | S(N, N);
        def N p(N x, Int n) = if n == 0 then x else p(S(x, x), n - 1);
        class C implements I { N z = Z(null); Unit m() { I i = new C(); z = p(Z(i), 50); } }
        { I c = new C(); c!m(); c!m(); }";
    assert_eq!(found(with_objects).seen.observed.len(), 1);
}

#[test]
fn a_future_may_be_its_own_result() {
    let source = "module A; interface I { Destiny m(); }
        class C implements I { Destiny d = null; Destiny m() { d = destiny; return destiny; } }
        { I c = new C(); c!m(); }";
    assert_eq!(found(source).seen.observed.len(), 1);
}

#[test]
fn the_order_of_objects_in_sets_is_not_observed() {
    let source = |ty: &str, empty: &str, add: &str| {
        format!(
            "module A; interface S {{ }} class S(Int v) implements S {{ }}
             interface I {{ Unit m(Int k); }}
             class C implements I {{
               {ty} l = {empty}; Int n = 0;
               Unit m(Int k) {{ n = n + 1; S s = new S(n); l = {add}; }}
             }}
             {{ I c = new C(); c!m(1); c!m(2); }}"
        )
    };
    let results = |ty, empty, add| found(&source(ty, empty, add)).seen.observed.len();
    assert_eq!(results("List<S>", "list[]", "Cons(s, l)"), 1);
    assert_eq!(results("Set<S>", "set[]", "insertElement(l, s)"), 1);
    assert_eq!(results("Map<S, Int>", "map[]", "put(l, s, n)"), 1);
    // Real differences are still observed: which number belongs to which object, and which key to
    // which value.
    assert_eq!(results("Map<S, Int>", "map[]", "put(l, s, k)"), 2);
    assert_eq!(results("Map<Int, S>", "map[]", "put(l, k, s)"), 2);
    assert_eq!(
        results("Set<Pair<S, Int>>", "set[]", "insertElement(l, Pair(s, k))"),
        2
    );
}

#[test]
fn whether_an_object_lives_is_observed_with_its_class() {
    let source = "module A; exception E1; interface I { Unit a(); Unit b(); }
        class K implements I {
          Int f = 0; Int g = 0;
          Unit a() { g = 1; }
          Unit b() { if (g == 0) { die E1; } }
        }
        { I o = new K(); o!a(); o!b(); }";
    let results = |observed: Option<&str>| {
        let settings = Settings {
            observed: observed.map(Observed::parse).unwrap_or_default(),
            ..Settings::default()
        };
        let code = load(source, &settings).expect("a program");
        let mut machine = Machine::new(code.into(), 1_000_000);
        let limits = Limits::default();
        explore(&mut machine, Algorithm::Optimal, &limits)
            .seen
            .observed
            .len()
    };
    assert_eq!(results(Some("K.f")), 1);
    assert_eq!(results(Some("K")), 2);
    assert_eq!(results(None), 2);
    // This also holds if the class has no fields.
    let bare = "module A; exception E1; interface I { Unit b(); }
        class K implements I { Unit b() { if (random(2) == 0) { die E1; } } }
        { I o = new K(); o!b(); }";
    assert_eq!(found(bare).seen.observed.len(), 2);
}

#[test]
fn random_needs_a_positive_number() {
    for below in ["0", "-5", "x"] {
        let source = format!(
            "module A; {{ Int x = 0; try {{ Int y = random({below}); }}
             catch {{ PatternMatchFailException => println(\"none\"); }} }}"
        );
        assert_eq!(
            bound(&source, "output").as_deref(),
            Some("\"none\\n\""),
            "{below}"
        );
    }
    assert_eq!(found("module A; { Int y = random(0); }").failures.len(), 1);
}

#[test]
fn messages_name_the_block_that_cannot_wait() {
    let last = |statement: &str| {
        mistake(&format!(
            "module A; interface I {{ Int m(); }}
             class C implements I {{
               Int m() {{ try {{ skip; }} catch {{ _ => skip; }} finally {{ {statement} }} return 1; }}
             }} {{ }}"
        ))
    };
    let waits = ("A0237", "a `finally` block cannot wait".to_owned());
    assert_eq!(last("suspend;"), waits);
    assert_eq!(last("if (True) await 1 == 1;"), waits);
    assert_eq!(last("return 2;").0, "A0238");
    let recovers = "module A; class C { recover { _ => suspend; } } { }";
    assert_eq!(
        mistake(recovers),
        ("A0237", "a `recover` block cannot wait".to_owned())
    );
    // A `try` statement that waits is allowed.
    let fine = "module A; { try { suspend; } catch { _ => skip; } finally { skip; } suspend; }";
    assert!(load(fine, &Settings::default()).is_ok());
}

#[test]
fn an_export_of_an_imported_name_re_exports_it() {
    // The frontend of the ABS suite warns (NO_IMPLICIT_NAME_REEXPORT), and exports the name.
    let source = "module C; import fc from A; { println(toString(fc())); }
        module A; import fc from B; export fc;
        module B; export fc; def Int fc() = 7;";
    assert_eq!(bound(source, "output").as_deref(), Some("\"7\\n\""));
    let wrong = source.replace(
        "export fc;\n        module B",
        "export fd;\n        module B",
    );
    let mistakes = load(&wrong, &Settings::default()).expect_err("there is no fd");
    assert!(mistakes.iter().any(|mistake| mistake.code == "A0203"));
}

#[test]
fn excluded_parts_are_refused_where_they_are_used() {
    let codes = |source: &str| match load(source, &Settings::default()) {
        Ok(_) => Vec::new(),
        Err(mistakes) => mistakes.iter().map(|mistake| mistake.code).collect(),
    };
    let uses = [
        ("ABS.DC", "Resourcetype r = Speed;", "A0302"),
        ("ABS.DC", "InfRat r = InfRat;", "A0302"),
        (
            "ABS.DC",
            "DC dc = new DeploymentComponent(\"\", map[]);",
            "A0302",
        ),
        (
            "ABS.SmartDeploy",
            "DeployScenarioElement e = MaxUse(1);",
            "A0302",
        ),
        ("ABS.Scheduler", "List<Process> l = Nil;", "A0305"),
        ("ABS.Meta", "ObjectMirror m = reflect(this);", "A0307"),
        ("ABS.Productline", "String s = product_name();", "A0307"),
        ("ABS.FLI", "new Far();", "A0304"),
    ];
    for (module, stmt, code) in uses {
        let class = "interface I { } [Foreign] class Far implements I { }";
        let source = |stmt: &str| format!("module A; import * from {module}; {class} {{ {stmt} }}");
        assert!(codes(&source("skip;")).is_empty(), "{module}");
        assert!(codes(&source(stmt)).contains(&code), "{stmt}");
    }
    let qualified = "module A; { String s = ABS.Productline.product_name(); }";
    assert!(codes(qualified).contains(&"A0307"));
    for annotation in [
        "Cost: 1",
        "DataSize: 1",
        "MaxSize: 1",
        "DC: null",
        "Scheduler: 1",
    ] {
        let source = format!("module A; {{ [{annotation}] skip; }}");
        assert!(!codes(&source).is_empty(), "{annotation}");
    }
    let foreign = [
        "class C { [Foreign] Unit m() { } }",
        "[Foreign] def Int f() = 1;",
    ];
    for declared in foreign {
        let source = format!("module A; {declared} {{ }}");
        assert_eq!(codes(&source), ["A0304"], "{declared}");
    }
}

#[test]
fn cached_values_belong_to_their_arguments() {
    // More calls than are cached, each made twice, and some that differ only in one argument.
    let source = "module A;
        def Int sum(Int from, Int to) = if from >= to then 0 else from + sum(from + 1, to);
        def Int other(Int from, Int to) = if from >= to then 1 else other(from + 1, to) + 1;
        {
          Int round = 0; Int all = 0;
          while (round < 2) {
            Int n = 0;
            while (n < 200) {
              Int a = sum(n, n + 20);
              Int b = other(n, n + 20);
              Int c = sum(n, n + 21);
              assert a == 20 * n + 190 && b == 21 && c == a + n + 20;
              n = n + 1;
            }
            round = round + 1;
          }
        }";
    assert!(found(source).failures.is_empty());
    // A function that reads the time may have different values for the same arguments.
    let timed = "module A;
        def Rat later(Int n) = if n <= 0 then timeValue(now()) else later(n - 1);
        { Rat a = later(50); duration(1); Rat b = later(50); assert a == 0 && b == 1; }";
    assert!(found(timed).failures.is_empty());
    // A cached value still costs its full work.
    let costly = "module A;
        def Int sum(Int from, Int to) = if from >= to then 0 else from + sum(from + 1, to);
        { Int n = 0; while (n < 100000) { Int a = sum(0, 2000); n = n + 1; } }";
    let mut machine = machine(costly, &[]);
    let main = ProcessId(0);
    machine.step(main, &[]).expect("it is ready");
    assert_eq!(machine.status(main), Status::Lost);
}

#[test]
fn excluded_names_of_the_standard_module_may_be_imported() {
    let import = "module A; import * from ABS.StdLib; import ms_since_model_start from ABS.StdLib;";
    let unused = format!("{import} {{ skip; }}");
    assert!(load(&unused, &Settings::default()).is_ok());
    let used = format!("{import} {{ Int n = ms_since_model_start(); }}");
    let real = "the time of the machine is not explored".to_owned();
    assert_eq!(mistake(&used), ("A0301", real));
    let nothing = "module A; import nothing from ABS.StdLib; { skip; }";
    assert_eq!(mistake(nothing).0, "A0206");
}

#[test]
fn the_help_for_a_name_that_is_not_imported_is_its_import() {
    let help = |source: &str| {
        load(source, &Settings::default()).unwrap_err()[0]
            .help
            .clone()
    };
    let partly = "module A; import toString from ABS.StdLib; { println(toString(1)); }";
    let import = "import it: write `import println from ABS.StdLib;` at the start of the module";
    assert_eq!(help(partly).as_deref(), Some(import));
    let other = |exports: &str| {
        format!("module A; {exports} def Int f() = 1; module B; {{ Int n = f(); }}")
    };
    let import = "import it: write `import f from A;` at the start of the module";
    assert_eq!(help(&other("export f;")).as_deref(), Some(import));
    let export = "write `export f;` in module A, and `import f from A;` here";
    assert_eq!(help(&other("")).as_deref(), Some(export));
    let typo = "module A; { printnl(\"a\"); }";
    assert_eq!(help(typo).as_deref(), Some("did you mean `println`?"));
}
