// Tests without a browser or an engine: links, command lines, and the states of a run.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

import { badName, quoted, valuesOf, wordsOf } from "../../crates/serve/page/engine.js";
import { MOST, isCertain, packed, unpacked } from "../../crates/serve/page/link.js";
import { unpack } from "../../crates/serve/page/unpack.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const script = readFileSync(join(root, "crates/report/src/html/view.js"), "utf8");
const view = vm.runInNewContext(`${script}; MazurkaView`);

test("a link contains the program and all options", async () => {
  const sent = { text: "process { skip } // ▷ é </script>", file: "p.maz", command: "check", options: { set: ["N=3"], "keep-going": true } };
  const link = await packed(sent);
  assert.match(link, /^#1[\w-]+$/);
  assert.deepEqual(await unpacked(link), sent);
});

test("a link that is damaged, or of something else, is refused", async () => {
  for (const wrong of ["", "#2abc", "#1", "#1abc", "#1%%%", `#1${btoa("plain text")}`]) {
    await assert.rejects(unpacked(wrong), wrong);
  }
  await assert.rejects(unpacked(await packed({ text: 1 })), /damaged/);
});

test("options of a link are plain", async () => {
  const link = (options) => packed({ text: "", file: "a.maz", command: "check", options });
  let deep = "x";
  for (let depth = 0; depth < 1000; depth++) deep = [deep];
  for (const options of [{ set: deep }, { set: { a: 1 } }, { memory: null }]) {
    await assert.rejects(unpacked(await link(options)), /damaged/);
  }
  const options = { set: ["N=3"], "time-limit": "3s", quiet: true };
  assert.deepEqual((await unpacked(await link(options))).options, options);
});

test("after a condition over unknown values a schedule does not identify a state", () => {
  const all = ["", "0", "0 0", "0", "0 0", "0 0 0", "1", "1 0"];
  assert.equal(isCertain("0 0 0", all), false);
  assert.equal(isCertain("0", all), false);
  assert.equal(isCertain("1 0", all), true);
  assert.equal(isCertain("", all), true);
});

test("a link of more than a megabyte is refused, however small it is packed", async () => {
  await assert.rejects(packed({ text: "x".repeat(MOST + 1) }), /too long/);
  const bomb = new Blob([JSON.stringify({ text: "x".repeat(20 * MOST), file: "", command: "", options: {} })]);
  const stream = bomb.stream().pipeThrough(new CompressionStream("deflate-raw"));
  const small = Buffer.from(await new Response(stream).arrayBuffer());
  assert.ok(small.length < MOST / 10);
  await assert.rejects(unpacked(`#1${small.toString("base64url")}`), /1 MB/);
});

test("names of programs are those that the server takes", () => {
  for (const name of ["p.maz", "lib/list.maz", "a_b-c.1.abs", "_.maz"]) assert.equal(badName(name), "", name);
  const tricks = ["--help", "-x.maz", "../p.maz", "/etc/p.maz", "a//b.maz", "p.c", "p.json", "a b.maz", "p.maz/", "", ".maz", "é.maz"];
  for (const name of tricks) assert.match(badName(name), /is not a name of a program/, name);
});

test("blanks around an equals sign are not separators", () => {
  assert.deepEqual(valuesOf(" N = 3  M=4 ", false), ["N=3", "M=4"]);
  assert.deepEqual(valuesOf("a[ 1 ] = -2", false), ["a[1]=-2"]);
  assert.deepEqual(valuesOf("x == 1; y >= 2 ;", true), ["x == 1", "y >= 2"]);
});

test("options become words", () => {
  const words = wordsOf({ command: "check", file: "p.maz", options: { set: ["N=3", "a=[1, 2]"], "keep-going": true, seed: "7" }, format: "html" });
  assert.deepEqual(words, ["check", "p.maz", "--set=N=3", "--set=a=[1, 2]", "--keep-going", "--seed=7", "--format=html"]);
  assert.deepEqual(words.slice(2, 4).map(quoted), ["--set=N=3", "'--set=a=[1, 2]'"]);
  assert.equal(quoted("it's"), "'it'\\''s'");
});

test("the state before the end follows from the changes", () => {
  const run = {
    state: [{ name: "a", value: "[1, [2, 3]]" }, { name: "k", value: "5" }],
    steps: [
      { changes: [{ name: "a[0]", from: "0", to: "4" }] },
      { changes: [{ name: "k", from: "1", to: "5" }, { name: "a[1][1]", from: "9", to: "3" }] },
      { changes: [{ name: "a[0]", from: "4", to: "1" }] },
    ],
  };
  const after = (count) => Object.fromEntries(view.stateAfter(run, count));
  assert.deepEqual(after(3), { a: "[1, [2, 3]]", k: "5" });
  assert.deepEqual(after(2), { a: "[4, [2, 3]]", k: "5" });
  assert.deepEqual(after(1), { a: "[4, [2, 9]]", k: "1" });
  assert.deepEqual(after(0), { a: "[0, [2, 9]]", k: "1" });
});

test("runs of a large tree are counted and found", () => {
  const steps = [["p", "x := 1", ""], ["q=2", "y := 2", "it fails"]];
  const endings = ["final", "deadlock", "failure"];
  // The initial state 0 has the children 1 and 3; 2 follows 1, and 4 and 5 follow 3.
  const tree = view.treeOf({ steps, endings, states: [[0, 0, 0], [1, 1, 1], [0, 1, 0], [3, 0, 3], [3, 0, 1]] });
  assert.equal(tree.count, 6);
  assert.deepEqual([...tree.children(0)], [1, 3]);
  assert.deepEqual([...tree.children(3)], [4, 5]);
  assert.deepEqual([1, 3, 4, 5].map(tree.isFirst), [true, false, true, false]);
  assert.equal(tree.below(0), "2 final, 1 failure");
  assert.equal(tree.below(3), "1 final, 1 failure");
  assert.equal(tree.schedule(5), "q=2 p");
  assert.equal(tree.schedule(0), "");
  assert.equal(tree.words(3), "q=2: y := 2 ✗ it fails");
  assert.equal(tree.words(4), "p: x := 1 → failure");
  // One long run, and at each of its steps a run that leaves it: no recursion may overflow.
  const long = { steps, endings, states: Array.from({ length: 200000 }, (_, k) => [Math.max(0, k % 2 ? k - 2 : k - 1), 0, k % 2]) };
  const comb = view.treeOf(long);
  assert.equal(comb.below(0), "100000 final");
  assert.equal(comb.path(199999).length, 100000);
});

test("LZMA is decompressed, and damaged files are refused", (context) => {
  const text = `${"var x: int = 0 // ▷ é\n".repeat(400)}${Array.from({ length: 3000 }, (_, k) => String.fromCharCode(33 + (k * k * 31 + (k >> 3)) % 90)).join("")}${"process { x := x + 1 }\n".repeat(300)}`;
  for (const settings of ["lc=4,lp=0,pb=0", "lc=3,lp=0,pb=2", "lc=0,lp=2,pb=1"]) {
    const made = spawnSync("xz", ["--format=lzma", `--lzma1=preset=9e,${settings}`, "--stdout"], { input: text });
    if (made.error) return context.skip("skipped: xz missing");
    assert.equal(Buffer.from(unpack(made.stdout)).toString(), text);
    for (const end of [0, 5, 13, 100, made.stdout.length - 6]) {
      assert.throws(() => unpack(made.stdout.subarray(0, end)), /damaged/, `${end} bytes`);
    }
  }
  assert.throws(() => unpack(new Uint8Array(1000).fill(255)), /damaged/);
});
