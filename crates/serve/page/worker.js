// A worker that runs one command at a time. To cancel a command, the page ends the worker.
import { unpack } from "./unpack.js";
import { run } from "./wasi.js";

let module;

onmessage = async ({ data }) => {
  if (data.packed) {
    try {
      module = await WebAssembly.compile(unpack(new Uint8Array(data.packed)));
      postMessage({ module });
    } catch (error) {
      postMessage({ failed: error.message });
    }
    return;
  }
  if (data.module) {
    module = data.module;
    return;
  }
  const { number, words, files } = data;
  const progress = (line) => postMessage({ number, progress: line });
  try {
    postMessage({ number, answer: run(module, { words, files, progress }) });
  } catch (error) {
    postMessage({ number, answer: { code: 4, out: "", err: `the engine stopped: ${error.message}\n` } });
  }
};
