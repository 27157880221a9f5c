"use strict";
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const views = new Map();

  /** Paper, ink and type of the page, as Vega's configuration. */
  function theme() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    return {
      background: "transparent",
      font: value("--sans"),
      view: { stroke: null },
      axis: {
        domainColor: value("--soft"),
        gridColor: value("--rule"),
        labelColor: value("--soft"),
        labelFontSize: 12,
        tickColor: value("--soft"),
        titleColor: value("--soft"),
        titleFontSize: 12,
        titleFontWeight: "normal",
        titlePadding: 10,
      },
      axisY: { domain: false, ticks: false, labelPadding: 6 },
      axisX: { grid: false },
    };
  }

  /** Draw every chart anew; called again when the page turns dark or light. */
  async function draw() {
    const options = {
      mode: "vega-lite",
      renderer: "svg",
      // The page's policy forbids evaluating strings, so expressions are interpreted.
      ast: true,
      actions: { export: true, source: false, compiled: false, editor: false },
      config: theme(),
      tooltip: { theme: dark.matches ? "dark" : "light" },
    };
    for (const data of document.querySelectorAll("script[data-chart]")) {
      const id = data.dataset.chart;
      views.get(id)?.finalize();
      const result = await vegaEmbed(document.getElementById(id), JSON.parse(data.textContent), options);
      views.set(id, result);
    }
    document.querySelectorAll("select[data-steers]").forEach(steer);
  }

  /** Show the chosen point in the chart that the selector steers. */
  function steer(select) {
    views.get(select.dataset.steers)?.view.signal("point", Number(select.value)).runAsync();
  }

  /** Sort a table by the column of a header; a second call turns the order round. Absent values stay last. */
  function sortBy(header) {
    const table = header.closest("table");
    const column = header.cellIndex;
    const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
    const compare = (a, b) => {
      const [left, right] = [key(a), key(b)];
      if (left === "" || right === "") return (left === "") - (right === "");
      return sign * left.localeCompare(right, "en", { numeric: true });
    };
    const numeric = header.classList.contains("number");
    const compareNumbers = (a, b) => {
      const [left, right] = [key(a), key(b)];
      if (left === "" || right === "") return (left === "") - (right === "");
      return sign * (Number(left) - Number(right));
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(numeric ? compareNumbers : compare));
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
  }

  for (const select of document.querySelectorAll("select[data-steers]")) {
    select.addEventListener("change", () => steer(select));
  }
  for (const button of document.querySelectorAll("table.sortable th button")) {
    button.addEventListener("click", () => sortBy(button.closest("th")));
  }
  dark.addEventListener("change", draw);
  draw();
})();
