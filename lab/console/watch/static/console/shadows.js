// The decisions that shadow policies would have made: a row for each shadow, and the last disagreements.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const place = byId("shadows");
  const find = (name) => place.querySelector(name);
  const share = (ratio) => percent(ratio, ratio > 0.99 && ratio < 1 ? 2 : 0);
  const seconds = (value) => `${fixed(value, 1)} s`;
  const away = byId("shadow-away");
  const isDue = seldom();

  const counted = (one, verdict) => (one.asked ? `${one.verdicts[verdict]} (${share(one.verdicts[verdict] / one.asked)})` : "–");
  const shifted = (one, verdict) => (one.verdicts[verdict] ? `${counted(one, verdict)}, ${seconds(one[`${verdict}_s`])}` : counted(one, verdict));

  function cells(one) {
    return [share(one.agrees_ratio), counted(one, "would_refuse"), counted(one, "would_serve"), shifted(one, "earlier"), shifted(one, "later"), counted(one, "would_lose"), one.verdicts.absent, one.waiting];
  }
  function ofPage(page) {
    if (!page) return "–";
    const [, agrees, earlier, later] = page;
    const shifts = [later !== null ? `later ${seconds(later)}` : "", earlier !== null ? `earlier ${seconds(earlier)}` : ""];
    return [share(agrees), ...shifts].filter(Boolean).join(", ");
  }

  // The rows are replaced only if the shadows change, so that a button does not move under the user's finger.
  function fit(body, many, make) {
    while (body.children.length > many) body.lastElementChild.remove();
    while (body.children.length < many) body.append(make());
  }
  function row(columns, hasButton) {
    const element = tableRow(Array(1 + columns).fill(""));
    const remove = () => {
      away.elements.name.value = element.dataset.name;
      away.requestSubmit();
    };
    if (hasButton) element.insertCell().append(quietButton("Remove", remove));
    return element;
  }
  function fill(element, texts) {
    texts.forEach((text, i) => set(element.children[i], text));
  }

  function words(decision) {
    const queue = `${decision.waiting} waited`;
    if (decision.kind === "served") return `served after ${seconds(decision.after_s)} (${queue})`;
    if (decision.kind === "refused") return `refused after ${seconds(decision.after_s)}: ${decision.reason}`;
    return `not decided when its customer left after ${seconds(decision.after_s)} (${queue})`;
  }

  function draw() {
    const shadows = live.state.newest.shadows ?? [];
    find("[data-some]").hidden = !shadows.length;
    set(find("[data-number]"), shadows.length ? ` (${shadows.length})` : "");
    const rows = find("[data-rows]");
    fit(rows, shadows.length, () => row(8, true));
    const pages = find("[data-pages]");
    fit(pages, shadows.length, () => row(8, false));
    shadows.forEach((one, number) => {
      const element = rows.children[number];
      element.dataset.name = one.name;
      element.querySelector("button.quiet").setAttribute("aria-label", `Remove: ${one.title}`);
      fill(element, [one.title, ...(one.fault ? [`removed: ${one.fault}`, "", "", "", "", "", "", ""] : cells(one))]);
      element.classList.toggle("failed", Boolean(one.fault));
      fill(pages.children[number], [one.title, ...one.pages.map(ofPage)]);
    });
    if (!byId("hold").checked) list(live.state.newest.disagreements ?? []);
    if (shadows.length && isDue()) set(find("[data-say]"), shadows.map((one) => (one.fault ? `${one.title} was removed` : `${one.title} agrees in ${share(one.agrees_ratio)} of ${one.asked}`)).join("; "));
  }

  function list(last) {
    const body = find("[data-disagreements]");
    fit(body, last.length, () => row(4, false));
    last.forEach((each, number) => {
      const page = each.page + (each.attempt > 1 ? `, attempt ${each.attempt}` : "") + (each.is_new ? ", new session" : "");
      fill(body.children[number], [each.id, page, words(each.acted), each.shadow, words(each.said)]);
    });
  }

  live.onLook(draw);
});
