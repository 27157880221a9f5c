/** Following a run: what the page receives, put in its places. All texts of the run are put there as texts. */
{
  const RETRY_MS = 3000;
  const at = (id) => document.getElementById(id);
  const say = (id, text) => {
    // A region that is read aloud must not be touched where nothing has changed.
    if (at(id).textContent !== text) at(id).textContent = text;
  };
  let last = null;
  let lastAt = 0;

  /** A length as the terminal shows it: minutes and seconds. */
  function clock(length_s) {
    const seconds = Math.round(length_s);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }

  /** Say what changes by the second: how long the load has lasted. */
  function tick() {
    if (last === null || document.hidden) return;
    const since_s = (performance.now() - lastAt) / 1000;
    const elapsed_s = last.load === null ? 0 : last.load.elapsed_s + since_s;
    say("load", last.load === null ? betweenLoads(last) : loadInWords(last.load, elapsed_s));
    say("nothing", `Nothing is drawn yet${firstInWords(last.load, elapsed_s)}. The curves grow here, point by point.`);
  }

  /** When the first figures can be seen: figures of a point are there when its load is over. */
  function firstInWords(load, elapsed_s) {
    if (load === null) return "";
    if (load.measured_s === null) return ": the point under way is drawn when its load is over";
    const left_s = Math.max(0, load.warmup_s + load.measured_s - elapsed_s);
    return `: the point under way is drawn when its load is over, in about ${clock(left_s)}`;
  }

  const leftInWords = ({ left_s, about }) => (left_s === null ? "" : `${about}${clock(left_s)} left`);

  const betweenLoads = ({ phase }) => (phase === "going" ? "No load is under way." : "");

  /** How far a load is, such as "connections = 50 · measuring, 3 of 10 s". */
  function loadInWords({ point, warmup_s, measured_s }, elapsed_s) {
    const isWarming = elapsed_s < warmup_s;
    const part_s = isWarming ? warmup_s : measured_s;
    const passed_s = Math.floor(isWarming ? elapsed_s : elapsed_s - warmup_s);
    const reached = part_s === null ? passed_s : `${Math.min(passed_s, part_s)} of ${part_s}`;
    return `${point} · ${isWarming ? "warming up" : "measuring"}, ${reached} s`;
  }

  /** Show how far the run is. */
  function showStatus(status) {
    [last, lastAt] = [status, performance.now()];
    say("title", status.title);
    say("question", status.question);
    at("question").hidden = status.question === "";
    say("sentence", status.sentence);
    at("to-report").hidden = !status.report;
    at("done").hidden = status.progress === null;
    if (status.progress !== null) {
      at("done-bar").max = status.progress.planned;
      at("done-bar").value = status.progress.over;
      say("done-words", status.progress.words);
      say("left", leftInWords(status.progress));
    }
    for (const [verdict, count] of Object.entries(status.verdicts)) {
      say(`verdict-${verdict}`, count.toLocaleString("en"));
    }
    at("no-failure").hidden = status.failures.length > 0;
    at("failures").replaceChildren(...status.failures.map(failureItem));
    for (const legend of document.querySelectorAll(".legend")) {
      legend.replaceChildren(...status.servers.map(legendItem));
    }
    document.title = titleOf(status);
    tick();
  }

  function titleOf({ title, progress, ended }) {
    if (ended || progress === null) return title;
    return `${Math.floor((100 * progress.over) / progress.planned)} % · ${title}`;
  }

  function failureItem({ place, reason }) {
    const item = document.createElement("li");
    const name = document.createElement("strong");
    name.textContent = `${place}.`;
    item.append(name, ` ${reason}`);
    return item;
  }

  function legendItem({ name, load, colour, outline, missing }) {
    const item = document.createElement("li");
    const symbol = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    symbol.setAttribute("class", "symbol");
    symbol.setAttribute("viewBox", "0 0 12 12");
    symbol.setAttribute("aria-hidden", "true");
    path.setAttribute("d", outline);
    path.setAttribute("fill", colour);
    symbol.append(path);
    item.append(symbol, ` ${name}`);
    item.classList.toggle("missing", missing !== null);
    for (const said of [load, missing === null ? "" : `not measured: ${missing}`].filter(Boolean)) {
      const note = document.createElement("span");
      note.textContent = said;
      item.append(" ", note);
    }
    return item;
  }

  /** The charts whose newest data are not drawn yet. */
  const stale = new Set();
  const isSeen = (script) => inSight.has(script.dataset.chart) && !document.hidden;
  const hasFocus = (script) => at(script.dataset.chart).contains(document.activeElement);

  /** Draw what can be seen; what cannot waits until it is. A chart in use by keyboard is left alone meanwhile. */
  function drawSeen() {
    const due = [...stale].filter((script) => isSeen(script) && !hasFocus(script));
    due.forEach((script) => stale.delete(script));
    if (due.length > 0) draw(due);
  }

  // The observer of all figures, which notes what is in sight, may be called after this one.
  const appearing = new IntersectionObserver(() => setTimeout(drawSeen));

  /** Take the curves as they are now. */
  function showFigures(figures) {
    at("curves").hidden = figures.length === 0;
    at("nothing").hidden = figures.length > 0;
    for (const figure of figures) {
      const script = document.querySelector(`script[data-chart="${figure.id}"]`) ?? newChart(figure);
      at(figure.id).setAttribute("aria-label", figure.alternative);
      script.textContent = JSON.stringify(figure.specification);
      stale.add(script);
    }
    drawSeen();
  }

  /** Make the place of a figure; the script beside it holds its data, as in the report. */
  function newChart({ id, section, title }) {
    const figure = document.createElement("figure");
    const measure = document.createElement("p");
    measure.className = "measure";
    measure.textContent = title;
    const chart = document.createElement("div");
    chart.className = "chart";
    chart.id = id;
    chart.setAttribute("role", "group");
    const script = document.createElement("script");
    script.type = "application/json";
    script.dataset.chart = id;
    script.dataset.curve = "";
    figure.append(measure, chart, script);
    const place = document.querySelector(`[data-section="${section}"]`);
    place.append(figure);
    place.closest("section").hidden = false;
    observer.observe(chart);
    appearing.observe(chart);
    return script;
  }

  /** Follow the run until it has ended and the process of this page with it. */
  function follow() {
    const stream = new EventSource("events");
    stream.addEventListener("open", () => lost(false));
    stream.addEventListener("error", () => {
      lost(true);
      if (stream.readyState === EventSource.CLOSED) setTimeout(follow, RETRY_MS);
    });
    stream.addEventListener("figures", (event) => showFigures(JSON.parse(event.data)));
    stream.addEventListener("seconds", (event) => showSeconds(JSON.parse(event.data)));
    stream.addEventListener("status", (event) => {
      const status = JSON.parse(event.data);
      showStatus(status);
      if (!status.leaves) return;
      stream.close();
      // The process that serves this page ends with the run: the report is a whole that stays.
      if (status.report) location.replace("report.html");
      else setConnection("The run has ended; this page shows its final state.");
    });
  }

  /** The path of a column of seconds in a box of 600 by 120, whose top is `most`; gaps where there is none. */
  function pathOf(seconds, column, most) {
    const end_s = seconds.at(-1)[0];
    let pen = "M";
    return seconds
      .map((second) => {
        if (second[column] === null) {
          pen = "M";
          return "";
        }
        const step = `${pen}${((600 * second[0]) / end_s).toFixed(1)} ${(118 - (114 * second[column]) / most).toFixed(1)}`;
        pen = "L";
        return step;
      })
      .join("");
  }

  /** Three digits, as people read a figure that changes. */
  const figure = (value) => (value === null ? "—" : Number(value.toPrecision(3)).toLocaleString("en"));

  /** Draw a chart of one or two columns, with its newest figures and the greatest beside it; one without any is not shown. */
  function drawSeconds(name, seconds, columns, unit) {
    const known = seconds.flatMap((second) => columns.map((column) => second[column] ?? 0));
    const most = Math.max(...known) || 1;
    at(`live-${name}-figure`).hidden = columns.every((column) => seconds.every((second) => second[column] === null));
    const lines = at(`live-${name}`).querySelectorAll(".line");
    columns.forEach((column, place) => lines[place].setAttribute("d", pathOf(seconds, column, most)));
    const newest = columns.map((column) => figure(seconds.at(-1)[column])).join(" and ");
    say(`live-${name}-now`, `${newest}${unit}, at most ${figure(most)}`);
    say(`live-${name}-end`, clock(seconds.at(-1)[0]));
  }

  /** Show what the verdict on the load would be by now. */
  function showSoFar(soFar) {
    at("so-far").hidden = soFar === null;
    if (soFar === null) return;
    at("so-far-verdict").className = `verdict ${soFar.status}`;
    say("so-far-verdict", soFar.status);
    say("so-far-words", soFar.text);
  }

  /** Show a long load's seconds: their ends, answers per second, p50, p90, p99, failures, CPUs of both sides. */
  function showSeconds({ seconds, so_far: soFar }) {
    at("live").hidden = seconds.length < 1;
    showSoFar(soFar);
    if (seconds.length < 1) return;
    drawSeconds("rate", seconds, [1], "");
    drawSeconds("latency", seconds, [2, 4], " ms");
    drawSeconds("cpu", seconds, [6, 7], "");
    const failed = seconds.at(-1)[5];
    say("live-failed", failed === 0 ? "Nothing has failed." : `${failed.toLocaleString("en")} failed until now.`);
  }

  function setConnection(text) {
    say("connection", text);
    at("connection").hidden = text === "";
  }

  function lost(isLost) {
    setConnection(isLost ? "The connection is lost; this page shows the last known state. Reconnecting." : "");
  }

  document.addEventListener("visibilitychange", () => {
    tick();
    drawSeen();
  });
  document.addEventListener("focusout", () => setTimeout(drawSeen));
  setInterval(tick, 1000);
  follow();
}
