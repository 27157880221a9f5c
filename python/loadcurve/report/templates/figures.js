/** Drawing the figures: the page's own colours, and the data that `columns.py` has stored. */

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
    legend: { labelColor: value("--soft"), labelFontSize: 12, labelLimit: 300 },
    text: { color: value("--soft") },
  };
}

/** The rows of a table that is stored as columns. */
function rowsOf({ rows, columns }) {
  const fields = Object.entries(columns).map(([name, column]) => {
    if (Array.isArray(column)) return [name, (row) => column[row]];
    if ("all" in column) return [name, () => column.all];
    return [name, (row) => column.of[column.at[row]]];
  });
  return Array.from({ length: rows }, (_, row) => Object.fromEntries(fields.map(([name, at]) => [name, at(row)])));
}

/** A chart's specification with its data as rows. */
function specificationOf(script) {
  const specification = JSON.parse(script.textContent);
  for (const [name, table] of Object.entries(specification.datasets)) specification.datasets[name] = rowsOf(table);
  return specification;
}

/** Draw a chart in its place, instead of the one that is there. */
async function embed(script, specification) {
  const id = script.dataset.chart;
  views.get(id)?.finalize();
  const result = await vegaEmbed(document.getElementById(id), specification, {
    mode: "vega-lite",
    renderer: "svg",
    // The page's policy forbids evaluating strings, so expressions are interpreted.
    ast: true,
    actions: { export: true, source: false, compiled: false, editor: false },
    config: theme(),
    tooltip: { theme: dark.matches ? "dark" : "light" },
  });
  views.set(id, result);
  result.view.addEventListener("click", (_, item) => {
    if (item?.datum?.place !== undefined && item.datum.at !== undefined) showTrials(item.datum.server, item.datum.place);
  });
}

/** Draw every chart anew; called again when the page turns dark or light. */
async function draw() {
  for (const script of document.querySelectorAll("script[data-chart]:not([data-panel])")) {
    const specification = specificationOf(script);
    if (script.dataset.curve !== undefined) adjust(specification);
    await embed(script, specification);
  }
  document.querySelectorAll("select[data-steers]").forEach(steer);
  await drawTrial();
}

/** Show the chosen point in the chart that the selector steers. */
function steer(select) {
  views.get(select.dataset.steers)?.view.signal("point", Number(select.value)).runAsync();
}

for (const select of document.querySelectorAll("select[data-steers]")) {
  select.addEventListener("change", () => steer(select));
}
