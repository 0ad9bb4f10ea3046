// The watch page: squares, bars and charts, drawn from the stream of samples.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const { state } = live;
  const pages = json("pages");
  const queues = document.querySelector(".queues");
  const drawStrip = strip(document.querySelector(".strip"));
  const drawn = []; // the marks in the form that the charts need
  let most = 20;

  // On a screen of 768 pixels, two rows of charts fit below the content above them.
  const rem = () => Math.min(13, Math.max(6.6, (innerHeight / textSize() - 34) / 2));
  const roomy = (plot, low, high) => [0, Math.max(1, high * 1.45)]; // leaves space for the texts of marks above the lines
  const saved = () => {
    const said = document.querySelector('[data-show="run"]').textContent.trim();
    const now = new Date().toISOString().slice(0, 16);
    return { note: [said, `${now.replace("T", " ")} UTC`, "paper seconds since the beginning of the run"].filter(Boolean).join(" · "), file: ["watch", now.replace(":", "")] };
  };
  const one = (id, series, range = roomy) => chart(byId(id), series, drawn, range, { sync: "watch", rem, xLabel: "", saved });
  const waiting = one("chart-waiting", [{ label: "waiting", colour: "--bad" }, { label: "in service", colour: "--good", dash: [8, 4] }]);
  const rates = one("chart-rates", [{ label: "arrivals", colour: "--soft", dash: [4, 4] }, { label: "completed", colour: "--good" }, { label: "left waiting", colour: "--bad" }, { label: "turned away", colour: "--p4", dash: [8, 4] }]);
  const cpu = one("chart-cpu", [{ label: "CPU", colour: "--accent" }, { label: "upper", colour: "--soft", dash: [6, 4] }, { label: "lower", colour: "--soft", dash: [2, 4] }], () => [0, 1.4]);
  const confirms = one("chart-confirms", [{ label: "confirms", colour: "--good" }]);

  function shown() {
    // Frames of the chosen window, as paper seconds back from the newest.
    const from = state.newest.time_s - Number(byId("window").value);
    const first = state.frames.findIndex((frame) => frame.time_s >= from);
    return { first, frames: state.frames.slice(first) };
  }

  function draw() {
    const frame = state.newest;
    most = Math.max(20, most * 0.98, ...frame.waiting_by_page);
    bars(queues, frame.waiting_by_page, most, pages);
    if (frame.strip) drawStrip(frame.strip);
    const zero = live.start()?.time_s ?? state.frames[0].time_s;
    const { first, frames } = shown();
    drawn.length = 0;
    drawn.push(...state.marks.map((mark) => ({ x: mark.time_s - zero, text: mark.text, kind: mark.kind })));
    const times = frames.map((each) => each.time_s - zero);
    const rated = (...fates) => frames.map((_, i) => live.rate(first + i, ...fates));
    const since = live.start()?.at ?? Infinity; // purchases of an earlier run are not drawn
    waiting.setData([times, frames.map((each) => each.waiting), frames.map((each) => each.in_service)]);
    rates.setData([times, rated("arrived"), rated("answered"), rated("abandoned_waiting"), rated("dropped", "rejected")]);
    cpu.setData([times, frames.map((each) => each.cpu_utilisation_ratio), frames.map((each) => each.thresholds[0] ?? null), frames.map((each) => each.thresholds[1] ?? null)]);
    confirms.setData([times, frames.map((each) => (each.at >= since ? each.confirms : null))]);
    list();
  }

  // The marks as text, with the newest first, for readers who cannot point at a line.
  function list() {
    const place = byId("changes");
    const wanted = drawn.map(markWords).toReversed();
    if (place.childElementCount === wanted.length && (place.firstElementChild?.textContent ?? "") === (wanted[0] ?? "")) return;
    byId("changes-number").textContent = wanted.length;
    place.replaceChildren(...wanted.map((textContent) => Object.assign(document.createElement("li"), { textContent })));
  }

  const isDue = seldom();
  function describe() {
    // The pictures as text for screen readers.
    if (!isDue()) return;
    const lengths = pages.map((page, i) => `${page} ${state.newest.waiting_by_page[i] ?? "unknown"}`).join(", ");
    queues.setAttribute("aria-label", `Queue lengths: ${lengths}`);
    const gone = (state.newest.strip ?? []).filter(([, , left]) => left).length;
    const least = state.newest.waiting > (state.newest.strip ?? []).length ? "at least " : "";
    document.querySelector(".strip").setAttribute("aria-label", `Waiting requests: ${state.newest.waiting}, the oldest first. Waiting requests whose customer has left: ${least}${gone}.`);
  }

  // After a change of the policy by a new run, renew the control bar, unless the keyboard focus is in the bar.
  let begun = null;
  function renew() {
    const at = live.start()?.at ?? 0;
    const isKnown = begun === null || at === begun;
    if (!isKnown && byId("bar").contains(document.activeElement)) return;
    begun = at;
    if (!isKnown) htmx.ajax("GET", location.pathname, { target: "#bar", select: "#bar > *", swap: "innerHTML" });
  }

  live.onLook(draw);
  live.onLook(renew);
  live.onLook(describe);
  byId("window").addEventListener("change", () => state.newest && !state.newest.away && draw());
  live.follow();
});
