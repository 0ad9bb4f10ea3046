// Shops that run at the same time, a lane each, from the stream of looks; gone when their runs are over.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const DASHES = [undefined, [10, 5], [3, 4], [12, 4, 3, 4]];
  const SAY_EVERY_MS = 10000;
  const place = document.getElementById("lanes");
  const pages = JSON.parse(document.getElementById("pages").textContent);
  const find = (name) => place.querySelector(name);
  const set = (element, text) => element.textContent !== String(text) && (element.textContent = text);
  let shown = ""; // which lanes
  let charts = [];
  let most = 10;
  let saidAt = -Infinity;

  // Clients of a closed loop buy nothing: there it is the pages they got.
  const sells = (lanes) => lanes.some((lane) => lane.confirms > 0) || lanes.every((lane) => lane.counts.answered === 0);

  function build(lanes) {
    most = 10;
    find(".board").replaceChildren();
    find(".lanes").replaceChildren();
    find(".lanes").dataset.lanes = lanes.length;
    lanes.forEach((lane) => {
      const row = document.createElement("li");
      row.style.setProperty("--lane", lane.colour);
      row.innerHTML = '<span class="who"></span><span class="track"><span class="fill"></span></span><span class="score"></span><span class="leads"></span>';
      row.querySelector(".who").textContent = lane.title;
      find(".board").append(row);
      const element = document.createElement("section");
      element.className = "lane";
      element.style.setProperty("--lane", lane.colour);
      element.innerHTML = `<h3></h3><p class="discipline"><span class="badge"></span></p><div class="queues" role="img"></div>
        <dl class="tiles small"><div class="lead-tile"><dt>Confirms</dt><dd class="confirms"></dd></div><div><dt>Completed</dt><dd class="answered"></dd></div><div><dt>Waiting</dt><dd class="waiting"></dd></div><div><dt>Turned away</dt><dd class="refused"></dd></div><div><dt>Served in vain</dt><dd class="orphaned"></dd></div><div><dt>CPU</dt><dd class="cpu"></dd></div></dl>`;
      element.querySelector("h3").textContent = lane.title;
      element.querySelector(".queues").setAttribute("aria-label", `Queue lengths of ${lane.title}`);
      find(".lanes").append(element);
    });
    const series = () => lanes.map((lane, number) => ({ label: lane.title, colour: lane.colour, dash: DASHES[number] }));
    charts = ["score", "waiting"].map((name) => {
      const element = find(`[data-chart="${name}"]`);
      element.replaceChildren();
      return chart(element, series(), []);
    });
  }

  // Lanes of the race the page is about, where it is about one: another may hold the machine.
  function wanted() {
    const { lanes } = live.state.newest;
    const race = document.querySelector("[data-race]")?.dataset.race;
    return race === undefined || lanes?.[0].key.startsWith(`${race}/`) ? lanes : undefined;
  }

  function draw() {
    const lanes = wanted();
    place.hidden = !lanes;
    for (const part of document.querySelectorAll("#one-shop, .of-one-shop")) part.hidden = Boolean(lanes);
    if (!lanes) return;
    const keys = lanes.map((lane) => lane.key).join(" ");
    if (keys !== shown) {
      shown = keys;
      build(lanes);
    }
    const measure = sells(lanes) ? 0 : 1; // its place in lane_totals
    const scores = live.state.newest.lane_totals.map((totals) => totals[measure]);
    const best = Math.max(1, ...scores);
    const leaders = scores.filter((score) => score === best).length;
    most = Math.max(most, ...lanes.flatMap((lane) => lane.waiting_by_page));
    set(find(".measure"), measure ? "pages completed" : "confirms");
    set(find(".measured"), measure ? "Pages completed" : "Confirms");
    set(find(".clock"), `${live.state.newest.lanes_time_s.toFixed(0)} s`);
    lanes.forEach((lane, number) => {
      const row = find(".board").children[number];
      const leads = scores[number] === best && leaders === 1;
      row.classList.toggle("leader", leads);
      row.querySelector(".fill").style.width = `${(100 * scores[number]) / best}%`;
      set(row.querySelector(".score"), scores[number]);
      set(row.querySelector(".leads"), leads ? "leads" : "");
      const element = find(".lanes").children[number];
      const show = (name, value) => set(element.querySelector(`.${name}`), value);
      bars(element.querySelector(".queues"), lane.waiting_by_page, most, pages);
      show("badge", lane.discipline || "");
      show("confirms", lane.confirms);
      show("answered", lane.counts.answered);
      show("waiting", lane.waiting);
      show("refused", lane.counts.dropped + lane.counts.rejected);
      show("orphaned", lane.counts.orphaned);
      show("cpu", lane.cpu_utilisation_ratio === null ? "–" : `${Math.round(100 * lane.cpu_utilisation_ratio)} %`);
    });
    // Of this race alone: its clock begins anew with every race.
    let from = live.state.frames.length - 1;
    while (from > 0 && live.state.frames[from - 1].lane_totals?.length === lanes.length && live.state.frames[from - 1].lanes_time_s <= live.state.frames[from].lanes_time_s) from -= 1;
    const frames = live.state.frames.slice(from);
    const times = frames.map((frame) => frame.lanes_time_s);
    const values = (at) => lanes.map((_, number) => frames.map((frame) => frame.lane_totals[number][at]));
    charts[0].setData([times, ...values(measure)]);
    charts[1].setData([times, ...values(2)]);
    say(lanes, scores, measure);
  }

  function say(lanes, scores, measure) {
    // For people who listen: seldom.
    if (performance.now() - saidAt < SAY_EVERY_MS) return;
    saidAt = performance.now();
    const told = lanes.map((lane, number) => `${lane.title} ${scores[number]}`).join(", ");
    set(find("[data-say]"), `${live.state.newest.lanes_time_s.toFixed(0)} seconds, ${measure ? "pages completed" : "confirms"}: ${told}`);
  }

  live.onLook(draw);
  if (place.dataset.follow) live.follow("/watch/stream?glance");
});
