// Runs side by side: all runs show their samples at the same moment of paper time.
"use strict";
addEventListener("DOMContentLoaded", async () => {
  const DASHES = [undefined, [10, 5], [3, 4], [12, 4, 3, 4]];
  const byId = (id) => document.getElementById(id);
  const PAGES = JSON.parse(byId("pages").textContent);
  const place = document.querySelector(".race-runs");
  let runs;
  try {
    runs = await Promise.all(
      [...place.children].map(async (element, number) => {
        const answer = await fetch(`/race/lanes/${encodeURIComponent(place.dataset.result)}/${encodeURIComponent(element.dataset.run)}.json`);
        if (!answer.ok) throw new Error(`${element.dataset.title}: its samples cannot be read`);
        return { element, number, title: element.dataset.title, colour: element.dataset.colour, frames: await answer.json() };
      }),
    );
  } catch (fault) {
    byId("fault").textContent = fault.message;
    byId("fault").hidden = false;
    return;
  }
  const largest = (values) => values.reduce((a, b) => Math.max(a, b), 0);
  const end = largest(runs.map(({ frames }) => frames.time_s.at(-1)));
  const most = Math.max(10, ...runs.flatMap(({ frames }) => frames.waiting_by_page.map(largest)));
  // Clients of a closed loop buy nothing, so the page shows their completed pages instead of sales.
  const sells = runs.some(({ frames }) => frames.confirms_total.at(-1) > 0);
  const measure = sells ? "confirms_total" : "answered_total";
  const goal = Math.max(1, ...runs.map(({ frames }) => frames[measure].at(-1)));
  byId("measure").textContent = sells ? "confirms" : "pages completed";
  const slider = byId("time");
  const speed = byId("speed");
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const marked = runs.flatMap(({ frames }) => frames.marks);
  speed.value = [...speed.options].map((one) => one.value).find((one) => end / Number(one) <= 60) ?? "600"; // a race of about a minute
  let time = 0;
  let plays = !calm;
  let last = performance.now();
  let drawnAt = -Infinity;

  const board = byId("board");
  for (const { title, colour, element } of runs) {
    const row = document.createElement("li");
    for (const part of [row, element]) part.style.setProperty("--colour", colour);
    row.innerHTML = '<span class="who"></span><span class="track"><span class="fill"></span></span><span class="score"></span><span class="leads"></span>';
    row.querySelector(".who").textContent = title;
    board.append(row);
  }
  const { experiment, field } = place.dataset;
  const saved = () => ({ note: `${experiment}, ${field} (${place.dataset.result}); from 0 to ${time.toFixed(0)} paper seconds`, file: [experiment.slice(0, 60), field] });
  byId("chart-confirms").previousElementSibling.textContent = sells ? "Confirms" : "Pages completed";
  const lines = (id, column) => {
    const plot = chart(byId(id), runs.map(({ title, colour, number }) => ({ label: title, colour, dash: DASHES[number] })), marked, undefined, { saved });
    const times = [...new Set(runs.flatMap(({ frames }) => frames.time_s))].sort((a, b) => a - b);
    const every = Math.max(1, Math.ceil(times.length / 800));
    const at = times.filter((_, i) => i % every === 0 || i === times.length - 1);
    const values = runs.map(({ frames }) => at.map((each) => (each > frames.time_s.at(-1) ? null : frames[column][index(frames.time_s, each)])));
    const top = largest(values.map((one) => largest(one.map((v) => v ?? 0))));
    plot.setScale("x", { min: 0, max: end });
    return () => {
      const until = at.findLastIndex((each) => each <= time) + 1;
      plot.batch(() => {
        plot.setData([at, ...values.map((one) => one.map((v, i) => (i < until ? v : null)))], false);
        plot.setScale("x", { min: 0, max: end });
        plot.setScale("y", { min: 0, max: Math.max(1, top * 1.1) });
      });
    };
  };

  function index(times, at) {
    // The last sample at or before `at`.
    let low = 0;
    let high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }
  const charts = [lines("chart-confirms", measure), lines("chart-waiting", "waiting")];

  const set = (element, text) => element.textContent !== String(text) && (element.textContent = text);

  function draw() {
    const words = `${time.toFixed(0)} s`;
    set(byId("clock"), words);
    slider.value = end ? (1000 * time) / end : 0;
    slider.setAttribute("aria-valuetext", `${time.toFixed(0)} of ${end.toFixed(0)} paper seconds`);
    set(byId("play"), plays ? "Pause" : time >= end ? "Again" : "Play");
    const scores = [];
    for (const { element, frames } of runs) {
      const at = index(frames.time_s, time);
      const show = (name, value) => set(element.querySelector(`.${name}`), value);
      bars(element.querySelector(".queues"), frames.waiting_by_page.map((page) => page[at]), most, PAGES);
      show("badge", frames.discipline[at] || "");
      show("ended", time > frames.time_s.at(-1) && frames.time_s.at(-1) < end ? `ended at ${frames.time_s.at(-1).toFixed(0)} s` : "");
      show("confirms", frames.confirms_total[at]);
      show("waiting", frames.waiting[at]);
      show("answered", frames.answered_total[at]);
      show("refused", frames.dropped_total[at] + frames.rejected_total[at]);
      show("orphaned", frames.orphaned_total[at]);
      const cpu = frames.cpu_utilisation_ratio[at];
      show("cpu", cpu === null ? "–" : `${Math.round(100 * cpu)} %`);
      scores.push(frames[measure][at]);
    }
    const best = Math.max(...scores);
    const leaders = scores.filter((score) => score === best).length;
    scores.forEach((score, number) => {
      const row = board.children[number];
      const leads = best > 0 && score === best && leaders === 1;
      row.classList.toggle("leader", leads);
      row.querySelector(".fill").style.width = `${(100 * score) / goal}%`;
      set(row.querySelector(".score"), score);
      set(row.querySelector(".leads"), leads ? (time >= end ? "wins" : "leads") : "");
    });
    if (performance.now() - drawnAt > 250 || !plays) {
      drawnAt = performance.now();
      for (const one of charts) one();
    }
    say(scores);
  }

  const SAY_EVERY_MS = 10000;
  let saidAt = -Infinity;
  let saidEnd = false;
  function say(scores) {
    // The text for screen readers changes only from time to time, and at the end.
    const isEnd = time >= end;
    if (!isEnd) saidEnd = false;
    if (saidEnd || (!isEnd && performance.now() - saidAt < SAY_EVERY_MS)) return;
    saidAt = performance.now();
    saidEnd = isEnd;
    const told = runs.map(({ title, number }) => `${title} ${scores[number]}`).join(", ");
    set(byId("summary"), `${isEnd ? "The end" : `${time.toFixed(0)} seconds`}, ${byId("measure").textContent}: ${told}`);
  }

  function seek(to) {
    time = Math.min(end, Math.max(0, to));
    draw();
  }
  function toggle() {
    if (!plays && time >= end) time = 0;
    plays = !plays;
    last = performance.now();
    draw();
  }
  function step(now) {
    // If the user prefers less motion, the page draws one picture per second instead of sixty.
    if (plays && (!calm || now - last > 1000)) {
      time = Math.min(end, time + ((now - last) / 1000) * Number(speed.value));
      last = now;
      if (time >= end) plays = false;
      draw();
    } else if (!plays) last = now;
    requestAnimationFrame(step);
  }
  byId("play").addEventListener("click", toggle);
  slider.addEventListener("input", () => seek((end * slider.value) / 1000));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, button, a, textarea, summary")) return;
    const keys = { " ": toggle, ArrowLeft: () => seek(time - end / 50), ArrowRight: () => seek(time + end / 50), Home: () => seek(0), End: () => seek(end) };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  draw();
  place.dataset.ready = "yes";
  requestAnimationFrame(step);
});
