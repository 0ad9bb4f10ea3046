// Simultaneous live shops side by side, from the stream of samples, until their runs end.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const DASHES = [undefined, [10, 5], [3, 4], [12, 4, 3, 4]];
  const SAY_EVERY_MS = 10000;
  const place = document.getElementById("live-shops");
  const pages = JSON.parse(document.getElementById("pages").textContent);
  const find = (name) => place.querySelector(name);
  const set = (element, text) => element.textContent !== String(text) && (element.textContent = text);
  let shown = ""; // the keys of the shops on the page
  let charts = [];
  let most = 10;
  let saidAt = -Infinity;

  // Clients of a closed loop buy nothing, so the page shows their completed pages instead of sales.
  const sells = (shops) => shops.some((shop) => shop.confirms > 0) || shops.every((shop) => shop.counts.answered === 0);

  function build(shops) {
    most = 10;
    find(".board").replaceChildren();
    find(".race-runs").replaceChildren();
    find(".race-runs").dataset.count = shops.length;
    shops.forEach((shop) => {
      const row = document.createElement("li");
      row.style.setProperty("--colour", shop.colour);
      row.innerHTML = '<span class="who"></span><span class="track"><span class="fill"></span></span><span class="score"></span><span class="leads"></span>';
      row.querySelector(".who").textContent = shop.title;
      find(".board").append(row);
      const element = document.createElement("section");
      element.className = "race-run";
      element.style.setProperty("--colour", shop.colour);
      element.innerHTML = `<h3></h3><p class="discipline"><span class="badge"></span></p><div class="queues" role="img"></div>
        <dl class="tiles small"><div class="lead-tile"><dt>Confirms</dt><dd class="confirms"></dd></div><div><dt>Completed</dt><dd class="answered"></dd></div><div><dt>Waiting</dt><dd class="waiting"></dd></div><div><dt>Turned away</dt><dd class="refused"></dd></div><div><dt>Served in vain</dt><dd class="orphaned"></dd></div><div><dt>CPU</dt><dd class="cpu"></dd></div></dl>`;
      element.querySelector("h3").textContent = shop.title;
      element.querySelector(".queues").setAttribute("aria-label", `Queue lengths of ${shop.title}`);
      find(".race-runs").append(element);
    });
    const series = () => shops.map((shop, number) => ({ label: shop.title, colour: shop.colour, dash: DASHES[number] }));
    for (const one of charts) one.destroy();
    charts = ["score", "waiting"].map((name) => {
      const element = find(`[data-chart="${name}"]`);
      element.replaceChildren();
      const saved = () => ({ note: `The same customers at live shops, ${find(".clock").textContent} since the planned arrival of the first customer`, file: ["live shops", ...shops.map((shop) => shop.title)] });
      return chart(element, series(), [], undefined, { saved });
    });
  }

  // A page about a race shows only the shops of this race; the machine may be running another race.
  function wanted() {
    const { live_shops: shops } = live.state.newest;
    const race = document.querySelector("[data-race]")?.dataset.race;
    return race === undefined || shops?.[0].key.startsWith(`${race}/`) ? shops : undefined;
  }

  function draw() {
    const shops = wanted();
    place.hidden = !shops;
    for (const part of document.querySelectorAll("#one-shop, .of-one-shop")) part.hidden = Boolean(shops);
    if (!shops) return;
    const keys = shops.map((shop) => shop.key).join(" ");
    if (keys !== shown) {
      shown = keys;
      build(shops);
    }
    const measure = sells(shops) ? 0 : 1; // its place in live_shop_totals
    const scores = live.state.newest.live_shop_totals.map((totals) => totals[measure]);
    const best = Math.max(1, ...scores);
    const leaders = scores.filter((score) => score === best).length;
    most = Math.max(most, ...shops.flatMap((shop) => shop.waiting_by_page));
    set(find(".measure"), measure ? "pages completed" : "confirms");
    set(find(".measured"), measure ? "Pages completed" : "Confirms");
    set(find(".clock"), `${live.state.newest.live_shops_time_s.toFixed(0)} s`);
    shops.forEach((shop, number) => {
      const row = find(".board").children[number];
      const leads = scores[number] === best && leaders === 1;
      row.classList.toggle("leader", leads);
      row.querySelector(".fill").style.width = `${(100 * scores[number]) / best}%`;
      set(row.querySelector(".score"), scores[number]);
      set(row.querySelector(".leads"), leads ? "leads" : "");
      const element = find(".race-runs").children[number];
      const show = (name, value) => set(element.querySelector(`.${name}`), value);
      bars(element.querySelector(".queues"), shop.waiting_by_page, most, pages);
      show("badge", shop.discipline || "");
      show("confirms", shop.confirms);
      show("answered", shop.counts.answered);
      show("waiting", shop.waiting);
      show("refused", shop.counts.dropped + shop.counts.rejected);
      show("orphaned", shop.counts.orphaned);
      show("cpu", shop.cpu_utilisation_ratio === null ? "–" : `${Math.round(100 * shop.cpu_utilisation_ratio)} %`);
    });
    // Use only samples of this race, because the clock begins again with every race.
    let from = live.state.frames.length - 1;
    while (from > 0 && live.state.frames[from - 1].live_shop_totals?.length === shops.length && live.state.frames[from - 1].live_shops_time_s <= live.state.frames[from].live_shops_time_s) from -= 1;
    const frames = live.state.frames.slice(from);
    const times = frames.map((frame) => frame.live_shops_time_s);
    const values = (at) => shops.map((_, number) => frames.map((frame) => frame.live_shop_totals[number][at]));
    charts[0].setData([times, ...values(measure)]);
    charts[1].setData([times, ...values(2)]);
    say(shops, scores, measure);
  }

  function say(shops, scores, measure) {
    // The text for screen readers changes only from time to time.
    if (performance.now() - saidAt < SAY_EVERY_MS) return;
    saidAt = performance.now();
    const told = shops.map((shop, number) => `${shop.title} ${scores[number]}`).join(", ");
    set(find("[data-say]"), `${live.state.newest.live_shops_time_s.toFixed(0)} seconds, ${measure ? "pages completed" : "confirms"}: ${told}`);
  }

  live.onLook(draw);
  if (place.dataset.follow) live.follow("/watch/stream?glance");
});
