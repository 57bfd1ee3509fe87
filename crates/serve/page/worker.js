// A worker that runs one command at a time. To cancel it, the page ends the worker.
import { run } from "./wasi.js";

let module;

onmessage = ({ data }) => {
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
