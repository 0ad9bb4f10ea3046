// Tables of class "sortable": every column head becomes a button that sorts by its column.
// A cell sorts by its data-value, or by its text if it has no data-value;
// numbers begin with the largest unless the head has data-order="up"; empty cells come last.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const told = document.createElement("p");
  told.className = "unseen";
  told.setAttribute("role", "status");
  table.parentElement.after(told);
  heads.forEach((head, column) => {
    const name = head.textContent;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const rows = [...body.rows];
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const numbers = rows.every((row) => value(row) === "" || !Number.isNaN(Number(value(row))));
      const before = head.getAttribute("aria-sort");
      const first = numbers && head.dataset.order !== "up" ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      const order = before === first ? second : first;
      const sign = order === "ascending" ? 1 : -1;
      rows.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        return sign * (numbers ? Number(x) - Number(y) : x.localeCompare(y));
      });
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      body.append(...rows);
      told.textContent = `Sorted by ${name}, ${order}.`;
    });
  });
}
