// The two engines of the page: the command as WebAssembly in a worker, or `mazurka serve`. Both
// take the same request and return the same answer: the exit code, standard output and standard
// error of the command.

/**
 * Returns the words of a command line.
 * @param {{command: string, file: string, options: Record<string, true|string|string[]>, format: string}} request
 */
export function wordsOf({ command, file, options, format }) {
  const words = [command, file];
  for (const [name, value] of Object.entries(options)) {
    if (value === true) words.push(`--${name}`);
    else for (const one of Array.isArray(value) ? value : [value]) words.push(`--${name}=${one}`);
  }
  if (format) words.push(`--format=${format}`);
  return words;
}

/** Quotes a word for a shell. */
export const quoted = (word) => (/^[\w./=,:+@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** Returns why a name is invalid for a program, or "". `mazurka serve` has the same rule. */
export function badName(name) {
  const plain = /^\w[\w.-]*(\/\w[\w.-]*)*$/.test(name) && name.length <= 120;
  if (plain && /\.(maz|abs)$/.test(name)) return "";
  return `\`${name}\` is not a name of a program: write letters, digits, \`-\`, \`_\` and \`.\`, and \`.maz\` or \`.abs\` at its end`;
}

/**
 * Returns the values in a field of a repeatable option: formulas are separated by semicolons, other
 * values by spaces. Spaces around `=` and next to brackets do not separate.
 */
export function valuesOf(text, formulas) {
  const tight = () => text.replace(/\s*=\s*/g, "=").replace(/\[\s*/g, "[").replace(/\s*\]/g, "]");
  const all = formulas ? text.split(";") : tight().split(/\s+/);
  return all.map((one) => one.trim()).filter(Boolean);
}

export class Cancelled extends Error {}

/** The command in a worker of this page. */
export class BrowserEngine {
  name = "in this browser";
  #module;
  #worker = null;
  #waiting = new Map();
  #number = 0;

  /** @param {Promise<WebAssembly.Module>} module the code, which may still be loading */
  constructor(module) {
    this.#module = module;
  }

  /** Starts to fetch the code. The first worker unpacks and compiles it. */
  static load() {
    let loading;
    const engine = new BrowserEngine(new Promise((loaded, failed) => (loading = { loaded, failed })));
    engine.#start(loading);
    return engine;
  }

  /** Returns another engine with the same code and its own worker. */
  twin() {
    return new BrowserEngine(this.#module);
  }

  #start(loading) {
    const worker = new Worker("worker.js", { type: "module" });
    this.#worker = worker;
    worker.onmessage = ({ data: { number, progress, answer, module, failed } }) => {
      if (module) loading.loaded(module);
      if (failed) loading.failed(new Error(failed));
      const waiting = this.#waiting.get(number);
      if (progress !== undefined) waiting?.progress(progress);
      if (answer) {
        this.#waiting.delete(number);
        waiting?.resolve(answer);
      }
    };
    worker.onerror = (event) => {
      const error = new Error(event.message || "the engine stopped");
      loading?.failed(error);
      this.#stop(error);
    };
    if (loading) {
      const packed = fetch("mazurka.wasm.lzma").then((answer) => {
        if (!answer.ok) throw new Error("the engine is missing: page/build makes it");
        return answer.arrayBuffer();
      });
      packed.then((bytes) => worker.postMessage({ packed: bytes }, [bytes]), loading.failed);
    }
    // The worker gets the code first, and then the requests in their order.
    this.#module.then((module) => loading || worker.postMessage({ module }), (error) => this.#stop(error));
  }

  // Ends the worker, and rejects the pending requests.
  #stop(error) {
    this.#worker?.terminate();
    this.#worker = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
  }

  ask(request, progress = () => {}) {
    if (!this.#worker) this.#start();
    const worker = this.#worker;
    const number = ++this.#number;
    const words = [...(request.words ?? wordsOf(request)), "--progress-lines"];
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject, progress });
      this.#module.then(() => worker.postMessage({ number, words, files: request.files }), () => {});
    });
  }

  cancel() {
    this.#stop(new Cancelled("cancelled"));
  }
}

/** The engine of `mazurka serve`. */
export class ServerEngine {
  name = "native, by mazurka serve";
  #token;
  #running = new Set();

  constructor(token) {
    this.#token = token;
  }

  twin() {
    return new ServerEngine(this.#token);
  }

  #headers() {
    return { "content-type": "application/json", ...(this.#token ? { authorization: `Bearer ${this.#token}` } : {}) };
  }

  async ask({ command, file, files, options, format }, progress = () => {}) {
    const abort = new AbortController();
    this.#running.add(abort);
    try {
      const answer = await fetch("api/search", {
        method: "POST", headers: this.#headers(), signal: abort.signal,
        body: JSON.stringify({ command, file, files, options, format }),
      });
      if (!answer.ok) return { code: 3, out: "", err: `${await answer.text()}\n` };
      return await this.#events(answer.body, progress);
    } catch (error) {
      if (error.name === "AbortError") throw new Cancelled("cancelled");
      throw error;
    } finally {
      this.#running.delete(abort);
    }
  }

  // Server-sent events: `progress` with a line, and finally `answer`.
  async #events(body, progress) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new Error("the server ended before it answered");
      text += value;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        const field = (name) => event.split("\n").filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).replace(/^ /, "")).join("\n");
        if (field("event") === "progress") progress(field("data"));
        if (field("event") === "answer") return JSON.parse(field("data"));
      }
    }
  }

  cancel() {
    for (const abort of this.#running) abort.abort();
  }
}

/** Returns the engine that the page names: `mazurka serve`, or the browser. */
export async function findEngine(token) {
  if (document.querySelector("meta[name=engine]").content === "native") {
    return { engine: new ServerEngine(token), table: await (await fetch("about.json")).json() };
  }
  const engine = BrowserEngine.load();
  const { out } = await engine.ask({ words: ["flags"], files: {} });
  return { engine, table: JSON.parse(out) };
}
