"use strict";
(function () {
  const said = document.getElementById("said");
  const button = (words, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "tool";
    made.textContent = words;
    made.addEventListener("click", act);
    return made;
  };

  // Light and dark.
  const root = document.documentElement;
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = button("", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  const name = () => { theme.textContent = isDark() ? "Light colours" : "Dark colours"; };
  theme.classList.add("theme");
  name();
  document.querySelector("header").prepend(theme);

  // Tables: sort by a column, copy as CSV.
  const key = (row, column) => row.cells[column].dataset.key;
  const sort = (table, heading, column) => {
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const numeric = heading.classList.contains("number");
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((one, two) => {
      const a = key(one, column), b = key(two, column);
      if (a === "" || b === "") return (a === "") - (b === "");  // missing values stay last
      const order = numeric ? a - b : a.localeCompare(b, "en", { numeric: true });
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows);
  };
  const safe = (text) => /^[=+\-@\t\r]/.test(text) && isNaN(text) ? `'${text}` : text;  // no formulas
  const quoted = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const csv = (table) => {
    const headings = Array.from(table.tHead.rows[0].cells);
    const values = (cell, column) => {
      const wide = "interval" in headings[column].dataset;
      const { key, low = "", high = "" } = cell.dataset;
      return wide ? [key, low, high] : [key];
    };
    const names = headings.flatMap((heading) => {
      const words = heading.textContent.trim();
      return "interval" in heading.dataset ? [words, `${words} low`, `${words} high`] : [words];
    });
    const rows = Array.from(table.tBodies[0].rows, (row) => Array.from(row.cells).flatMap(values));
    return [names, ...rows].map((row) => row.map(safe).map(quoted).join(",")).join("\n") + "\n";
  };
  const copy = (text) => {
    const area = document.createElement("textarea");
    const fallback = () => {
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    };
    return navigator.clipboard ? navigator.clipboard.writeText(text).catch(fallback)
      : Promise.resolve(fallback());
  };
  for (const box of document.querySelectorAll(".table")) {
    const table = box.querySelector("table");
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
      const made = button(heading.textContent, () => sort(table, heading, column));
      made.className = "";
      heading.replaceChildren(made);
    });
    const tool = button("Copy as CSV", () => copy(csv(table)).then(() => {
      said.textContent = "Table copied.";
      tool.textContent = "Copied";
      setTimeout(() => { tool.textContent = "Copy as CSV"; }, 2000);
    }));
    box.append(tool);
  }

  // Figures: download.
  for (const figure of document.querySelectorAll("figure")) {
    figure.append(button("Download SVG", () => {
      const drawing = figure.querySelector("svg").cloneNode(true);
      drawing.setAttribute("color", "#000000");
      const text = new XMLSerializer().serializeToString(drawing);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      link.download = `${figure.dataset.name}.svg`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }));
  }

  // Paper shows everything but the manifest, which is a file of its own.
  const closed = [];
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open])")) {
      part.open = true;
      closed.push(part);
    }
  });
  addEventListener("afterprint", () => { while (closed.length) closed.pop().open = false; });
})();
