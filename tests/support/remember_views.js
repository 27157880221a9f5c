"use strict";
// Runs before the page's own scripts and keeps the Vega view of each figure, which the page hides.
window.drawnViews = {};
{
  let embed;
  const remembering = async (element, ...rest) => {
    const result = await embed(element, ...rest);
    window.drawnViews[element.id] = result.view;
    return result;
  };
  Object.defineProperty(window, "vegaEmbed", {
    get: () => remembering,
    set: (given) => { embed = given; },
  });
}

/** Come back when a condition holds; the page's policy forbids Playwright's own way of waiting. */
window.until = async (holds) => {
  while (!holds()) await new Promise(requestAnimationFrame);
};

/** The figures of the page, but those that have nothing to show. */
window.figuresInPage = () =>
  [...document.querySelectorAll(".chart")]
    .filter((chart) => !chart.closest("figure").hidden)
    .map((chart) => chart.id);

/** Where a figure's scale puts a value; null where the figure has several scales of that direction. */
function scaled(view, direction, value) {
  try {
    return view.scale(direction)(value);
  } catch {
    return null;
  }
}

/** The marks in a figure's scene with the datum of each, its place, and the place that the scales give it. */
window.marksOf = (figure) => {
  const view = window.drawnViews[figure];
  const marks = [];
  const walk = (mark) => {
    for (const item of mark.items ?? []) {
      if (mark.marktype === "group") item.items.forEach(walk);
      else if (mark.role === "mark") {
        const { x, y, opacity, stroke, fill } = item;
        const expected = { x: scaled(view, "x", item.datum.x), y: scaled(view, "y", item.datum.y) };
        marks.push({ kind: mark.marktype, datum: item.datum, x, y, opacity, stroke, fill, expected });
      }
    }
  };
  walk(view.scenegraph().root);
  return marks;
};
