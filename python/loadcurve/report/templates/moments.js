/** One moment of a trial, in all panels over time: a line in each, and its values in words. */

const moment = { slider: document.getElementById("trial-time"), said: document.getElementById("trial-time-said") };
const STEPS = 200;

/** The rows of a series that were made before are not made again. */
const madeRows = new WeakMap();
function rowsOnce(table) {
  if (!madeRows.has(table)) madeRows.set(table, rowsOf(table));
  return madeRows.get(table);
}

/** Begin with the longest silence of a trial, or its slowest request. */
function beginMoment(series) {
  if (moment.slider === null) return;
  moment.slider.disabled = series === undefined;
  if (series === undefined) return;
  moment.slider.max = series.end_s;
  moment.slider.step = series.end_s / STEPS;
  const [worst] = [...rowsOnce(series.silences), ...rowsOnce(series.slowest)];
  moment.slider.value = worst?.t_s ?? 0;
  showMoment();
}

/** What a panel shows at a time, each line in words: the last row that began by then. */
function valuesAt({ source, lines }, series, time) {
  const row = rowsOnce(series[source]).findLast((one) => one.t_s <= time);
  return lines.flatMap(([column, title]) => {
    const value = row?.[column];
    return value === null || value === undefined
      ? []
      : [`${title} ${value.toLocaleString("en", { maximumSignificantDigits: 4 })}`];
  });
}

/** The scale of a panel's time and the place of its axes within the figure; undefined where it is not drawn. */
function frameOf(place) {
  const chart = document.getElementById(`time-${place + 1}`);
  const view = views.get(chart.id)?.view;
  if (view === undefined || chart.closest("figure").hidden) return undefined;
  const [left, top] = view.origin();
  const padding = view.padding();
  return {
    scale: view.scale("x"),
    left: chart.offsetLeft + left + padding.left,
    top: chart.offsetTop + top + padding.top,
    height: view.height(),
  };
}

/** Put the line of every panel where the slider is, and its values beside its title. */
function showMoment() {
  const series = moment.slider === null ? undefined : seriesOf(chosen.trial.value);
  if (series === undefined) return;
  const time = Number(moment.slider.value);
  const said = trialData.panels.map((panel, place) => {
    const figure = document.getElementById(`time-${place + 1}`).closest("figure");
    const values = valuesAt(panel, series, time).join(" · ");
    figure.querySelector(".readout").textContent = values;
    const line = figure.querySelector(".moment");
    const frame = frameOf(place);
    line.hidden = frame === undefined;
    if (frame !== undefined) {
      line.style.left = `${frame.left + frame.scale(time)}px`;
      line.style.top = `${frame.top}px`;
      line.style.height = `${frame.height}px`;
    }
    return values;
  });
  moment.said.textContent = `${time.toFixed(2)} s`;
  moment.slider.setAttribute("aria-valuetext", [`${time.toFixed(2)} seconds`, ...said].filter(Boolean).join("; "));
}

/** Move to the time over which the pointer is. */
function moveTo(event) {
  const chart = event.target.closest("figure")?.querySelector(".chart");
  const frame = chart && frameOf(Number(chart.id.replace("time-", "")) - 1);
  if (!frame) return;
  const along = event.clientX - chart.getBoundingClientRect().left - (frame.left - chart.offsetLeft);
  moment.slider.value = frame.scale.invert(along);
  showMoment();
}

moment.slider?.addEventListener("input", showMoment);
document.querySelector(".timeline")?.addEventListener("pointermove", moveTo);
window.addEventListener("resize", () => requestAnimationFrame(showMoment));
