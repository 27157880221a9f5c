/** How the curves are drawn: single trials, the axes' scales, and the loads that are shown. */

const controls = Object.fromEntries(
  ["single-trials", "load-scale", "load-up-to", "value-scale"].map((id) => [id, document.getElementById(id)]),
);
const wish = (id) => controls[id]?.value ?? "";
const showsSingleTrials = () => controls["single-trials"]?.checked ?? false;

/** Change a curve's specification to what was chosen. */
function adjust(specification) {
  const single = specification.params?.find((one) => one.name === "single_trials");
  if (single !== undefined) single.value = showsSingleTrials();
  const { layer, datasets, data } = specification;
  specification.layer = layer.map((one) => adjusted(one, datasets, one.data ?? data)).filter(Boolean);
}

/** A layer as it was chosen to be drawn, with its own data; null if nothing is left of it. */
function adjusted(layer, datasets, data) {
  if (layer.layer !== undefined) {
    const inner = layer.layer.map((one) => adjusted(one, datasets, one.data ?? data)).filter(Boolean);
    return inner.length > 0 ? { ...layer, layer: inner } : null;
  }
  const isOfSingles = layer.transform?.some((one) => one.filter === "single_trials");
  if (isOfSingles && !showsSingleTrials()) return null;
  const { x, y } = layer.encoding;
  const isLoad = x?.type === "quantitative";
  const upTo = isLoad && wish("load-up-to") !== "" ? Number(wish("load-up-to")) : Infinity;
  // A mark at a fixed height, such as at the end of a line across the figure, has no scale.
  const isMeasured = y?.field !== undefined;
  const isLogarithmic = isMeasured && (wish("value-scale") || y.scale?.type) === "log";
  // A logarithmic axis has no place for what is not above zero, a layer without rows none for its extent.
  const values = datasets[data.name].filter(
    (row) => !(isLoad && row.x > upTo) && !(isLogarithmic && !(row[y.field] > 0)),
  );
  if (values.length === 0) return null;
  const encoding = { ...layer.encoding };
  if (isLoad) encoding.x = scaled(x, wish("load-scale"), upTo);
  if (isMeasured) encoding.y = scaledUp(y, wish("value-scale"), upTo < Infinity);
  return { ...layer, data: { values }, encoding };
}

/** The axis of the loads up to one of them, on the scale that was chosen. */
function scaled(x, type, upTo) {
  const labels = x.axis?.values?.filter((value) => value <= upTo);
  const scale = type === "" ? x.scale : { ...x.scale, type };
  return { ...x, scale, axis: { ...x.axis, ...(labels === undefined ? {} : { values: labels }) } };
}

/** A vertical axis on the scale that was chosen; one that shows less than all fits what it shows. */
function scaledUp(y, type, isPart) {
  if (type === "" && !isPart) return y;
  const { values, ...axis } = y.axis ?? {};
  const { domain, ...scale } = y.scale ?? {};
  if (type === "linear") return { ...y, axis, scale: { zero: true } };
  if (type === "log") return { ...y, axis, scale: { type: "log", nice: false } };
  return { ...y, axis, scale };
}

for (const control of Object.values(controls)) control?.addEventListener("change", () => draw());
