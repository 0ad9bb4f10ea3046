// Runs side by side: all runs show their samples at the same moment of paper time.
"use strict";
addEventListener("DOMContentLoaded", async () => {
  const pages = json("pages");
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
  const marked = runs.flatMap(({ frames }) => frames.marks);
  speed.value = [...speed.options].map((one) => one.value).find((one) => end / Number(one) <= 60) ?? "600"; // a race of about a minute
  let time = 0;
  let plays = !isCalm;
  let last = performance.now();
  let drawnAt = -Infinity;

  for (const { title, colour, element } of runs) {
    element.style.setProperty("--colour", colour);
    board.add(byId("board"), title, colour);
  }
  const { experiment, field } = place.dataset;
  const saved = () => ({ note: `${experiment}, ${field} (${place.dataset.result}); from 0 to ${fixed(time)} paper seconds`, file: [experiment.slice(0, 60), field] });
  byId("chart-confirms").previousElementSibling.textContent = sells ? "Confirms" : "Pages completed";
  const lines = (id, column) => {
    const plot = chart(byId(id), runs.map(({ title, colour, number }) => ({ label: title, colour, dash: lineDash(number) })), marked, undefined, { saved });
    const at = timesOf(runs.map(({ frames }) => frames));
    const values = runs.map(({ frames }) => valuesAt(at, frames, column));
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
  const charts = [lines("chart-confirms", measure), lines("chart-waiting", "waiting")];

  function draw() {
    set(byId("clock"), `${fixed(time)} s`);
    slider.value = end ? (1000 * time) / end : 0;
    slider.setAttribute("aria-valuetext", `${fixed(time)} of ${fixed(end)} paper seconds`);
    set(byId("play"), plays ? "Pause" : time >= end ? "Again" : "Play");
    const scores = [];
    for (const { element, frames } of runs) {
      const at = indexAt(frames.time_s, time);
      bars(element.querySelector(".queues"), frames.waiting_by_page.map((page) => page[at]), most, pages);
      setParts(element, {
        badge: frames.discipline[at] || "",
        ended: time > frames.time_s.at(-1) && frames.time_s.at(-1) < end ? `ended at ${fixed(frames.time_s.at(-1))} s` : "",
        confirms: frames.confirms_total[at],
        answered: frames.answered_total[at],
        waiting: frames.waiting[at],
        refused: frames.dropped_total[at] + frames.rejected_total[at],
        orphaned: frames.orphaned_total[at],
        cpu: percent(frames.cpu_utilisation_ratio[at]),
      });
      scores.push(frames[measure][at]);
    }
    board.show(byId("board"), scores, goal, time >= end ? "wins" : "leads");
    if (performance.now() - drawnAt > 250 || !plays) {
      drawnAt = performance.now();
      for (const one of charts) one();
    }
    say(scores);
  }

  const isDue = seldom();
  let saidEnd = false;
  function say(scores) {
    // The text for screen readers also changes at the end.
    const isEnd = time >= end;
    const isSaid = isEnd ? saidEnd : !isDue();
    saidEnd = isEnd;
    if (isSaid) return;
    set(byId("summary"), `${isEnd ? "The end" : `${fixed(time)} seconds`}, ${byId("measure").textContent}: ${board.words(runs.map(({ title }) => title), scores)}`);
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
    if (plays && (!isCalm || now - last > 1000)) {
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
