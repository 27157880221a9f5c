/** The table of contents: it stays in sight, beside the page where there is room and else folded above it. */

/** As in `contents.css`. */
const besides = window.matchMedia("(min-width: 78rem)");

/** Fill the table with the headings that the page has, and show which of them is being read. */
function listContents(nav) {
  const folding = nav.querySelector("details");
  const links = new Map();
  for (const heading of document.querySelectorAll("main h2[id]")) {
    const link = document.createElement("a");
    link.href = `#${heading.id}`;
    link.textContent = heading.textContent;
    const item = document.createElement("li");
    item.append(link);
    folding.querySelector("ul").append(item);
    links.set(heading.closest("section"), link);
  }
  const unfoldBesides = () => (folding.open = besides.matches);
  const foldAbove = () => (folding.open &&= besides.matches);
  besides.addEventListener("change", unfoldBesides);
  unfoldBesides();
  nav.addEventListener("click", ({ target }) => target.matches("a") && foldAbove());
  nav.addEventListener("keydown", ({ key }) => key === "Escape" && foldAbove());
  const shown = new Set();
  const reading = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) shown[isIntersecting ? "add" : "delete"](target);
      const current = [...links.keys()].find((section) => shown.has(section));
      for (const [section, link] of links) {
        if (section === current) link.setAttribute("aria-current", "location");
        else link.removeAttribute("aria-current");
      }
    },
    // The upper third of the window is where it is read.
    { rootMargin: "-10% 0px -65% 0px" },
  );
  for (const section of links.keys()) reading.observe(section);
  nav.hidden = false;
}

const contentsTable = document.querySelector("nav.contents");
if (contentsTable !== null) listContents(contentsTable);
