"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const { FILES, crc32, pack } = require("../package.js");

const root = path.join(__dirname, "..");

/** The entries of a ZIP file, by its directory. */
function entries(bytes) {
  const end = bytes.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  const found = {};
  for (let number = 0; number < count; number++) {
    assert.strictEqual(bytes.toString("latin1", at, at + 4), "PK\x01\x02");
    const [sum, size] = [bytes.readUInt32LE(at + 16), bytes.readUInt32LE(at + 24)];
    const [name, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field));
    const local = bytes.readUInt32LE(at + 42);
    assert.strictEqual(bytes.toString("latin1", local, local + 4), "PK\x03\x04");
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const data = bytes.subarray(start, start + size);
    assert.strictEqual(crc32(data), sum);
    found[bytes.toString("utf8", at + 46, at + 46 + name)] = data;
    at += 46 + name + extra + comment;
  }
  assert.strictEqual(at, end);
  return found;
}

test("the checksum is that of ZIP files", () => {
  assert.strictEqual(crc32(Buffer.from("123456789")), 0xcbf43926);
});

test("the package has every file, and the same bytes each time", () => {
  const { name, bytes } = pack(root);
  assert.match(name, /^mazurka-\d+\.\d+\.\d+\.vsix$/);
  assert.ok(bytes.equals(pack(root).bytes));
  const found = entries(bytes);
  assert.ok(found["[Content_Types].xml"] && found["extension.vsixmanifest"]);
  for (const file of FILES) {
    assert.ok(found[`extension/${file}`].equals(fs.readFileSync(path.join(root, file))), file);
  }
});

test("what the package names is in it", () => {
  const described = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
  const named = [
    described.main,
    ...described.contributes.languages.map((one) => one.configuration),
    ...described.contributes.grammars.map((one) => one.path),
  ];
  for (const file of named) assert.ok(FILES.includes(file.replace("./", "")), file);
  const cargo = fs.readFileSync(path.join(root, "../../Cargo.toml"), "utf8");
  const version = /^version = "(.*)"$/m.exec(cargo)[1];
  assert.strictEqual(described.version, version, "the version of the workspace");
});
