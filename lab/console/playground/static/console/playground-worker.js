// Python in the browser: this worker loads Python and the project's modules once, then runs the page's tasks.
let python;
let program;

async function load({ pyodide, modules, module = "lab.playground.experiment" }) {
  const { loadPyodide } = await import(`${pyodide}pyodide.mjs`);
  const [runtime, archive] = await Promise.all([
    // The server's processes for students' policies use the same seed.
    loadPyodide({ indexURL: pyodide, env: { HOME: "/home/pyodide", PYTHONHASHSEED: "0" } }),
    fetch(modules).then((answer) => {
      if (!answer.ok) throw new Error(`${modules}: ${answer.status}`);
      return answer.arrayBuffer();
    }),
  ]);
  runtime.unpackArchive(archive, "zip");
  runtime.runPython("import json");
  program = runtime.pyimport(module);
  python = runtime;
}

function run(choice) {
  const answer = python.globals.get("json").dumps(program.run(python.toPy(choice)));
  return JSON.parse(answer);
}

// Define a function that sends its answer in parts, as JSON.
function call(id, { name, texts }) {
  program[name](...texts, (part) => self.postMessage({ id, part: JSON.parse(part) }));
}

self.addEventListener("message", async ({ data }) => {
  try {
    if (data.load) await load(data.load);
    if (data.call) call(data.id, data.call);
    self.postMessage({ id: data.id, answer: data.choices?.map(run), done: true });
  } catch (fault) {
    // The last line of Python's traceback is the error.
    const lines = String(fault.message).trim().split("\n");
    self.postMessage({ id: data.id, fault: lines.at(-1).replace(/^[\w.]+Error: /, "") });
  }
});
