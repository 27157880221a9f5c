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
      if (option.disabled) option.text += " (in the run folder alone)";
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

/** Draw the panels with the series of the chosen trial. */
async function drawTrial() {
  if (trialData === null) return;
  const series = seriesOf(chosen.trial.value);
  document.getElementById("no-series").hidden = series !== undefined;
  for (const script of document.querySelectorAll("script[data-panel]")) {
    const specification = specificationOf(script);
    for (const name of ["load", "probe", "slowest", "silences"]) {
      specification.datasets[name] = series === undefined ? [] : rowsOf(series[name]);
    }
    // A layer without rows would have no extent for its axes.
    specification.layer = specification.layer.filter((layer) => specification.datasets[layer.data.name].length > 0);
    document.getElementById(script.dataset.chart).closest("figure").hidden = specification.layer.length === 0;
    specification.params.find((one) => one.name === "end_s").value = series?.end_s ?? 1;
    if (specification.layer.length > 0) await embed(script, specification);
  }
}

/** Choose a server and a point, and lead to its trials. */
function showTrials(server, place) {
  if (trialData === null) return;
  chosen.server.value = server;
  chosen.point.value = place;
  choosePoint();
  document.getElementById("trials").scrollIntoView();
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
  for (const button of document.querySelectorAll("button[data-place]")) {
    button.addEventListener("click", () => showTrials(button.dataset.server, Number(button.dataset.place)));
  }
  listTrials();
}

dark.addEventListener("change", draw);
draw();
