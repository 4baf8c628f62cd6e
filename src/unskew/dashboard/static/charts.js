/* global Plotly */
import { make, byId, keepChildren } from "./dom.js";
import { count, seconds } from "./format.js";

const CONFIG = { displaylogo: false, responsive: true, displayModeBar: false, doubleClick: "reset" };
const LINES = {
  "chart-imbalance": { suffix: " %", series: [["imbalance", "solid"], ["predicted_imbalance", "dot"]] },
  "chart-throughput": { series: [["rows_per_second", "solid"]] },
  "chart-latency": { suffix: " s", series: [["latency", "solid", 0], ["latency", "dash", 1], ["latency", "dot", 2]] },
  "chart-duration": { suffix: " s", series: [["seconds", "solid"]] },
  "chart-sigma": { suffix: " %", series: [["sigma", "solid"]] },
  "chart-replication": { floor: 1, series: [["replication", "solid"]] },
};

// Columns grow and shrink as groupings come and go, which plotly itself does not see.
const sizes = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    if (target.data && target.offsetParent !== null && Math.abs(target.clientWidth - target._fullLayout.width) > 1) Plotly.Plots.resize(target);
  }
});

function react(chart, traces, layout) {
  const isNew = !chart.data;
  Plotly.react(chart, traces, layout, CONFIG);
  if (isNew) sizes.observe(chart);
}

let zooms = 1; // a new number lets plotly forget how far it was zoomed; 0 would let it always

export function resetZoom() {
  zooms += 1;
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  return { ink: value("--soft"), line: value("--line"), strong: value("--ink"), card: value("--card") };
}

function layoutOf(look, xTitle, more = {}) {
  const axis = { gridcolor: look.line, zerolinecolor: look.line, linecolor: look.line, automargin: true, tickfont: { size: 11 } };
  return {
    margin: { l: 46, r: 10, t: 8, b: 32 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 11.5, color: look.ink }, showlegend: false, bargap: 0.18,
    hoverlabel: { bgcolor: look.card, bordercolor: look.line, font: { color: look.strong } }, hovermode: "x unified",
    uirevision: zooms, dragmode: "zoom", ...more,
    xaxis: { ...axis, showgrid: false, zeroline: false, title: { text: xTitle, standoff: 6, font: { size: 11 } }, ...more.xaxis },
    yaxis: { ...axis, rangemode: "tozero", nticks: 6, ...more.yaxis },
  };
}

export function drawLines(store, { logScale }) {
  const look = colours();
  for (const [id, { suffix = "", floor, series }] of Object.entries(LINES)) {
    const isLog = logScale && id === "chart-imbalance";
    const traces = store.shown.flatMap((grouping) =>
      series.map(([field, dash, at]) => lineOf(grouping, field, dash, at, isLog, suffix)));
    const known = traces.some((trace) => trace.y.some((value) => value !== null));
    byId(id).closest("figure").hidden = !known;
    if (!known) continue;
    const yaxis = isLog ? { type: "log", rangemode: "normal", dtick: 1 } : floor === undefined ? {} : { rangemode: "normal" };
    react(byId(id), traces, layoutOf(look, "micro-batch", { yaxis, shapes: cursor(store, look) }));
  }
}

function lineOf(grouping, field, dash, at, isLog, suffix) {
  const values = grouping.frames.map((frame) => (at === undefined ? frame[field] : frame[field]?.[at] ?? null));
  const name = at === undefined ? grouping.name : `${grouping.name} p${[50, 95, 99][at]}`;
  const few = grouping.frames.length < 2;
  return {
    type: "scatter", mode: few ? "markers" : "lines", x: grouping.frames.map((frame) => frame.step),
    y: isLog ? values.map((value) => (value > 0 ? value : null)) : values,
    name: plain(field === "predicted_imbalance" ? `${name}, planned` : name),
    line: { color: grouping.hue, width: dash === "solid" ? 2 : 1.3, dash }, marker: { color: grouping.hue },
    opacity: dash === "solid" ? 1 : 0.75, hovertemplate: `%{y:.4~s}${suffix}`,
  };
}

// Plotly reads a few tags in names; spelled out, they stay text.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function cursor(store, look) {
  if (store.step === null) return [];
  return [{ type: "line", xref: "x", yref: "paper", x0: store.step, x1: store.step, y0: 0, y1: 1, line: { color: look.strong, width: 1, dash: "dot" } }];
}

export function drawLoads(store, { measure, sameScale }) {
  const look = colours();
  const views = store.shown.map((grouping) => ({ grouping, frame: store.frameOf(grouping), view: store.frameOf(grouping)[measure] }));
  const nodes = keepChildren(byId("loads"), views.map(({ grouping }) => grouping.name), (name) => {
    const grouping = store.groupings.get(name);
    return make("article", { className: "card hue", hue: grouping.hue, data: { name } },
      make("h3", {}, make("span", { className: "label", dir: "auto", textContent: name }), make("small", {})),
      make("div", { className: "loads-chart" }), make("p", { className: "none", hidden: true }));
  });
  const few = views.filter(({ view }) => view && view.per_cell === 1);
  const top = Math.max(0, ...few.flatMap(({ view }) => [...view.values, ...(view.predicted ?? [])]));
  views.forEach((each, at) => drawWorkers(nodes[at], each, { look, measure, top: sameScale ? top : null, store }));
}

function drawWorkers(card, { grouping, view }, { look, measure, top, store }) {
  const chart = card.querySelector(".loads-chart");
  const none = card.querySelector(".none");
  chart.hidden = !view;
  none.hidden = Boolean(view);
  card.querySelector("small").textContent = view ? caption(view, measure) : "";
  if (!view) {
    none.textContent = measure === "busy" ? "Nobody measures busy time here." : "Loads are not reported here.";
    return;
  }
  chart.classList.toggle("tall", view.per_cell > 1);
  const [traces, layout] = view.per_cell > 1 ? manyWorkers(grouping, measure, look, store) : fewWorkers(grouping, view, look, measure, top);
  react(chart, traces, layout);
}

function caption(view, measure) {
  const each = measure === "busy" ? seconds(view.mean) : `${count(view.mean)} rows`;
  return view.per_cell > 1 ? `${count(view.workers)} workers, ${view.per_cell} a line; mean ${each}` : `mean ${each}`;
}

function fewWorkers(grouping, view, look, measure, top) {
  const x = view.values.map((_, worker) => worker);
  const suffix = measure === "busy" ? " s" : "";
  const bars = { type: "bar", x, y: view.values, marker: { color: grouping.hue, cornerradius: 2 }, name: "actual", hovertemplate: `%{y:.4~s}${suffix}` };
  const planned = view.predicted && {
    type: "scatter", mode: "markers", x, y: view.predicted, name: "planned", hovertemplate: `%{y:.4~s}${suffix}`,
    marker: { symbol: "line-ew", size: Math.max(4, Math.min(20, 190 / x.length)), line: { width: 2, color: look.strong } },
  };
  const mean = { type: "line", xref: "paper", x0: 0, x1: 1, yref: "y", y0: view.mean, y1: view.mean, line: { color: look.ink, width: 1, dash: "dash" } };
  const yaxis = top ? { range: [0, 1.06 * top] } : {};
  return [planned ? [bars, planned] : [bars], layoutOf(look, "worker", { shapes: [mean], yaxis, xaxis: { range: [-0.6, x.length - 0.4], dtick: x.length > 24 ? undefined : x.length > 12 ? 2 : 1 } })];
}

// Thousands of workers: time to the right, workers upwards, colour is load over the mean; below
// it the quantiles of all workers.
function manyWorkers(grouping, measure, look, store) {
  const frames = grouping.frames.filter((frame) => frame[measure] && frame[measure].per_cell > 1);
  const x = frames.map((frame) => frame.step);
  const cells = Math.max(...frames.map((frame) => frame[measure].values.length));
  const ratio = (frame, cell) => (frame[measure].mean > 0 ? (frame[measure].values[cell] ?? null) / frame[measure].mean : 0);
  const perCell = frames.at(-1)[measure].per_cell;
  const worst = Math.max(...frames.map((frame) => frame[measure].quantiles[6] / (frame[measure].mean || 1)));
  const top = Math.max(2, Math.min(8, worst)); // the mean has the colour of the page, whatever the worst
  const heat = {
    type: "heatmap", x, y: Array.from({ length: cells }, (_, cell) => cell * perCell),
    z: Array.from({ length: cells }, (_, cell) => frames.map((frame) => ratio(frame, cell))),
    zmin: 0, zmax: top, colorscale: [[0, "#2563eb"], [1 / top, look.line], [0.5 + 0.5 / top, "#f59e0b"], [1, "#dc2626"]],
    colorbar: { thickness: 8, len: 0.52, y: 0.76, outlinewidth: 0, tickfont: { size: 10 }, ticksuffix: "×" },
    hovertemplate: "batch %{x}, workers from %{y}: %{z:.2f} × the mean<extra></extra>",
  };
  const line = (at, name, more) => ({ type: "scatter", mode: "lines", x, y: frames.map((frame) => frame[measure].quantiles[at]), name, yaxis: "y2", hovertemplate: "%{y:.4~s}", ...more });
  const soft = { color: grouping.hue, width: 0 };
  const quantiles = [
    line(1, "5 %", { line: soft }), line(5, "95 %", { line: soft, fill: "tonexty", fillcolor: `${grouping.hue}26` }),
    line(2, "25 %", { line: soft }), line(4, "75 %", { line: soft, fill: "tonexty", fillcolor: `${grouping.hue}4d` }),
    line(3, "median", { line: { color: grouping.hue, width: 2 } }), line(6, "fullest", { line: { color: grouping.hue, width: 1.2, dash: "dot" } }),
  ];
  const layout = layoutOf(look, "micro-batch", { shapes: cursor(store, look), yaxis: { domain: [0.5, 1], rangemode: "normal" }, hovermode: "closest" });
  layout.yaxis2 = { ...layout.yaxis, domain: [0, 0.42], rangemode: "tozero", nticks: 4 };
  layout.xaxis.anchor = "y2";
  return [[heat, ...quantiles], layout];
}
