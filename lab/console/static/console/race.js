// Runs in step: every lane shows its samples at the same moment of paper time.
"use strict";
addEventListener("DOMContentLoaded", async () => {
  const lanes = document.querySelector(".lanes");
  if (!lanes) return;
  const shown = await Promise.all(
    [...lanes.children].map(async (lane) => {
      const answer = await fetch(`/race/frames/${lanes.dataset.result}/${encodeURIComponent(lane.dataset.run)}.json`);
      return { lane, frames: await answer.json() };
    }),
  );
  const end = Math.max(...shown.map(({ frames }) => frames.time_s.at(-1)));
  const most = Math.max(10, ...shown.flatMap(({ frames }) => frames.waiting_by_page.flatMap((page) => page.reduce((a, b) => Math.max(a, b), 0))));
  const slider = document.getElementById("time");
  const play = document.getElementById("play");
  const speed = document.getElementById("speed");
  let time = 0;
  let plays = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  let last = performance.now();

  function place(times) {
    // The last sample that is not after `time`.
    let low = 0;
    let high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  function draw() {
    document.getElementById("clock").textContent = `${time.toFixed(0)} s`;
    slider.value = end ? (1000 * time) / end : 0;
    slider.setAttribute("aria-valuetext", `${time.toFixed(0)} of ${end.toFixed(0)} paper seconds`);
    play.textContent = plays ? "Pause" : time >= end ? "Again" : "Play";
    for (const { lane, frames } of shown) {
      const at = place(frames.time_s);
      const set = (name, value) => (lane.querySelector(`.${name}`).textContent = value);
      bars(lane.querySelector(".queues"), frames.waiting_by_page.map((page) => page[at]), most);
      set("discipline", frames.discipline[at] || "\u00a0");
      const since = (column) => frames[column][at] - frames[column][0]; // the gateway counts from its start
      set("confirms", since("confirms_total"));
      set("waiting", frames.waiting[at]);
      set("answered", since("answered_total"));
      set("refused", since("dropped_total") + since("rejected_total"));
      set("orphaned", since("orphaned_total"));
      const cpu = frames.cpu_utilisation_ratio[at];
      set("cpu", cpu === null ? "–" : `${Math.round(100 * cpu)} %`);
    }
  }

  function step(now) {
    if (plays) {
      time = Math.min(end, time + ((now - last) / 1000) * Number(speed.value));
      if (time >= end) plays = false;
      draw();
    }
    last = now;
    requestAnimationFrame(step);
  }
  play.addEventListener("click", () => {
    if (!plays && time >= end) time = 0;
    plays = !plays;
    draw();
  });
  slider.addEventListener("input", () => {
    time = (end * slider.value) / 1000;
    draw();
  });
  draw();
  requestAnimationFrame(step);
});
