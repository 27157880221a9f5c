/** The rows of a long table, which are on the page as data until somebody wants them. */

/** A cell with a number as `long_table.py` has stored it. */
function numberCell(row, name) {
  const cell = document.createElement("td");
  cell.className = "number";
  cell.dataset.sort = row[`sort-${name}`] ?? "";
  cell.append(row[`shown-${name}`]);
  if (row[`margin-${name}`] !== null) cell.append(" ", marked("span", "margin", row[`margin-${name}`]));
  return cell;
}

/** An element with a class and a text. */
function marked(tag, className, text) {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

/** The symbol of a server, as it is before its name everywhere. */
function symbolOf({ outline, colour }) {
  const made = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const symbol = made("svg", { class: "symbol", viewBox: "0 0 12 12", "aria-hidden": "true" });
  symbol.append(made("path", { d: outline, fill: colour }));
  return symbol;
}

/** Give a table all its rows. */
function complete(table) {
  const data = document.getElementById(table.dataset.rest);
  if (data === null) return;
  delete table.dataset.rest;
  document.getElementById("rest-notice").remove();
  const { figures, symbols, rows } = JSON.parse(data.textContent);
  const made = rowsOf(rows).map((row) => {
    const element = document.createElement("tr");
    const server = document.createElement("th");
    server.scope = "row";
    server.append(symbolOf(symbols[row.server]), " ", row.server);
    const trials = numberCell(row, "trials");
    const lead = marked("button", "lead-to", row["shown-trials"]);
    Object.assign(lead, { type: "button", title: "Show its trials" });
    Object.assign(lead.dataset, { server: row.server, place: row.place });
    trials.replaceChildren(lead);
    const verdict = document.createElement("td");
    verdict.append(row.verdict === null ? "not measured" : marked("span", `verdict ${row.verdict}`, row.verdict));
    const cells = Array.from({ length: figures }, (_, number) => numberCell(row, number));
    element.append(server, ...cells, trials, verdict);
    return element;
  });
  table.tBodies[0].append(...made);
}

for (const table of document.querySelectorAll("table[data-rest]")) {
  document.querySelector("#rest-notice button").addEventListener("click", () => complete(table));
}
