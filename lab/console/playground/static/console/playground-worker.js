// The simulator in the browser: loads Python and the project's modules once, then runs what the page sends.
let python;

async function load({ pyodide, modules }) {
  const { loadPyodide } = await import(`${pyodide}pyodide.mjs`);
  const [runtime, archive] = await Promise.all([
    loadPyodide({ indexURL: pyodide }),
    fetch(modules).then((answer) => {
      if (!answer.ok) throw new Error(`${modules}: ${answer.status}`);
      return answer.arrayBuffer();
    }),
  ]);
  runtime.unpackArchive(archive, "zip");
  runtime.runPython("import json\nfrom lab.playground import experiment");
  python = runtime;
}

function run(choice) {
  const answer = python.globals.get("json").dumps(
    python.runPython("experiment.run").call(undefined, python.toPy(choice)),
  );
  return JSON.parse(answer);
}

self.addEventListener("message", async ({ data }) => {
  try {
    if (data.load) await load(data.load);
    self.postMessage({ id: data.id, answer: data.choices?.map(run) });
  } catch (fault) {
    // The last line of Python's traceback says what is wrong.
    const lines = String(fault.message).trim().split("\n");
    self.postMessage({ id: data.id, fault: lines.at(-1).replace(/^[\w.]+Error: /, "") });
  }
});
