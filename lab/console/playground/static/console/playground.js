// Two policies with the same customers: the settings are in the address, the simulator is a worker, and the page shows the outcome.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const SIDES = ["a", "b"];
  const FIRST = { "policy-a": "sq", "policy-b": "door-lifo" };
  const WAIT_MS = 250; // a slider moves in many steps, and only the last step counts
  const PLAYED_IN_S = 20;
  const form = byId("choices");
  const fields = [...form.elements].filter((one) => one.name);

  // ---- settings -------------------------------------------------------------------------------
  const defaults = () => Object.fromEntries(fields.map((one) => [one.name, FIRST[one.name] ?? one.defaultValue ?? one.options[0].value]));
  function take(values) {
    for (const one of fields) {
      const value = values[one.name];
      if (value === undefined || value === null) continue;
      if (one.options && ![...one.options].some((option) => option.value === value)) continue;
      one.value = value;
    }
  }
  function show() {
    showSliders(form);
    for (const side of SIDES) {
      const option = byId(`policy-${side}`).selectedOptions[0];
      set(byId(`idea-${side}`), option.dataset.idea);
      for (const place of [form.querySelector(`[data-side="${side}"]`), byId(`shop-${side}`).parentElement]) place.style.setProperty("--rival", option.dataset.colour);
      set(byId(`shop-${side}`), titleOf(side));
    }
    byId("sessions").disabled = byId("shape").value === "rush"; // a rush ends at a time, not after a number of sessions
  }
  function titleOf(side) {
    const admission = byId(`admission-${side}`);
    const behind = admission.value === "none" ? "" : ` + ${admission.selectedOptions[0].textContent}`;
    return byId(`policy-${side}`).selectedOptions[0].textContent + behind;
  }
  function address() {
    const usual = defaults();
    const query = new URLSearchParams();
    for (const one of fields) if (one.value !== String(usual[one.name])) query.set(one.name, one.value);
    const text = query.toString();
    return location.pathname + (text ? `?${text}` : "");
  }
  function choices() {
    const common = { shape: byId("shape").value, ...valuesOf(form) };
    return SIDES.map((side) => ({ ...common, policy: byId(`policy-${side}`).value, admission: byId(`admission-${side}`).value }));
  }

  // ---- the simulator --------------------------------------------------------------------------
  const worker = new Worker(byId("worker").dataset.source, { type: "module" });
  let asked = 0;
  let running = 0;
  let next = null;
  let timer;
  let begun;
  const send = (message) => worker.postMessage({ id: (running = ++asked), ...message });
  function simulate() {
    if (running) {
      next = choices(); // only the newest settings matter
      return;
    }
    begun = performance.now();
    set(byId("state"), "Simulating …");
    byId("outcome").classList.add("stale");
    send({ choices: choices() });
  }
  worker.addEventListener("message", ({ data }) => {
    running = 0;
    byId("fault").hidden = !data.fault;
    if (data.fault) set(byId("fault"), data.fault);
    if (next || !data.answer) {
      if (!next && data.fault) {
        set(byId("state"), "");
        return;
      }
      next = null;
      simulate();
      return;
    }
    const requests = data.answer.reduce((sum, one) => sum + one.metrics.requests, 0);
    set(byId("state"), `${format(requests)} served pages simulated in ${format((performance.now() - begun) / 1000, 1)} s`);
    byId("outcome").classList.remove("stale");
    draw(data.answer);
  });
  worker.addEventListener("error", (event) => {
    set(byId("fault"), `The simulator could not be loaded: ${event.message ?? "the worker failed"}. Load the page again.`);
    byId("fault").hidden = false;
  });

  // ---- the outcome --------------------------------------------------------------------------
  let runs = [];
  let end = 0;
  let time = 0;
  let plays = false;
  let last = 0;
  let charts = [];
  const slider = byId("time");

  function draw(answer) {
    const isFirst = byId("outcome").hidden;
    byId("outcome").hidden = false;
    runs = SIDES.map((side, number) => ({ side, title: titleOf(side), colour: byId(`policy-${side}`).selectedOptions[0].dataset.colour, element: byId(`shop-${side}`).parentElement, ...answer[number] }));
    end = Math.max(...runs.map(({ samples }) => samples.time_s.at(-1)));
    set(byId("verdict"), verdict());
    runs.forEach(({ title }, number) => set(byId("metrics").parentElement.tHead.rows[0].cells[number + 1], title));
    fillRows(byId("metrics"), metricRows(runs.map(({ metrics }) => metrics)));
    plots();
    set(byId("command"), command());
    plays = isFirst && !isCalm;
    time = plays ? 0 : end;
    play();
  }

  function verdict() {
    const [a, b] = runs.map(({ title, metrics }) => ({ title, ...metrics }));
    const most = Math.max(a.confirm_bound, b.confirm_bound);
    const best = Math.max(a.confirms, b.confirms);
    const limit = most < 0.5 ? "" : best >= most ? ` This is about the most that any policy could sell (${format(most)}).` : ` At most ${format(most)} sales were possible.`;
    if (a.confirms === b.confirms) return `${a.title} and ${b.title} both sold ${format(a.confirms)}.${limit} Try another seed, because chance has a large effect on a single run.`;
    const [more, less] = a.confirms > b.confirms ? [a, b] : [b, a];
    const chance = more.confirms - less.confirms < 2 * Math.sqrt(more.confirms + less.confirms) ? " The difference is small, so try other seeds before you rely on this result." : "";
    return `${more.title} sold ${format(more.confirms)}, and ${less.title} sold ${format(less.confirms)}.${limit}${chance}`;
  }

  function plots() {
    const series = runs.map(({ title, colour }, number) => ({ label: title, colour, dash: lineDash(number) }));
    const at = timesOf(runs.map(({ samples }) => samples));
    const column = (name) => runs.map(({ samples }) => valuesAt(at, samples, name));
    const seconds = runs[0].unanswered.map((_, second) => second);
    const drawn = [
      ["chart-waiting", [at, ...column("waiting")]],
      ["chart-confirms", [at, ...column("confirms_total")]],
      ["chart-unanswered", [seconds, ...runs.map(({ unanswered }) => unanswered)], () => [0, 1]],
    ];
    for (const plot of charts) plot.destroy();
    const saved = () => ({ note: `Simulated in a browser: ${byId("command").textContent}`, file: ["playground", ...runs.map(({ title }) => title), `rho ${byId("rho").value}`] });
    charts = drawn.map(([id, data, range]) => redrawn(byId(id), data, series, saved, range));
  }

  function command() {
    const value = (name) => byId(name).value;
    if (value("shape") === "rush") return "a spec with [[load.schedule]] (docs/experiments.md)";
    const own = ["timeout_s", "think_timeout_mean_s", "retry_probability", "think_time_mean_s"].some((name) => byId(name).value !== byId(name).defaultValue);
    const policies = [...new Set(SIDES.map((side) => value(`policy-${side}`)))].join(",");
    const admissions = [...new Set(SIDES.map((side) => value(`admission-${side}`)))].join(",");
    const text = `make simulate ARGS="--policies ${policies} --admission ${admissions} --rho ${value("rho")} --sessions ${value("sessions")} --repetitions 1 --seed ${value("seed")}"`;
    return own ? `${text}, with the settings above in [customers] of a spec` : text;
  }

  // ---- playback --------------------------------------------------------------------------------
  function frame(now) {
    if (!plays) return;
    time = Math.min(end, time + ((now - last) / 1000) * (end / PLAYED_IN_S));
    last = now;
    if (time >= end) plays = false;
    moment();
    if (plays) requestAnimationFrame(frame);
    else set(byId("play"), "Play again");
  }
  function play() {
    set(byId("play"), plays ? "Pause" : time >= end ? "Play again" : "Play");
    last = performance.now();
    moment();
    if (plays) requestAnimationFrame(frame);
  }

  function moment() {
    slider.value = end ? Math.round((1000 * time) / end) : 0;
    slider.setAttribute("aria-valuetext", `${format(time)} seconds`);
    set(byId("clock"), `${format(time)} s`);
    for (const { element, samples } of runs) {
      const at = indexAt(samples.time_s, time);
      const hasBegun = time >= samples.time_s[0];
      const value = (name) => (hasBegun ? samples[name][at] : 0);
      setParts(element, {
        waiting: format(value("waiting")),
        "in-service": format(value("in_service")),
        bought: format(value("confirms_total")),
        served: format(value("answered_total")),
        refused: format(value("dropped_total") + value("rejected_total")),
        wasted: format(value("orphaned_total")),
      });
      element.querySelector(".till .fill").style.width = `${Math.min(100, (100 * value("in_service")) / 30)}%`;
      squares(element.querySelector("canvas"), PAGES.map((page) => value(`waiting_${page}`)));
    }
  }

  const PAGES = [...document.querySelectorAll(".key li")].map((one) => one.textContent.trim());
  function squares(canvas, waiting) {
    const ratio = devicePixelRatio;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio)) [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const number = waiting.reduce((a, b) => a + b, 0);
    let side = 14; // smaller squares where more customers wait
    while (side > 3 && Math.floor((width - 8) / side) * Math.floor((height - 8) / side) < number) side -= 1;
    const columns = Math.max(1, Math.floor((width - 8) / side));
    let place = 0;
    waiting.forEach((count, page) => {
      pen.fillStyle = style(`--p${page}`);
      for (let i = 0; i < count; i += 1, place += 1) {
        const [x, y] = [4 + (place % columns) * side, 4 + Math.floor(place / columns) * side];
        if (y + side > height) return;
        pen.fillRect(x, y, side - 2, side - 2);
      }
    });
  }

  // ---- actions of the visitor --------------------------------------------------------------------
  form.addEventListener("input", () => {
    show();
    history.replaceState(null, "", address());
    clearTimeout(timer);
    timer = setTimeout(simulate, WAIT_MS);
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    take(defaults());
    form.dispatchEvent(new Event("input"));
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("link").addEventListener("click", async () => {
    const link = new URL(address(), location.href).href;
    try {
      await navigator.clipboard.writeText(link);
      set(byId("state"), "The link has been copied.");
    } catch {
      history.replaceState(null, "", address());
      set(byId("state"), "Copy the address of this page; it contains all settings.");
    }
  });
  byId("play").addEventListener("click", () => {
    plays = !plays;
    if (plays && time >= end) time = 0;
    play();
  });
  slider.addEventListener("input", () => {
    plays = false;
    time = (Number(slider.value) / 1000) * end;
    play();
  });
  addEventListener("themed", moment);
  addEventListener("resize", () => runs.length && moment());

  take({ ...defaults(), ...Object.fromEntries(new URLSearchParams(location.search)) });
  show();
  send({ load: json("addresses") });
});
