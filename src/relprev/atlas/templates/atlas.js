
"use strict";
(function () {
  // Search the conditions of a variable.
  for (const box of document.querySelectorAll(".searchable")) {
    const rows = Array.from(box.querySelectorAll("tbody tr"));
    const label = document.createElement("label");
    const input = document.createElement("input");
    const count = document.createElement("span");
    input.type = "search";
    count.setAttribute("role", "status");
    count.className = "muted";
    label.append("Search ", input);
    const look = () => {
      const wanted = input.value.trim().toLowerCase().split(/\s+/);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !wanted.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      count.textContent = `${shown} of ${rows.length} rows`;
    };
    input.addEventListener("input", look);
    look();
    const line = document.createElement("p");
    line.className = "search";
    line.append(label, count);
    box.prepend(line);
  }

  // A condition opens over the page; closing it returns to where it was opened.
  let from = null;
  const opened = () => document.querySelector(".condition:target");
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#condition-']");
    const point = event.target.closest("circle[data-to]");  // the table's link is what focus knows
    if (link) from = link;
    if (point) {
      from = document.querySelector(`.searchable a[href="#${point.dataset.to}"]`);
      location.hash = point.dataset.to;
    }
  });
  const close = () => {
    location.hash = "";
    if (from) from.focus({ preventScroll: false });
  };
  addEventListener("hashchange", () => { const one = opened(); if (one) one.focus(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && opened()) close();
  });
  for (const link of document.querySelectorAll(".back")) {
    link.addEventListener("click", (event) => { event.preventDefault(); close(); });
  }
})();
