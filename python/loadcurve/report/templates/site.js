/** Pages of published results: finding an entry, and comparing two rows. */

/** What the address says behind its "#", by name: a list of values each. What cannot be read is left out. */
function inAddress() {
  const parts = location.hash.slice(1).split("&").map((part) => part.split("="));
  try {
    return new Map(
      parts
        .filter((part) => part.length === 2)
        .map(([name, values]) => [name, values.split(",").map(decodeURIComponent)]),
    );
  } catch {
    return new Map();
  }
}

/** The address that says this in addition, or nothing of it where there are no values. */
function addressWith(name, values) {
  const said = inAddress();
  said.delete(name);
  if (values.length > 0) said.set(name, values);
  const parts = [...said].map(([key, all]) => `${key}=${all.map(encodeURIComponent).join(",")}`);
  return parts.length > 0 ? `#${parts.join("&")}` : location.pathname + location.search;
}

function say(name, values) {
  history.replaceState(null, "", addressWith(name, values));
}

/** Let entries be found by words, which the address keeps. */
function offerSearch(search) {
  const entries = [...document.querySelectorAll("[data-search]")];
  const sought = () => search.value.split(/\s+/).filter(Boolean);
  const find = () => {
    const words = sought().map((word) => word.toLowerCase());
    for (const entry of entries) {
      const text = entry.textContent.toLowerCase();
      entry.hidden = !words.every((word) => text.includes(word));
    }
  };
  const follow = () => {
    search.value = (inAddress().get("find") ?? []).join(" ");
    find();
  };
  search.addEventListener("input", () => {
    say("find", sought());
    find();
  });
  addEventListener("hashchange", follow);
  follow();
}

const search = document.getElementById("search");
if (search !== null) offerSearch(search);

/** Keep the chosen filters in the address, by what they are called on the page, and follow such an address. */
function keepFilters(filters) {
  const called = (input) => input.parentElement.textContent.trim();
  const names = new Set([...filters.querySelectorAll("input")].map((input) => input.name));
  const choices = (name) => [...filters.querySelectorAll(`input[name="${name}"]`)];
  const notice = marked("p", "notice", "");
  notice.setAttribute("role", "status");
  filters.after(notice);
  const follow = () => {
    const said = inAddress();
    const unknown = [];
    for (const name of names) {
      const [all, ...values] = choices(name);
      const wanted = said.get(name)?.[0];
      const found = values.find((input) => called(input) === wanted);
      (found ?? all).checked = true;
      if (wanted !== undefined && found === undefined) unknown.push(wanted);
    }
    notice.textContent = unknown.length > 0 ? `Nothing here has what the address asks for: ${unknown.join(", ")}.` : "";
    notice.hidden = unknown.length === 0;
  };
  filters.addEventListener("change", ({ target }) => {
    say(target.name, target === choices(target.name)[0] ? [] : [called(target)]);
    notice.hidden = true;
  });
  addEventListener("hashchange", follow);
  follow();
}

const filters = document.querySelector(".filters");
if (filters !== null) keepFilters(filters);

/** Of fewer trials the ratio of two runs has no interval. */
const TRIALS_LEAST = 3;

/** The quantile of Student's t for a 95 % interval, by degrees of freedom, which need not be whole. */
function studentQuantile(degrees) {
  const quantiles = JSON.parse(document.getElementById("t-quantiles").textContent);
  const below = Math.min(Math.max(Math.floor(degrees), 1), quantiles.length);
  const above = Math.min(below + 1, quantiles.length);
  const share = Math.min(Math.max(degrees - below, 0), 1);
  return quantiles[below - 1] * (1 - share) + quantiles[above - 1] * share;
}

/** A ratio with its interval, from the logarithms of ratios within blocks; without an interval of one block. */
function pairedRatio(logarithms) {
  const count = logarithms.length;
  const mean = logarithms.reduce((sum, one) => sum + one, 0) / count;
  if (count < 2) return { ratio: Math.exp(mean), low: null, high: null };
  const squares = logarithms.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  const half = studentQuantile(count - 1) * Math.sqrt(squares / (count - 1) / count);
  return { ratio: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half) };
}

/**
 * A ratio of figures of two runs, each with an interval over its own trials (Welch, 1947). The interval of two
 * trials borrows from those of other servers, so that it does not say how far they spread themselves.
 */
function independentRatio([value, low, high, n], [otherValue, otherLow, otherHigh, otherN]) {
  const logarithm = Math.log(value / otherValue);
  if (low === null || otherLow === null || n < TRIALS_LEAST || otherN < TRIALS_LEAST || low <= 0 || otherLow <= 0) {
    return { ratio: Math.exp(logarithm), low: null, high: null };
  }
  const error = (from, to, trials) => Math.log(to / from) / 2 / studentQuantile(trials - 1);
  const [a, b] = [error(low, high, n) ** 2, error(otherLow, otherHigh, otherN) ** 2];
  const degrees = a + b === 0 ? n + otherN - 2 : (a + b) ** 2 / (a ** 2 / (n - 1) + b ** 2 / (otherN - 1));
  const half = studentQuantile(degrees) * Math.sqrt(a + b);
  return { ratio: Math.exp(logarithm), low: Math.exp(logarithm - half), high: Math.exp(logarithm + half) };
}

/** Three digits or so. */
function shortNumber(value) {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

/** The cell of a ratio: which of the two is the better one is said where the interval excludes 1. */
function ratioCell(found, better) {
  const cell = document.createElement("td");
  cell.className = "number";
  if (found === null) {
    cell.textContent = "—";
    return cell;
  }
  cell.textContent = shortNumber(found.ratio);
  cell.dataset.sort = found.ratio.toPrecision(6);
  if (found.low === null) return cell;
  const isApart = found.low > 1 || found.high < 1;
  if (isApart && better !== null && found.ratio > 1 === (better === "higher")) cell.classList.add("better");
  cell.append(" ", marked("span", "margin", `${shortNumber(found.low)} to ${shortNumber(found.high)}`));
  return cell;
}

/** A table of ratios in what scrolls it, and the buttons below it; its file is named after what it compares. */
function tableOf(titles, rows, compared) {
  const table = document.createElement("table");
  table.dataset.file = ["compare", ...compared].join("-").replaceAll(/[^\w.-]+/g, "-").slice(0, 120);
  const head = table.createTHead().insertRow();
  for (const [place, title] of titles.entries()) {
    const cell = marked("th", place > 0 ? "number" : "", title);
    cell.scope = "col";
    head.append(cell);
  }
  const body = table.createTBody();
  for (const [name, ...cells] of rows) {
    const row = body.insertRow();
    const header = marked("th", "", name);
    header.scope = "row";
    row.append(header, ...cells);
  }
  const scroller = document.createElement("div");
  scroller.className = "scroller";
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "region");
  scroller.setAttribute("aria-label", `Ratios: ${compared.join(", ")}`);
  scroller.append(table);
  return [scroller, toolsOf(table)];
}

/** The ratios of two servers of one run at every point that both have, by pairs within blocks. */
function withinRun(data, first, second) {
  const ratio = (point, place) => {
    const [a, b] = [data.servers[first][point], data.servers[second][point]];
    if (a === undefined || b === undefined) return null;
    const logarithms = Object.keys(a)
      .filter((block) => block in b && a[block][place] > 0 && b[block][place] > 0)
      .map((block) => Math.log(a[block][place] / b[block][place]));
    return logarithms.length === 0 ? null : pairedRatio(logarithms);
  };
  const all = data.points.map((point) => [point, data.measures.map((_, place) => ratio(point, place))]);
  const known = all.filter(([, ratios]) => ratios.some((one) => one !== null));
  if (known.length === 0) return [marked("p", "notice", "They have no point in common that can be used.")];
  const table = tableOf(
    ["at", ...data.measures],
    known.map(([point, ratios]) => [point, ...ratios.map((one, place) => ratioCell(one, data.better[place]))]),
    [first, second],
  );
  const unranked = [first, second].filter((name) => name in data.unranked);
  const [load, otherLoad] = [first, second].map((name) => JSON.stringify(data.loads[name] ?? {}));
  const words = `${first} and ${second} had different loads: the ratios compare the loads, too, not only the servers.`;
  return [
    ...(load === otherLoad ? [] : [marked("p", "notice", words)]),
    ...unranked.map((name) => marked("p", "notice", `${name} is in no ranking: ${data.unranked[name]}`)),
    marked("p", "", `${first} over ${second}. Each ratio has its own 95 % interval.`),
    ...table,
  ];
}

/** Why two rows cannot be compared; nothing where they can. */
function incomparable(a, b) {
  const [load, otherLoad] = [a, b].map((row) => JSON.stringify(row.load));
  if (a.conditions !== b.conditions || load !== otherLoad) return "They had different loads or content.";
  if (a.fingerprint === null || b.fingerprint === null) return "The machine of one of them is unknown.";
  if (a.fingerprint !== b.fingerprint) return `They ran on different machines: ${a.machine}, and ${b.machine}.`;
  if (a.point !== b.point) return `Their highest throughputs are at different points: ${a.point}, and ${b.point}.`;
  for (const one of [a, b]) if (one.unranked !== null) return `${one.name} is in no ranking: ${one.unranked}`;
  return null;
}

/** The ratios of two rows of a study, or why there are none. */
function acrossRuns(data, first, second) {
  const [a, b] = [first, second].map((key) => data.rows.find((row) => row.key === key));
  const reason = incomparable(a, b);
  if (reason !== null) return [marked("p", "notice", `They cannot be compared. ${reason}`)];
  const cells = data.measures.map((_, place) =>
    ratioCell(a.figures[place] && b.figures[place] ? independentRatio(a.figures[place], b.figures[place]) : null, data.better[place]),
  );
  const words =
    a.run === b.run
      ? "Both are of one run, whose page compares them by pairs."
      : "They were measured at different times, and not in turn: what else changed in between is part of the ratio.";
  const versions = a.version === b.version ? [] : [marked("p", "notice", "They were measured by different versions of Loadcurve.")];
  const few = [a, b].some((row) => row.figures.some((figure) => figure !== null && figure[3] < TRIALS_LEAST));
  const note = few ? " Of fewer than three trials a ratio of two runs has no interval." : "";
  const table = tableOf(["", ...data.measures], [["ratio", ...cells]], [a.name, b.name]);
  return [...versions, marked("p", "", `${a.name} over ${b.name}, at ${a.point}. ${words}${note}`), ...table];
}

/** Let a pair be chosen, show its comparison with a link to it, and follow such a link. */
function offerPairs(choice) {
  const data = JSON.parse(document.getElementById("compared").textContent);
  const isWithin = choice.dataset.pair === "within";
  const entries = isWithin
    ? data.order.map((name) => [name, name])
    : data.rows.map((row) => [row.key, `${row.name}, ${row.moment}, ${row.machine}`]);
  if (entries.length < 2) return;
  const selects = ["first", "second"].map((id) => document.getElementById(id));
  for (const select of selects) {
    for (const [key, name] of entries) select.append(new Option(name, key));
  }
  selects[1].selectedIndex = 1;
  choice.hidden = false;
  const chosen = () => selects.map((select) => select.value);
  const show = () => {
    const [first, second] = chosen();
    const link = marked("a", "", "Link to this comparison");
    link.href = addressWith("pair", [first, second]);
    const lead = document.createElement("p");
    lead.append(link);
    const compare = isWithin ? withinRun : acrossRuns;
    const parts = first === second ? [marked("p", "none", "Choose two.")] : [...compare(data, first, second), lead];
    document.getElementById("pair").replaceChildren(...parts);
  };
  const follow = () => {
    const pair = inAddress().get("pair");
    if (pair === undefined) return;
    const isKnown = pair.length === 2 && pair.every((key) => entries.some(([known]) => known === key));
    if (isKnown) for (const [place, select] of selects.entries()) select.value = pair[place];
    show();
    const unknown = "The address names a pair that this page does not have; this is another one.";
    if (!isKnown) document.getElementById("pair").prepend(marked("p", "notice", unknown));
    document.getElementById("compare").scrollIntoView();
  };
  for (const select of selects) {
    select.addEventListener("change", () => {
      say("pair", chosen());
      show();
    });
  }
  addEventListener("hashchange", follow);
  show();
  follow();
}

const choice = document.querySelector("[data-pair]");
if (choice !== null) offerPairs(choice);
