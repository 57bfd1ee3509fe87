// Packs the extension: `node package.js` makes mazurka-VERSION.vsix, a ZIP file of the files and
// two descriptions of them. They are small, so they are not compressed.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const FILES = [
  "package.json",
  "language-configuration.json",
  "extension.js",
  "README.md",
  "lib/rpc.js",
  "lib/convert.js",
  "lib/session.js",
  "syntaxes/maz.tmLanguage.json",
  "syntaxes/abs.tmLanguage.json",
];

const TABLE = Array.from({ length: 256 }, (_, start) => {
  let value = start;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

/** Returns the checksum of ZIP files. */
function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** Returns a ZIP file with these entries, each a name and its bytes, without compression. */
function zip(entries) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [name, bytes] of entries) {
    const label = Buffer.from(name, "utf8");
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0); // the ZIP version that a reader needs
    head.writeUInt16LE(0x0800, 2); // names are UTF-8
    head.writeUInt16LE(0x21, 8); // 1 January 1980, so that equal files give equal bytes
    head.writeUInt32LE(crc32(bytes), 10);
    head.writeUInt32LE(bytes.length, 14);
    head.writeUInt32LE(bytes.length, 18);
    head.writeUInt16LE(label.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), head, label, bytes]);
    const central = Buffer.alloc(16);
    central.writeUInt32LE(offset, 12);
    const made = Buffer.from([20, 0]);
    directory.push(
      Buffer.concat([Buffer.from("PK\x01\x02", "latin1"), made, head.subarray(0, 24), Buffer.alloc(2), central.subarray(2), label]),
    );
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, central, Buffer.from("PK\x05\x06", "latin1"), end]);
}

const CONTENT_TYPES = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="json" ContentType="application/json"/>
  <Default Extension="js" ContentType="application/javascript"/>
  <Default Extension="md" ContentType="text/markdown"/>
  <Default Extension="vsixmanifest" ContentType="text/xml"/>
</Types>
`;

function manifest({ name, displayName, description, version, publisher, engines }) {
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${name}" Version="${version}" Publisher="${publisher}"/>
    <DisplayName>${displayName}</DisplayName>
    <Description xml:space="preserve">${description}</Description>
    <Categories>Programming Languages</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${engines.vscode}"/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
  </Assets>
</PackageManifest>
`;
}

/** Returns the name and the bytes of the package of a folder. */
function pack(folder) {
  const read = (name) => fs.readFileSync(path.join(folder, name));
  const described = JSON.parse(read("package.json"));
  const entries = [
    ["[Content_Types].xml", Buffer.from(CONTENT_TYPES)],
    ["extension.vsixmanifest", Buffer.from(manifest(described))],
    ...FILES.map((name) => [`extension/${name}`, read(name)]),
  ];
  return { name: `${described.name}-${described.version}.vsix`, bytes: zip(entries) };
}

if (require.main === module) {
  const { name, bytes } = pack(__dirname);
  fs.writeFileSync(path.join(process.cwd(), name), bytes);
  console.log(`${name}: ${bytes.length} bytes`);
}

module.exports = { FILES, crc32, pack };
