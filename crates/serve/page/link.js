// Links that contain a program and options. They are compressed JSON in the fragment of the
// address, which browsers do not send to the server.

const DAMAGED = "the link is damaged: request it again, or request the program itself";
/** The maximal size of the contents of a link. */
export const MOST = 1 << 20;

async function drained(stream, most) {
  const reader = stream.getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw new Error("the link contains more than 1 MB");
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const through = (bytes, change) => new Blob([bytes]).stream().pipeThrough(change);

/** Encodes a value as a fragment. */
export async function packed(value) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  if (bytes.length > MOST) throw new Error("the program is too long for a link");
  const small = await drained(through(bytes, new CompressionStream("deflate-raw")), MOST);
  let text = "";
  for (const byte of small) text += String.fromCharCode(byte);
  return `#1${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Decodes a fragment; an error says what is wrong with it. */
export async function unpacked(fragment) {
  if (!fragment.startsWith("#1")) throw new Error("this link is of another version");
  let bytes;
  try {
    const text = atob(fragment.slice(2).replaceAll("-", "+").replaceAll("_", "/"));
    bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  } catch {
    throw new Error(DAMAGED);
  }
  const whole = await drained(through(bytes, new DecompressionStream("deflate-raw")), MOST).catch((error) => {
    throw error.message.includes("1 MB") ? error : new Error(DAMAGED);
  });
  let value;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(whole));
  } catch {
    throw new Error(DAMAGED);
  }
  const fits = value && typeof value.text === "string" && typeof value.file === "string"
    && typeof value.command === "string" && value.options && typeof value.options === "object"
    && Object.values(value.options).every(isOption);
  if (!fits) throw new Error(DAMAGED);
  return value;
}

const isPlain = (value) => ["string", "boolean", "number"].includes(typeof value);
const isOption = (value) => isPlain(value) || (Array.isArray(value) && value.every(isPlain));

/**
 * Whether a schedule leads to only one state of a tree whose states have these schedules. This is
 * false after a condition over unknown values: both of its sides have the same schedule.
 */
export function isCertain(schedule, all) {
  const count = new Map();
  for (const one of all) count.set(one, (count.get(one) ?? 0) + 1);
  const steps = schedule.split(" ");
  return steps.every((_, at) => (count.get(steps.slice(0, at + 1).join(" ")) ?? 0) <= 1);
}
