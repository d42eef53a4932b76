// A series of figures: bars for a few points, a curve for many, and all of them in a table.
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 200;
const EDGE = { top: 8, right: 8, bottom: 20 };
const MAX_BARS = 62;

const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const makeFacts = (pairs) =>
  el("dl", {}, pairs.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

function formatStart(start) {
  if (!/^\d{4}-\d{2}-\d{2}/.test(start)) return spellOut(start);
  const isDay = start.length === 10;
  const at = new Date(isDay ? `${start}T00:00Z` : start.slice(0, 16) + "Z");
  const options = isDay ? { dateStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" };
  return intl((locale) => new Intl.DateTimeFormat(locale, { ...options, timeZone: "UTC" }).format(at));
}

function axisTop(highest) {
  const power = 10 ** Math.floor(Math.log10(Math.max(highest, 1)));
  return [1, 2, 5, 10].map((step) => step * power).find((one) => one >= highest);
}

function makeBars(points, x, y, step) {
  return points.map((one, index) => {
    const width = Math.max(1, step * 0.8);
    const kind = one.complete === false ? "bar open" : "bar";
    const place = { x: x(index) - width / 2, y: y(one.value), width, height: Math.max(0, y(0) - y(one.value)) };
    return svg("rect", { class: kind, ...place }, svg("title", {}, `${formatStart(one.start)}: ${formatNumber(one.value)}`));
  });
}

function makeCurves(points, x, y) {
  const path = (from, to) => points.slice(from, to).map((one, at) => `${x(from + at)},${y(one.value)}`).join(" ");
  const over = points.findLastIndex((one) => one.complete !== false) + 1;
  return [
    svg("polyline", { class: "curve", points: path(0, over) }),
    over < points.length ? svg("polyline", { class: "curve open", points: path(Math.max(0, over - 1)) }) : null,
  ];
}

function makePlot(points, name, width) {
  const top = axisTop(Math.max(...points.map((one) => one.value)));
  const ticks = [...new Set([0, top / 2, top])];
  const left = Math.max(...ticks.map((one) => formatNumber(one).length)) * 7 + 8;
  const step = (width - left - EDGE.right) / points.length;
  const x = (index) => left + step * (index + 0.5);
  const y = (value) => EDGE.top + (1 - value / top) * (HEIGHT - EDGE.top - EDGE.bottom);
  const lines = ticks.flatMap((one) => [
    svg("line", { class: "grid", x1: left, x2: width - EDGE.right, y1: y(one), y2: y(one) }),
    svg("text", { x: left - 6, y: y(one) + 4, "text-anchor": "end" }, formatNumber(one)),
  ]);
  const ends = [[0, "start", left], [points.length - 1, "end", width - EDGE.right]].slice(0, points.length);
  const days = ends.map(([index, anchor, at]) =>
    svg("text", { x: at, y: HEIGHT - 4, "text-anchor": anchor }, formatStart(points[index].start)));
  const drawn = points.length > MAX_BARS ? makeCurves(points, x, y) : makeBars(points, x, y, step);
  const size = { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT };
  return svg("svg", { role: "img", "aria-label": name, ...size }, lines, days, drawn);
}

function makeTable(points) {
  const rows = points.map((one) =>
    el("tr", {}, el("th", { scope: "row" }, formatStart(one.start)),
      el("td", { class: "number" }, formatNumber(one.value), one.complete === false ? " (not over)" : null)));
  const head = el("tr", {}, el("th", { scope: "col" }, "From"), el("th", { scope: "col", class: "number" }, "Value"));
  return el("details", {}, el("summary", {}, "Show as a table"),
    el("table", {}, el("thead", {}, head), el("tbody", {}, rows)));
}

function makeSummary({ total, mean, highest, lowest }) {
  const point = (one) => `${formatNumber(one.value)}, ${formatStart(one.start)}`;
  return makeFacts([
    ...(Number.isFinite(total) ? [["Total", formatNumber(total)]] : []),
    ...(Number.isFinite(mean) ? [["Mean", formatNumber(mean)]] : []),
    ...(highest ? [["Highest", point(highest)]] : []),
    ...(lowest ? [["Lowest", point(lowest)]] : []),
  ]);
}

start("halo-figures", (result, found) => {
  const items = Array.isArray(found.items) ? found.items : [];
  const points = items.filter((one) => typeof one?.start === "string" && Number.isFinite(one.value));
  const metric = String(found.searched?.metric ?? state.input.metric ?? "Figures").replaceAll("_", " ");
  const name = metric.charAt(0).toUpperCase() + metric.slice(1);
  if (result.isError || !points.length) {
    return [el("h1", {}, quote(name)), el("pre", {}, result.isError ? resultText(result) : "No figures in this period.")];
  }
  const holder = el("div", {});
  const draw = () => holder.replaceChildren(makePlot(points, spellOut(name), Math.max(240, holder.clientWidth || 320)));
  new ResizeObserver(draw).observe(holder);
  draw();
  const company = found.searched?.company?.name;
  const hints = Array.isArray(found.hints) ? found.hints : [];
  return [
    el("h1", {}, quote(name), company ? [", ", quote(company)] : null),
    holder,
    points.some((one) => one.complete === false)
      ? el("p", { class: "quiet" }, el("span", { class: "key open" }), "not over yet") : null,
    found.summary ? makeSummary(found.summary) : null,
    ...hints.map((one) => el("p", { class: "quiet" }, quote(one))),
    makeTable(points),
  ];
});
