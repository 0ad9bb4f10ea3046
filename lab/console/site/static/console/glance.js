// The panel of the gallery, visible while a live run that the user can watch is in progress.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const panel = byId("glance");
  const queues = panel.querySelector(".queues");
  const pages = json("pages");
  let most = 20;
  live.onLook(() => {
    const frame = live.state.newest;
    panel.hidden = !frame.run;
    const { live_shops: shops } = frame;
    panel.querySelector(".glance-row").hidden = Boolean(shops);
    if (shops) {
      // The numbers of several simultaneous shops are on a separate page.
      panel.querySelector('[data-show="policy"]').textContent = shops.map((shop) => shop.title).join(" | ");
      return;
    }
    most = Math.max(20, most * 0.98, ...frame.waiting_by_page);
    bars(queues, frame.waiting_by_page, most, pages);
  });
  live.onAway(() => {
    panel.hidden = true; // no live run is known
  });
  live.follow("/watch/stream?glance");
});
