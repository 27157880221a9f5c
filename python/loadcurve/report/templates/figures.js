/** Drawing the figures: the page's own colours, and the data that `columns.py` has stored. */

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const views = new Map();

/** Names beside an axis take at most this share of a figure. */
const NAMES_SHARE = 0.3;

/** Paper, ink and type of the page, as Vega's configuration of a figure of some width. */
function theme(width) {
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
    axisY: { domain: false, ticks: false, labelPadding: 6, labelLimit: NAMES_SHARE * width },
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
    if ("times" in column) {
      const values = column.of.flatMap((value, run) => Array(column.times[run]).fill(value));
      return [name, (row) => values[row]];
    }
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
  const chart = document.getElementById(id);
  views.get(id)?.finalize();
  const result = await vegaEmbed(chart, specification, {
    mode: "vega-lite",
    renderer: "svg",
    // The page's policy forbids evaluating strings, so expressions are interpreted.
    ast: true,
    actions: { export: true, source: false, compiled: false, editor: false },
    config: theme(chart.clientWidth),
    tooltip: { theme: dark.matches ? "dark" : "light" },
  });
  views.set(id, result);
  // The chart's label stands for its marks, of which there are too many to hear.
  chart.querySelector("svg.marks").setAttribute("aria-hidden", "true");
  chart.querySelector("summary").setAttribute("aria-label", "Save this figure");
  result.view.addEventListener("click", (_, item) => {
    if (item?.datum?.place !== undefined && item.datum.at !== undefined) showTrials(item.datum.server, item.datum.place);
  });
}

/** The scripts of the charts that are to be drawn, and the names of those that can be seen. */
const waiting = new Set();
const inSight = new Set();
let drawing = false;
/** Ends a wait for the browser to be idle. */
let wake = () => {};

/** A browser that has frames to draw, or draws none, may not call itself idle for a long time. */
const IDLE_WITHIN_MS = 500;

/** Wait until the browser has nothing to do, or a chart comes into sight. */
function idleOrInSight() {
  return new Promise((resolve) => {
    wake = resolve;
    if (window.requestIdleCallback === undefined) setTimeout(resolve);
    else window.requestIdleCallback(resolve, { timeout: IDLE_WITHIN_MS });
  });
}

/** Draw a chart that holds its own data. */
async function drawChart(script) {
  const specification = specificationOf(script);
  if (script.dataset.curve !== undefined) adjust(specification);
  if (mainCharts.some(({ id }) => id === script.dataset.chart)) fitScreen(specification);
  await embed(script, specification);
}

/** Draw the waiting charts one by one: those in sight at once, the others while the browser has nothing to do. */
async function drawWaiting() {
  if (drawing) return;
  drawing = true;
  while (waiting.size > 0) {
    const nextInSight = () => [...waiting].find((script) => inSight.has(script.dataset.chart));
    if (nextInSight() === undefined) await idleOrInSight();
    const script = nextInSight() ?? [...waiting][0];
    waiting.delete(script);
    if ("panel" in script.dataset) await drawPanel(script);
    else await drawChart(script);
    document.querySelectorAll(`select[data-steers~="${script.dataset.chart}"]`).forEach(steer);
  }
  drawing = false;
}

/** Have charts drawn when their turn comes, all of them if none are named. */
function draw(scripts = document.querySelectorAll("script[data-chart]")) {
  scripts.forEach((script) => waiting.add(script));
  drawWaiting();
}

/** Show the chosen point in the charts that the selector steers. */
function steer(select) {
  for (const id of select.dataset.steers.split(" ")) {
    views.get(id)?.view.signal("point", Number(select.value)).runAsync();
  }
}

/** In CSS pixels: A4 less its margins, and the gap between two figures beside one another. */
const PAPER = { width: 718, gap: 26 };

/** Draw the figures as wide as they are on paper: text would shrink with a figure that is scaled down. */
function fitPaper() {
  for (const [id, { view }] of views) {
    const isHalf = document.getElementById(id).closest(".multiples") !== null;
    view.signal("width", isHalf ? (PAPER.width - PAPER.gap) / 2 : PAPER.width).run();
  }
}

window.addEventListener("beforeprint", fitPaper);
// The figures follow the width of the window, and so come back to it.
window.addEventListener("afterprint", () => window.dispatchEvent(new Event("resize")));

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) inSight.add(target.id);
    else inSight.delete(target.id);
  }
  if (entries.some(({ isIntersecting }) => isIntersecting)) wake();
});
document.querySelectorAll(".chart").forEach((chart) => observer.observe(chart));

for (const select of document.querySelectorAll("select[data-steers]")) {
  select.addEventListener("change", () => steer(select));
}
