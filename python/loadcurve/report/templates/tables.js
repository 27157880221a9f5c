/** Sorting tables. */

/** Sort a table by the column of a header; a second call turns the order round. Absent values stay last. */
function sortBy(header) {
  const table = header.closest("table");
  const column = header.cellIndex;
  const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
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
