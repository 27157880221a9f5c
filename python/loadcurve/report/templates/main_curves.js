/** The main curves: they take the height that the first screen leaves them, so that what is below is in sight. */

/** In CSS pixels, with the axes. */
const MAIN_HEIGHT = { least: 200, most: 380, onPaper: 300 };

const mainCharts = [...document.querySelectorAll(".answer .beside .chart")];
/** As in `first_screen.css`. */
const stacked = window.matchMedia("(max-width: 48rem)");

/** How high the main curves may be: down to the end of the strip below them, or of the first where they are stacked. */
function mainHeight() {
  const charts = stacked.matches ? mainCharts.slice(0, 1) : mainCharts;
  const last = stacked.matches ? charts[0] : (document.querySelector(".overview") ?? charts[0]);
  const drawn = Math.max(...charts.map((chart) => chart.offsetHeight));
  const others = last.getBoundingClientRect().bottom + window.scrollY - drawn;
  // Unlike that of the window, this height stays when a phone hides its address bar.
  const left = Math.floor(document.documentElement.clientHeight - others);
  return Math.min(Math.max(left, MAIN_HEIGHT.least), MAIN_HEIGHT.most);
}

/** Give a specification the height of a main curve. */
function fitScreen(specification) {
  specification.height = mainHeight();
  specification.autosize = { type: "fit", contains: "padding" };
}

function giveHeight(height) {
  for (const { id } of mainCharts) views.get(id)?.view.height(height).run();
}

// A page without curves has no height to give.
if (mainCharts.length > 0) {
  window.addEventListener("resize", () => giveHeight(mainHeight()));
  window.addEventListener("beforeprint", () => giveHeight(MAIN_HEIGHT.onPaper));
}
