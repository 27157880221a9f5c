/** Single trials: the table of a point's trials, and what happened over time in one of them. */

const trialData = (() => {
  const script = document.getElementById("trial-data");
  if (script === null) return null;
  const data = JSON.parse(script.textContent);
  return { ...data, rows: rowsOf(data.rows) };
})();

const chosen = Object.fromEntries(
  ["server", "point", "trial"].map((name) => [name, document.getElementById(`trial-${name}`)]),
);

const placeOf = () => Number(chosen.point.value);
const trialsShown = () =>
  trialData.rows.filter((row) => row.server === chosen.server.value && row.place === placeOf());
const seriesOf = (trial) =>
  trialData.series.find(
    (one) => one.server === chosen.server.value && one.place === placeOf() && one.trial === Number(trial),
  );

/** Fill the table with the trials of the chosen server and point, and the choice of a trial with them. */
function listTrials() {
  const trials = trialsShown();
  const body = document.getElementById("trial-rows");
  body.replaceChildren(
    ...trials.map((trial) => {
      const row = document.createElement("tr");
      trialData.columns.forEach((column, place) => {
        const cell = document.createElement(place === 0 ? "th" : "td");
        cell.textContent = trial[column];
        if (place === 0) cell.scope = "row";
        if (column === "verdict") cell.className = `verdict ${trial.verdict}`;
        else if (place > 0) cell.className = "number";
        row.append(cell);
      });
      return row;
    }),
  );
  document.getElementById("no-trials").hidden = trials.length > 0;
  chosen.trial.replaceChildren(
    ...trials.map(({ trial }) => {
      const option = new Option(trial, trial);
      option.disabled = seriesOf(trial) === undefined;
      if (option.disabled) option.text += " (only in the run folder)";
      return option;
    }),
  );
  const first = trialData.series.find((one) => one.server === chosen.server.value && one.place === placeOf());
  if (first !== undefined) chosen.trial.value = first.trial;
}

/** Show the trials of the server and the point that were chosen. */
function choosePoint() {
  listTrials();
  drawTrial();
}

/** Show what happened over time in the chosen trial. */
function drawTrial() {
  const series = seriesOf(chosen.trial.value);
  document.getElementById("no-series").hidden = series !== undefined;
  listFindings();
  const pauses = document.getElementById("trial-pauses");
  pauses.hidden = !series?.paused;
  pauses.textContent = series?.paused ?? "";
  beginMoment(series);
  draw(document.querySelectorAll("script[data-panel]"));
}

const NARROW = 600;

/** Let the legend of a panel's lines take several lines itself. */
function breakLegend(encoding) {
  for (const channel of [encoding.color, encoding.strokeDash]) {
    if (channel?.legend) channel.legend.columns = 2;
  }
}

/** Whether a layer of a panel has anything to draw; one without would have no extent for its axes. */
function hasMarks(layer, rows) {
  const lines = layer.transform?.find((one) => one.fold !== undefined)?.fold;
  if (lines === undefined) return rows.length > 0;
  const least = layer.encoding.y.scale.type === "log" ? Number.MIN_VALUE : -Infinity;
  return rows.some((row) => lines.some((line) => row[line] != null && row[line] >= least));
}

/** Draw a panel with the series of the chosen trial. */
async function drawPanel(script) {
  const series = seriesOf(chosen.trial.value);
  const specification = specificationOf(script);
  for (const name of ["load", "probe", "slowest", "silences", "pauses"]) {
    specification.datasets[name] = series === undefined ? [] : rowsOf(series[name]);
  }
  specification.layer = specification.layer.filter((layer) => hasMarks(layer, specification.datasets[layer.data.name]));
  const chart = document.getElementById(script.dataset.chart);
  // Bands alone, which every panel has, say nothing.
  const isEmpty = specification.layer.every(({ data }) => data.name === "silences" || data.name === "pauses");
  chart.closest("figure").hidden = isEmpty;
  if (chart.clientWidth < NARROW) specification.layer.forEach(({ encoding }) => breakLegend(encoding));
  specification.params.find((one) => one.name === "end_s").value = series?.end_s ?? 1;
  if (!isEmpty) await embed(script, specification);
  showMoment();
}

/** Open a finding, and the group that it is one of. */
function unfold(finding) {
  for (let one = finding; one !== null; one = one.parentElement.closest("details")) one.open = true;
}

/** Lead from the chosen trial back to what was found in it. */
function listFindings() {
  const place = document.getElementById("trial-findings");
  const links = trialData.findings.flatMap(({ server, trials, places, seen }, number) => {
    const isHere = server === chosen.server.value && places.includes(placeOf());
    if (!isHere || !trials.includes(Number(chosen.trial.value))) return [];
    const link = document.createElement("a");
    link.href = `#finding-${number}`;
    link.textContent = seen;
    // A folded finding would be led to and stay shut.
    link.addEventListener("click", () => unfold(document.getElementById(`finding-${number}`)));
    const item = document.createElement("li");
    item.append(link);
    return [item];
  });
  place.hidden = links.length === 0;
  place.querySelector("ul").replaceChildren(...links);
}

/** Choose a server, a point and, if given, a trial, and lead to its trials. */
function showTrials(server, place, trial) {
  if (trialData === null) return;
  chosen.server.value = server;
  chosen.point.value = place;
  listTrials();
  if (trial !== undefined) chosen.trial.value = trial;
  drawTrial();
  // Who asks for one trial wants to see it over time, and who asks for a point to choose among its trials.
  (trial === undefined ? document.getElementById("trials") : chosen.trial).scrollIntoView();
  chosen.trial.focus({ preventScroll: true });
}

if (trialData !== null) {
  if (trialData.series.length > 0) {
    chosen.server.value = trialData.series[0].server;
    chosen.point.value = trialData.series[0].place;
  }
  chosen.server.addEventListener("change", choosePoint);
  chosen.point.addEventListener("change", choosePoint);
  chosen.trial.addEventListener("change", drawTrial);
  // The rows of a long table, and their buttons, may come later.
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("button[data-place]");
    if (button !== null) showTrials(button.dataset.server, Number(button.dataset.place), button.dataset.trial);
  });
  listTrials();
  drawTrial();
}

dark.addEventListener("change", () => draw());
draw();
