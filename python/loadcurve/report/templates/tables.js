/** Sorting tables, copying them and taking them along as CSV. */

/** Sort a table by the column of a header; a second call turns the order round. Absent values stay last. */
function sortBy(header) {
  const table = header.closest("table");
  complete(table);
  const column = header.cellIndex;
  const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  // A number such as 1,600 in a text is one, whose comma ends it for the comparison.
  const said = (row) => row.cells[column].textContent.trim().replaceAll(/(?<=\d),(?=\d{3})/g, "");
  const key = (row) => row.cells[column].dataset.sort ?? said(row);
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

for (const button of document.querySelectorAll("table.sortable th button")) {
  button.addEventListener("click", () => sortBy(button.closest("th")));
}

/** The number of a text such as "3,998", or the text itself where it is none. */
function plain(text) {
  const digits = text.replaceAll(",", "");
  return digits !== "" && Number.isFinite(Number(digits)) ? digits : text;
}

/** The text of an element, a number without separators; an absent one is empty. */
function textOf(element) {
  const text = element.textContent.replaceAll(/\s+/g, " ").trim();
  return text === "—" ? "" : plain(text);
}

/** A cell's value with all its digits: one that it has for that, or what it is sorted by, or its text. */
function valueOf(cell) {
  return cell.dataset.value ?? cell.dataset.sort ?? textOf(cell);
}

/** The names of the parts that the cells of a column have beside their value, such as places in a ranking. */
function partsOf(rows, place) {
  const parts = rows.flatMap((row) => [...(row.cells[place]?.querySelectorAll("[data-part]") ?? [])]);
  return [...new Set(parts.map((part) => part.dataset.part))];
}

/** A table as rows of texts; a column is followed by the ends of its intervals, and by its parts. */
function textsOf(table) {
  complete(table);
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows];
  const columns = heads.map((head, place) => ({
    title: head.textContent.trim(),
    place,
    ends: rows.some((row) => row.cells[place]?.querySelector(".margin")) ? ["low", "high"] : [],
    parts: partsOf(rows, place),
  }));
  const titles = columns.flatMap(({ title, ends, parts }) => [
    title,
    ...[...ends, ...parts].map((name) => `${title}, ${name}`),
  ]);
  const values = rows.map((row) =>
    columns.flatMap(({ place, ends, parts }) => {
      const cell = row.cells[place];
      const interval = cell.querySelector(".margin")?.textContent.split(/\sto /).map(plain) ?? [];
      const found = parts.map((part) => cell.querySelector(`[data-part="${part}"]`));
      return [
        valueOf(cell),
        ...ends.map((_, end) => interval[end] ?? ""),
        ...found.map((part) => (part === null ? "" : textOf(part))),
      ];
    }),
  );
  return [titles, ...values];
}

/** A field of CSV by RFC 4180. What a spreadsheet would take for a formula is made a text. */
function csvField(text) {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text));
  const safe = isFormula ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Offer the table as a file, named after its section unless it has another name. */
function download(table) {
  const csv = textsOf(table).map((row) => row.map(csvField).join(",")).join("\r\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${csv}\r\n`], { type: "text/csv" }));
  link.download = `${table.dataset.file ?? table.closest("section").getAttribute("aria-labelledby")}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Put the table on the clipboard, with tabs between its cells, and say so on the button. */
async function copy(table, button) {
  const text = textsOf(table).map((row) => row.join("\t")).join("\n");
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The browser does not allow it";
  }
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

/** The buttons that belong below a table. */
function toolsOf(table) {
  const tools = document.createElement("p");
  tools.className = "tools";
  for (const [label, action] of [["Copy", copy], ["CSV", download]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.title = label === "CSV" ? "Download this table as CSV" : "Copy this table";
    button.addEventListener("click", () => action(table, button));
    tools.append(button);
  }
  return tools;
}

for (const table of document.querySelectorAll("table")) {
  if (table.tHead !== null) (table.closest(".scroller") ?? table).after(toolsOf(table));
}
