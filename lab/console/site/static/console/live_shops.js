// Simultaneous live shops side by side, from the stream of samples, until their runs end.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const place = byId("live-shops");
  const pages = json("pages");
  const find = (name) => place.querySelector(name);
  let shown = ""; // the keys of the shops on the page
  let charts = [];
  let most = 10;
  const isDue = seldom();

  // Clients of a closed loop buy nothing, so the page shows their completed pages instead of sales.
  const sells = (shops) => shops.some((shop) => shop.confirms > 0) || shops.every((shop) => shop.counts.answered === 0);

  function build(shops) {
    most = 10;
    find(".board").replaceChildren();
    find(".race-runs").replaceChildren();
    find(".race-runs").dataset.count = shops.length;
    shops.forEach((shop) => {
      board.add(find(".board"), shop.title, shop.colour);
      const element = document.createElement("section");
      element.className = "race-run";
      element.style.setProperty("--colour", shop.colour);
      element.append(find("template").content.cloneNode(true));
      element.querySelector("h3").textContent = shop.title;
      element.querySelector(".queues").setAttribute("aria-label", `Queue lengths of ${shop.title}`);
      find(".race-runs").append(element);
    });
    const series = () => shops.map((shop, number) => ({ label: shop.title, colour: shop.colour, dash: lineDash(number) }));
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
    most = Math.max(most, ...shops.flatMap((shop) => shop.waiting_by_page));
    set(find(".measure"), measure ? "pages completed" : "confirms");
    set(find(".measured"), measure ? "Pages completed" : "Confirms");
    set(find(".clock"), `${fixed(live.state.newest.live_shops_time_s)} s`);
    board.show(find(".board"), scores, Math.max(1, ...scores));
    shops.forEach((shop, number) => {
      const element = find(".race-runs").children[number];
      bars(element.querySelector(".queues"), shop.waiting_by_page, most, pages);
      setParts(element, {
        badge: shop.discipline || "",
        confirms: shop.confirms,
        answered: shop.counts.answered,
        waiting: shop.waiting,
        refused: shop.counts.dropped + shop.counts.rejected,
        orphaned: shop.counts.orphaned,
        cpu: percent(shop.cpu_utilisation_ratio),
      });
    });
    // Use only samples of this race, because the clock begins again with every race.
    let from = live.state.frames.length - 1;
    while (from > 0 && live.state.frames[from - 1].live_shop_totals?.length === shops.length && live.state.frames[from - 1].live_shops_time_s <= live.state.frames[from].live_shops_time_s) from -= 1;
    const frames = live.state.frames.slice(from);
    const times = frames.map((frame) => frame.live_shops_time_s);
    const values = (at) => shops.map((_, number) => frames.map((frame) => frame.live_shop_totals[number][at]));
    charts[0].setData([times, ...values(measure)]);
    charts[1].setData([times, ...values(2)]);
    if (isDue()) set(find("[data-say]"), `${fixed(live.state.newest.live_shops_time_s)} seconds, ${find(".measure").textContent}: ${board.words(shops.map(({ title }) => title), scores)}`);
  }

  live.onLook(draw);
  if (place.dataset.follow) live.follow("/watch/stream?glance");
});
