// The panel of the gallery: there while a live run is under way and can be looked at.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const panel = document.getElementById("glance");
  const queues = panel.querySelector(".queues");
  const pages = JSON.parse(document.getElementById("pages").textContent);
  let most = 20;
  live.onLook(() => {
    const frame = live.state.newest;
    panel.hidden = !frame.run;
    const { live_shops: shops } = frame;
    panel.querySelector(".glance-row").hidden = Boolean(shops);
    if (shops) {
      // Several shops at once: their own page has the figures.
      panel.querySelector('[data-show="policy"]').textContent = shops.map((shop) => shop.title).join(" | ");
      return;
    }
    most = Math.max(20, most * 0.98, ...frame.waiting_by_page);
    bars(queues, frame.waiting_by_page, most, pages);
  });
  live.onAway(() => {
    panel.hidden = true; // nothing is known to be live
  });
  live.follow("/watch/stream?glance");
});
