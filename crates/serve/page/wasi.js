// Runs the command as WebAssembly. Implements the WASI calls that it needs: arguments, files in
// memory, standard output and error, a clock. Each call of `run` has its own memory, so runs share
// no state.

const OK = 0, BAD_FILE = 8, NO_ENTRY = 44, NOT_THERE = 52, READ_ONLY = 69;
const ROOT = 3;

class Exit extends Error {
  constructor(code) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/**
 * Runs the command.
 * @param {WebAssembly.Module} module the command
 * @param {{words: string[], files: Record<string, string>, progress?: (line: string) => void}} request
 * @returns {{code: number, out: string, err: string}}
 */
export function run(module, { words, files, progress = () => {} }) {
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  const contents = new Map(Object.entries(files).map(([name, text]) => [name, encoder.encode(text)]));
  const folders = new Set([""]);
  for (const name of contents.keys()) {
    for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1)) folders.add(name.slice(0, at));
  }
  const open = new Map([[0, { bytes: new Uint8Array(), at: 0 }]]);
  let next = ROOT + 1;
  const out = [];
  let err = "", line = "";
  let memory;
  const view = () => new DataView(memory.buffer);
  const bytes = (at, length) => new Uint8Array(memory.buffer, at, length);
  const args = ["mazurka", ...words].map((word) => encoder.encode(`${word}\0`));

  // Reads a path, and simplifies it: `./a/../b` is `b`.
  const path = (at, length) => {
    const parts = [];
    for (const part of decoder.decode(bytes(at, length)).split("/")) {
      if (part === "..") parts.pop();
      else if (part !== "." && part !== "") parts.push(part);
    }
    return parts.join("/");
  };
  const vectors = (at, count) => Array.from({ length: count }, (_, k) =>
    [view().getUint32(at + 8 * k, true), view().getUint32(at + 8 * k + 4, true)]);
  const filestat = (at, type, size) => {
    bytes(at, 64).fill(0);
    view().setUint8(at + 16, type);
    view().setBigUint64(at + 32, BigInt(size), true);
    return OK;
  };
  const stat = (name, at) => {
    if (contents.has(name)) return filestat(at, 4, contents.get(name).length);
    return folders.has(name) ? filestat(at, 3, 0) : NO_ENTRY;
  };
  // Progress is reported at once; everything else on standard error belongs to the answer.
  const complain = (text) => {
    line += text;
    for (let end = line.indexOf("\n"); end >= 0; end = line.indexOf("\n")) {
      const whole = line.slice(0, end);
      line = line.slice(end + 1);
      if (whole.startsWith("progress: ")) progress(whole.slice(10));
      else err += `${whole}\n`;
    }
  };
  const strings = (list, pointers, buffer) => {
    for (const word of list) {
      view().setUint32(pointers, buffer, true);
      bytes(buffer, word.length).set(word);
      pointers += 4;
      buffer += word.length;
    }
    return OK;
  };
  const sizes = (list, count, size) => {
    view().setUint32(count, list.length, true);
    view().setUint32(size, list.reduce((sum, word) => sum + word.length, 0), true);
    return OK;
  };

  const calls = {
    args_get: (pointers, buffer) => strings(args, pointers, buffer),
    args_sizes_get: (count, size) => sizes(args, count, size),
    environ_get: () => OK,
    environ_sizes_get: (count, size) => sizes([], count, size),
    clock_time_get: (clock, _precision, at) => {
      const now = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(at, BigInt(Math.round(now * 1e6)), true);
      return OK;
    },
    random_get: (at, length) => {
      // Only hash tables use random numbers, and results do not depend on them.
      bytes(at, length).fill(7);
      return OK;
    },
    proc_exit: (code) => {
      throw new Exit(code);
    },
    sched_yield: () => OK,
    fd_fdstat_get: (fd, at) => {
      if (fd > ROOT && !open.has(fd)) return BAD_FILE;
      bytes(at, 24).fill(0);
      view().setUint8(at, fd === ROOT ? 3 : fd > ROOT ? 4 : 2);
      view().setBigUint64(at + 8, 0x1fffffffn, true);
      view().setBigUint64(at + 16, 0x1fffffffn, true);
      return OK;
    },
    fd_prestat_get: (fd, at) => {
      if (fd !== ROOT) return BAD_FILE;
      view().setUint8(at, 0);
      view().setUint32(at + 4, 1, true);
      return OK;
    },
    fd_prestat_dir_name: (fd, at) => {
      if (fd !== ROOT) return BAD_FILE;
      bytes(at, 1).set([46]);
      return OK;
    },
    fd_filestat_get: (fd, at) => {
      if (fd === ROOT) return filestat(at, 3, 0);
      const file = open.get(fd);
      return filestat(at, fd < ROOT ? 2 : 4, file?.bytes.length ?? 0);
    },
    path_filestat_get: (_fd, _flags, at, length, into) => stat(path(at, length), into),
    path_open: (_fd, _look, at, length, flags, _rights, _inherit, _fdflags, into) => {
      const name = path(at, length);
      if (flags & 1) return READ_ONLY;
      if (!contents.has(name) && !folders.has(name)) return NO_ENTRY;
      open.set(next, { bytes: contents.get(name) ?? new Uint8Array(), at: 0, folder: folders.has(name) ? name : null });
      view().setUint32(into, next++, true);
      return OK;
    },
    fd_read: (fd, at, count, into) => {
      const file = open.get(fd);
      if (!file) return BAD_FILE;
      let total = 0;
      for (const [start, length] of vectors(at, count)) {
        const part = file.bytes.subarray(file.at, file.at + length);
        bytes(start, part.length).set(part);
        file.at += part.length;
        total += part.length;
      }
      view().setUint32(into, total, true);
      return OK;
    },
    fd_seek: (fd, offset, whence, into) => {
      const file = open.get(fd);
      if (!file) return BAD_FILE;
      const base = whence === 0 ? 0 : whence === 1 ? file.at : file.bytes.length;
      file.at = Math.max(0, base + Number(offset));
      view().setBigUint64(into, BigInt(file.at), true);
      return OK;
    },
    fd_write: (fd, at, count, into) => {
      if (fd !== 1 && fd !== 2) return BAD_FILE;
      let total = 0;
      for (const [start, length] of vectors(at, count)) {
        if (fd === 1) out.push(bytes(start, length).slice());
        else complain(decoder.decode(bytes(start, length).slice()));
        total += length;
      }
      view().setUint32(into, total, true);
      return OK;
    },
    fd_close: (fd) => (open.delete(fd) ? OK : BAD_FILE),
    poll_oneoff: (_from, _to, count, into) => {
      view().setUint32(into, count, true);
      return OK;
    },
  };
  // A call that is not implemented returns an error, and the command continues without it.
  const imports = new Proxy(calls, { get: (known, name) => known[name] ?? (() => NOT_THERE) });

  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports });
  memory = instance.exports.memory;
  let code = 0;
  try {
    instance.exports._start();
  } catch (error) {
    if (error instanceof Exit) code = error.code;
    else {
      // The command ran out of memory or stack, or has a defect. If it could, it has reported this
      // itself.
      code = 4;
      err += `${line}${line ? "\n" : ""}the engine stopped: ${error.message}\n`;
    }
  }
  if (code !== 4 && line) err += line;
  const length = out.reduce((sum, part) => sum + part.length, 0);
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of out) {
    whole.set(part, at);
    at += part.length;
  }
  return { code, out: decoder.decode(whole), err };
}
