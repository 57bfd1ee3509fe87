// Tests the grammars with a small engine for the rules that they use: `match`, `begin` and `end`.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const root = path.join(__dirname, "..");
const load = (name) => JSON.parse(fs.readFileSync(path.join(root, "syntaxes", name), "utf8"));
const sticky = (source) => new RegExp(source, "ymu");

/** Returns the pieces of a text that have a scope, with the names of their scopes. */
function tokens(grammar, text) {
  const found = [];
  let at = 0;
  scan(grammar.patterns, null, null);
  return found;

  function scan(patterns, name, end) {
    while (at < text.length) {
      if (end) {
        end.lastIndex = at;
        const closed = end.exec(text);
        if (closed) {
          at += closed[0].length;
          return;
        }
      }
      const before = at;
      for (const rule of patterns) {
        const regex = sticky(rule.match ?? rule.begin);
        regex.lastIndex = at;
        const matched = regex.exec(text);
        if (!matched || (matched[0] === "" && !rule.begin)) continue;
        if (rule.begin) {
          const start = at;
          at += matched[0].length;
          scan(rule.patterns ?? [], rule.name, sticky(rule.end));
          found.push([text.slice(start, at), rule.name]);
        } else {
          if (rule.name) found.push([matched[0], rule.name]);
          for (const [group, { name }] of Object.entries(rule.captures ?? {})) {
            found.push([matched[group], name]);
          }
          at += matched[0].length;
        }
        break;
      }
      // A word without a rule is skipped as a whole, so that its end is not read as another word.
      if (at === before) at += /^[\p{L}_][\p{L}\p{N}_]*/u.exec(text.slice(at))?.[0].length ?? 1;
    }
  }
}

const scope = (all, word) => all.find(([text]) => text === word)?.[1];

test("a model has its colours", () => {
  const maz = load("maz.tmLanguage.json");
  const all = tokens(maz, `// note
var x: atomic int = 0 // why
enum Phase { Out, In }
spurious cond full
refines "abstract.maz" via { y = x }
invariant safe: x >= 0 && at(p[0], 3) && forall i in 0..3: true
process p (me in 0..2) {
  await x == 1; /* two
  lines */ x := choose(0..3);
  print "me {me} \\" }";
  select { x == 1 |> skip [] else |> f(count) }
}`);
  const expected = {
    "// note": "comment.line.double-slash.maz",
    var: "keyword.declaration.maz",
    int: "storage.type.maz",
    spurious: "keyword.declaration.maz",
    via: "keyword.declaration.maz",
    at: "support.function.maz",
    Phase: "entity.name.type.maz",
    invariant: "keyword.other.property.maz",
    forall: "keyword.other.quantifier.maz",
    true: "constant.language.maz",
    p: "entity.name.function.maz",
    await: "keyword.control.maz",
    "/* two\n  lines */": "comment.block.maz",
    ":=": "keyword.operator.assignment.maz",
    choose: "support.function.maz",
    "{me}": "variable.other.interpolated.maz",
    '"me {me} \\" }"': "string.quoted.double.maz",
    select: "keyword.control.maz",
    "|>": "keyword.operator.guard.maz",
    f: "entity.name.function.call.maz",
    0: "constant.numeric.maz",
  };
  for (const [word, name] of Object.entries(expected)) assert.strictEqual(scope(all, word), name, word);
  assert.strictEqual(scope(all, "count"), undefined, "a name");
});

test("an actor has its colours", () => {
  const abs = load("abs.tmLanguage.json");
  const all = tokens(abs, `module M; interface I { Unit m(Int x); }
class C implements I { Unit m(Int x) { await x > 0; assert True; } }
{ I o = new C(); o!m(1); println("done"); }`);
  for (const [word, name] of Object.entries({
    M: "entity.name.type.abs",
    C: "entity.name.type.abs",
    Unit: "constant.language.abs",
    Int: "storage.type.abs",
    await: "keyword.control.abs",
    new: "keyword.control.abs",
    implements: "keyword.declaration.abs",
    '"done"': "string.quoted.double.abs",
  })) {
    assert.strictEqual(scope(all, word), name, word);
  }
});

test("every reserved word of the lexer has a colour", () => {
  const source = fs.readFileSync(path.join(root, "../../crates/lang/src/syntax/token.rs"), "utf8");
  const words = /words \{(\s*Var[^}]*)\}/.exec(source)[1].match(/"[a-z_]+"/g).map((word) => word.slice(1, -1));
  assert.ok(words.length > 30);
  const maz = load("maz.tmLanguage.json");
  for (const word of words) {
    // As in a program, a call has a parenthesis.
    const text = ["input", "choose"].includes(word) ? `${word}()` : `${word} `;
    const name = scope(tokens(maz, text), word) ?? "";
    assert.match(name, /^(keyword|storage|constant|support)\./, word);
  }
});

test("all programs of the repository are read completely", () => {
  const maz = load("maz.tmLanguage.json");
  const pending = [path.join(root, "../../corpus"), path.join(root, "../../examples")];
  let files = 0;
  while (pending.length) {
    const folder = pending.pop();
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) pending.push(file);
      if (!file.endsWith(".maz")) continue;
      files++;
      const text = fs.readFileSync(file, "utf8");
      const all = tokens(maz, text);
      // A comment or a string that is not closed would include the rest of the text.
      for (const [piece, name] of all) {
        if (name.startsWith("string")) assert.ok(!piece.includes("\n"), file);
      }
      const word = /^(process|proc)\b/m.exec(text) ?? /\b(process|op)\b/.exec(text);
      if (word) assert.match(scope(all, word[1]) ?? "", /^keyword/, file);
    }
  }
  assert.ok(files > 300);
});
