// The live page: a stream of looks at the gateway, drawn as they come.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const KEPT = 1200;
  const byId = (id) => document.getElementById(id);
  const thresholds = JSON.parse(byId("thresholds").textContent);
  const pages = JSON.parse(byId("pages").textContent);
  const markList = [];
  const data = { time: [], waiting: [], service: [], arrived: [], answered: [], left: [], cpu: [], upper: [], lower: [] };
  let before = null;
  let origin = null;
  let most = 20;

  const waiting = chart(byId("chart-waiting"), [{ label: "waiting", colour: "--bad" }, { label: "in service", colour: "--good" }], markList);
  const rates = chart(byId("chart-rates"), [{ label: "arrivals", colour: "--soft" }, { label: "completed", colour: "--good" }, { label: "left waiting", colour: "--bad", dash: [6, 3] }], markList);
  const cpu = chart(byId("chart-cpu"), [{ label: "CPU", colour: "--accent" }, { label: "upper threshold", colour: "--soft", dash: [4, 4] }, { label: "lower threshold", colour: "--soft", dash: [2, 4] }], markList, () => [0, 1.05]);

  function words(frame) {
    const admission = frame.admission === "none" ? "" : ` behind ${frame.admission}`;
    const discipline = frame.discipline ? ` · ${frame.discipline}` : "";
    return `${frame.policy}${admission}${discipline}`;
  }

  function take(frame) {
    byId("away").hidden = !frame.away;
    if (frame.away) {
      byId("away").textContent = frame.away;
      before = null;
      return;
    }
    if (origin === null || frame.time_s < origin + (data.time.at(-1) ?? 0)) {
      origin = frame.time_s;
      for (const column of Object.values(data)) column.length = 0;
      markList.length = 0;
    }
    const time = frame.time_s - origin;
    if (before && (before.policy !== frame.policy || before.admission !== frame.admission)) markList.push({ x: time, text: frame.policy });
    const limits = { ...thresholds[frame.policy], ...frame.parameters };
    data.time.push(time);
    data.waiting.push(frame.waiting);
    data.service.push(frame.in_service);
    data.arrived.push(frame.rates?.arrived ?? null);
    data.answered.push(frame.rates?.answered ?? null);
    data.left.push(frame.rates?.abandoned_waiting ?? null);
    data.cpu.push(frame.cpu_utilisation_ratio);
    data.upper.push(limits.cpu_upper_threshold ?? null);
    data.lower.push(limits.cpu_lower_threshold ?? null);
    if (data.time.length > KEPT) for (const column of Object.values(data)) column.shift();
    before = frame;
  }

  function show() {
    const frame = before;
    if (!frame) return;
    byId("policy").textContent = words(frame);
    byId("waiting").textContent = frame.waiting;
    byId("in-service").textContent = `${frame.in_service} / ${frame.workers}`;
    byId("cpu").textContent = frame.cpu_utilisation_ratio === null ? "–" : `${Math.round(100 * frame.cpu_utilisation_ratio)} %`;
    const rate = (name) => (frame.rates && name in frame.rates ? frame.rates[name].toFixed(1) : "–");
    byId("arrived").textContent = rate("arrived");
    byId("answered").textContent = rate("answered");
    byId("left").textContent = rate("abandoned_waiting");
    byId("dropped").textContent = frame.rates ? (frame.rates.dropped + frame.rates.rejected).toFixed(1) : "–";
    byId("confirms").textContent = frame.confirms;
    most = Math.max(20, most * 0.98, ...frame.waiting_by_page);
    bars(byId("queues"), frame.waiting_by_page, most);
    byId("queues").setAttribute("aria-label", `Waiting: ${pages.map((page, i) => `${page} ${frame.waiting_by_page[i]}`).join(", ")}`);
    waiting.setData([data.time, data.waiting, data.service]);
    rates.setData([data.time, data.arrived, data.answered, data.left]);
    cpu.setData([data.time, data.cpu, data.upper, data.lower]);
  }

  const stream = new EventSource("/watch/stream");
  stream.addEventListener("history", (event) => {
    origin = null;
    before = null;
    for (const frame of JSON.parse(event.data).frames) take(frame);
    show();
  });
  stream.addEventListener("look", (event) => {
    take(JSON.parse(event.data));
    show();
  });
});
