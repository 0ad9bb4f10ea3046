// The stream of samples of the gateway, and the parts of the newest sample that every live page shows.
"use strict";
const live = (() => {
  const KEPT = 2400;
  const state = { frames: [], marks: [], newest: null };
  const listeners = [];
  const awayListeners = [];
  const LOST = "The console does not answer, so this page shows old values. New values appear as soon as the console answers again.";
  const ENDED = "The console no longer sends data to this page, so it shows old values. Load the page again; you may have to log in again.";
  const money = new Intl.NumberFormat("en", { style: "currency", currency: "EUR", maximumFractionDigits: 0 });

  function take(frame) {
    if (frame.away) {
      state.newest = frame;
      return;
    }
    const last = state.frames.at(-1);
    if (last && last.gateway !== frame.gateway) state.frames.length = state.marks.length = 0; // its clock and counts begin again
    for (const mark of frame.marks || []) state.marks.push(mark);
    state.frames.push(frame);
    if (state.frames.length > KEPT) state.frames.shift();
    state.newest = frame;
  }

  // The start of the run in progress, or of the last run; undefined before the first run.
  const start = () => state.marks.findLast((one) => one.kind === "start");

  // The frame that is `seconds` (real) older than number `at`, or the frame before it.
  function earlier(at, seconds) {
    let i = at - 1;
    while (i > 0 && state.frames[at].at - state.frames[i].at < seconds) i -= 1;
    return state.frames[i];
  }
  // Requests with a fate per paper second, over about the last two real seconds; null if unknown.
  function rate(at, ...fates) {
    if (at < 1) return null;
    const [before, now] = [earlier(at, 2), state.frames[at]];
    const passed = now.time_s - before.time_s;
    if (passed <= 0) return null;
    const more = fates.reduce((sum, fate) => sum + now.counts[fate] - before.counts[fate], 0);
    return more / passed;
  }

  const time = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: "UTC" });

  function wasted(frame) {
    if (frame.run && !frame.run.run) return null; // before a run, for example while the capacity is measured
    const from = start()?.base.work ?? state.frames[0].work;
    const since = (name) => (frame.work[name] ?? 0) - (from[name] ?? 0);
    const spent = since("cpu_s");
    return spent > 0.5 ? Math.max(0, (since("wasted_cpu_s") + since("unanswered_cpu_s")) / spent) : null;
  }

  const ABANDONMENT = { ignore: "orphan requests are served in full", "drop-queued": "orphan requests are removed from the queue", cancel: "orphan requests are stopped" };

  // The run in progress, the changes during it, and the run whose purchases the tiles show afterwards.
  function runWords({ run, sold, title }) {
    const ended = sold?.ended_at ? `confirms and revenue are from ${sold.words}, which ended at ${time.format(sold.ended_at * 1000)} UTC` : "";
    if (!run) return ["No run is in progress", ended].filter(Boolean).join("; ");
    const begun = start();
    const switched = run.run && begun && state.marks.some((mark) => mark.kind === "policy" && mark.at >= begun.at);
    const changed = [switched ? `now ${title} decides` : "", run.load_factor && run.load_factor !== 1 ? run.load_words : ""];
    return [run.words, ...changed, ended].filter(Boolean).join(" · ");
  }

  const beyondWords = (number) => `(${number} newer ${number === 1 ? "request is" : "requests are"} not shown)`;

  // The texts of a frame by the name of their place (data-show).
  function texts() {
    const frame = state.newest;
    const at = state.frames.length - 1;
    const found = {
      run: runWords(frame),
      moment: frame.moment,
      policy: frame.title,
      fallen_back: frame.fallen_back,
      discipline: frame.discipline,
      abandonment: ABANDONMENT[frame.abandonment] ?? frame.abandonment,
      confirms: frame.confirms ?? "–",
      revenue: frame.sold ? money.format(frame.sold.revenue_cents / 100) : "–",
      waiting: frame.waiting ?? "–",
      "in-service": `${frame.in_service} / ${frame.workers}`,
      cpu: percent(frame.cpu_utilisation_ratio),
      dropped: fixed(rate(at, "dropped", "rejected"), 1),
      wasted: percent(wasted(frame)),
      beyond: frame.strip && frame.waiting > frame.strip.length ? beyondWords(frame.waiting - frame.strip.length) : "",
    };
    for (const fate of ["arrived", "answered", "abandoned_waiting"]) found[fate] = fixed(rate(at, fate), 1);
    if (frame.sessions) found.sessions = `${frame.sessions.admitted} / ${frame.sessions.rejected}`;
    if (frame.connections) found.connections = ["new", "resumed", "refused"].map((kind) => frame.connections[kind]).join(" / ");
    return found;
  }

  function show() {
    const frame = state.newest;
    const away = byId("away");
    if (away) {
      away.hidden = !frame.away;
      set(away, (frame.away ?? "").replaceAll("`", "")); // terminals get the same sentence
    }
    if (frame.away) {
      const moment = document.querySelector('[data-show="moment"]');
      if (moment) set(moment, ""); // it describes the present, which is unknown
      return;
    }
    const found = texts();
    // Before a run and between runs, the sentence of the moment says the same.
    if (frame.run && !frame.run.run && document.querySelector('[data-show="moment"]')) found.run = "";
    for (const place of document.querySelectorAll("[data-show]")) set(place, found[place.dataset.show] ?? "");
    for (const part of document.querySelectorAll("[data-only]")) part.hidden = !frame[part.dataset.only];
  }

  // Screen readers get a sentence from time to time instead of every changed number.
  const isDue = seldom();
  function say() {
    const place = byId("summary");
    if (!place || state.newest.away || !isDue()) return;
    const found = texts();
    const confirms = found.confirms === "–" ? "" : ` ${found.confirms} ${found.confirms === 1 ? "confirm" : "confirms"} so far.`;
    set(place, `${found.policy}. ${found.moment}${confirms}`);
  }

  function told() {
    if (!state.newest) return;
    show();
    say();
    for (const listener of state.newest.away ? awayListeners : listeners) listener();
  }

  function opened(address) {
    const stream = new EventSource(address);
    stream.addEventListener("history", (event) => {
      const { frames, marks } = JSON.parse(event.data);
      state.frames.length = state.marks.length = 0;
      for (const frame of frames) take({ ...frame, marks: [] });
      state.marks.push(...marks);
      told();
    });
    stream.addEventListener("look", (event) => {
      take(JSON.parse(event.data));
      told();
    });
    stream.addEventListener("error", () => {
      // The browser connects again by itself, unless it was refused or redirected to another page.
      take({ away: stream.readyState === EventSource.CLOSED ? ENDED : LOST });
      told();
    });
    return stream;
  }

  function follow(address = "/watch/stream") {
    let stream = opened(address);
    addEventListener("pagehide", () => stream.close());
    // The browser shows a kept page again, without loading it.
    addEventListener("pageshow", (event) => {
      if (event.persisted) stream = opened(address);
    });
  }
  return { state, start, rate, follow, onLook: (listener) => listeners.push(listener), onAway: (listener) => awayListeners.push(listener) };
})();

// Each waiting request is a square: a new request enters on the right; a request that leaves fades at its place.
function strip(element) {
  const DENSE = 130; // if there are more squares, they are drawn smaller
  const shown = new Map();
  return (requests) => {
    const now = new Map(requests.map((request) => [request[0], request]));
    element.classList.toggle("dense", requests.length > DENSE);
    for (const [id, dot] of shown) {
      if (now.has(id)) continue;
      shown.delete(id);
      dot.classList.add("goes");
      setTimeout(() => dot.remove(), isCalm ? 0 : 350);
    }
    for (const [id, page, left] of requests) {
      let dot = shown.get(id);
      if (!dot) {
        dot = document.createElement("i");
        dot.className = `request q${page}${isCalm ? "" : " comes"}`;
        shown.set(id, dot);
        element.append(dot); // ids only grow: the newest is always the last
      }
      dot.classList.toggle("left", Boolean(left));
    }
  };
}
