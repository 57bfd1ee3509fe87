// For every program of the corpus, with the settings of its expectations, the command as
// WebAssembly must make the same record as the native command, except for times, memory and
// workers. MAZURKA=target/debug/mazurka node --test page/test/
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { unpack } from "../../crates/serve/page/unpack.js";
import { run } from "../../crates/serve/page/wasi.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const wasm = process.env.MAZURKA_WASM ?? join(root, "target/page/mazurka.wasm.lzma");
const native = process.env.MAZURKA ?? join(root, "target/debug/mazurka");
const missing = [wasm, native].find((path) => !existsSync(path));
const options = { skip: missing && `skipped: ${missing === wasm ? "mazurka.wasm.lzma missing (page/build makes it)" : "mazurka missing"}` };

// Both commands stop after a number of steps: not by a clock, and not at the memory limit, which
// they would reach at different steps.
const LIMITS = ["--max-steps=100000", "--memory-limit=1G"];
const module = missing ? null : new WebAssembly.Module(unpack(readFileSync(wasm)));

// Removes the parts that depend on the computer.
function settled(text) {
  const strip = (value) => {
    if (Array.isArray(value)) return value.map(strip);
    if (!value || typeof value !== "object") return value;
    const kept = Object.entries(value).filter(([name]) => !["seconds", "memory", "jobs", "external"].includes(name));
    return Object.fromEntries(kept.map(([name, inner]) => [name, strip(inner)]));
  };
  return strip(JSON.parse(text));
}

function compare(file, words, files) {
  const [command, ...flags] = words;
  const all = [command, file, ...flags, "--format=json"];
  const expected = spawnSync(native, all, { cwd: root, encoding: "utf8", maxBuffer: 1 << 30 });
  const found = run(module, { words: all, files });
  const about = `mazurka ${all.join(" ")}`;
  assert.equal(found.code, expected.status, `${about}: ${found.err}${expected.stderr}`);
  if (expected.stdout === "") assert.equal(found.out, "", about);
  else assert.deepEqual(settled(found.out), settled(expected.stdout), about);
}

// The commands of the page; both builds must refuse the same programs.
const MODELS = ["rc11", "ra", "tso"];
const WORDS = {
  maz: [["check"], ["explore"], ["explore", "--algorithm=stateful"], ["explore", "--algorithm=context"], ["run", "--seed=3"],
    ["unfold"], ["symbolic"], ...MODELS.map((model) => ["check", `--memory=${model}`])],
  abs: [["check"], ["explore"], ["run", "--seed=3"], ["unfold"]],
};
const LIMITED = { check: ["--jobs=1"], explore: ["--jobs=1"] };

for (const language of ["maz", "abs"]) {
  const folder = `corpus/${language}`;
  for (const name of readdirSync(join(root, folder))) {
    const at = `${folder}/${name}`;
    const file = `${at}/program.${language}`;
    if (!existsSync(join(root, file))) continue;
    test(at, options, () => {
      const files = Object.fromEntries(readdirSync(join(root, at))
        .filter((inner) => inner.endsWith(`.${language}`))
        .map((inner) => [`${at}/${inner}`, readFileSync(join(root, at, inner), "utf8")]));
      const thorough = process.env.MAZURKA_THOROUGH ? WORDS[language] : WORDS[language].slice(0, 1);
      for (const [command, ...flags] of thorough) {
        compare(file, [command, ...flags, ...LIMITS, ...(LIMITED[command] ?? [])], files);
      }
    });
  }
}

test("memory models", options, () => {
  for (const name of ["store-buffering", "message-passing", "michael-scott", "peterson"]) {
    const file = `examples/${name}.maz`;
    const files = { [file]: readFileSync(join(root, file), "utf8") };
    for (const model of MODELS) {
      for (const command of ["check", "explore"]) compare(file, [command, `--memory=${model}`, "--jobs=1", ...LIMITS], files);
    }
  }
});

test("limits hold under a memory model", options, () => {
  const text = "atomicity access var x: atomic int = 0 process p (i in 0..5) { for j in 0..5 { x.store(j, relaxed); let r = x.load(relaxed) } }";
  const ask = (limit) => {
    const { code, out, err } = run(module, { words: ["explore", "p.maz", "--memory=rc11", limit, "--format=json"], files: { "p.maz": text } });
    assert.equal(code, 2, err);
    return JSON.parse(out).scope.bounds.map(({ bound }) => bound);
  };
  assert.deepEqual(ask("--time-limit=1s"), ["time-limit"]);
  assert.deepEqual(ask("--memory-limit=8M"), ["memory-limit"]);
});

test("a search ends in time and within its memory", options, () => {
  const text = "var x: int = 0 var y: int = 0 process p (i in 0..9) { for j in 0..9 { x := x + 1; y := x } }";
  const start = performance.now();
  const files = { "p.maz": text };
  const timed = run(module, { words: ["explore", "p.maz", "--time-limit=1s", "--format=json"], files });
  assert.equal(timed.code, 2);
  assert.ok(performance.now() - start < 4000, `${performance.now() - start} ms`);
  assert.deepEqual(JSON.parse(timed.out).scope.bounds.map(({ bound }) => bound), ["time-limit"]);
  const small = run(module, { words: ["explore", "p.maz", "--algorithm=stateful", "--memory-limit=48M", "--format=json"], files });
  assert.equal(small.code, 2, small.err);
  assert.deepEqual(JSON.parse(small.out).scope.bounds.map(({ bound }) => bound), ["memory-limit"]);
});

test("mistakes, includes and other files", options, () => {
  const wrong = run(module, { words: ["check", "p.maz", "--format=json"], files: { "p.maz": "var x" } });
  assert.equal(wrong.code, 3);
  assert.ok(JSON.parse(wrong.out).diagnostics.length > 0);
  const files = { "p.maz": 'include "lib/x.maz"\nprocess { x := 1 }', "lib/x.maz": "var x: int = 0\n" };
  assert.equal(run(module, { words: ["check", "p.maz", "--format=json"], files }).code, 0);
  const outside = { "p.maz": 'include "other.maz"\nprocess { skip }' };
  assert.equal(run(module, { words: ["check", "p.maz", "--format=json"], files: outside }).code, 3);
  const table = JSON.parse(run(module, { words: ["flags"], files: {} }).out);
  // A native build uses an installed solver; the page has only the embedded one, and reports that.
  const solving = table.commands.filter(({ always }) => always);
  assert.ok(solving.length > 0);
  for (const command of solving) {
    assert.deepEqual(command.always, ["--solver=embedded"]);
    delete command.always;
  }
  assert.deepEqual(table, JSON.parse(execFileSync(native, ["flags"], { encoding: "utf8" })));
});
