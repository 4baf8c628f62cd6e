import { make, byId, keepChildren } from "./dom.js";
import { count, compact, real, percent, seconds, clock } from "./format.js";

const FACTS = [
  ["rows per second", "rows_per_second", (frame) => compact(frame.rows_per_second)],
  ["micro-batch", "seconds", (frame) => seconds(frame.seconds)],
  ["latency p95", "latency", (frame) => seconds(frame.latency?.[1])],
  ["σ", "sigma", (frame) => percent(frame.sigma)],
  ["replication", "replication", (frame) => real(frame.replication, 4)],
  ["split keys", "split_keys", (frame) => count(frame.split_keys)],
];

const OFTEN_UNKNOWN = ["latency", "replication", "split_keys", "phase"]; // left out where nobody has them

export function drawChips(store, onToggle) {
  const all = [...store.groupings.values()];
  byId("groupings").hidden = all.length < 2;
  const nodes = keepChildren(byId("groupings"), all.map((each) => each.name), (name) =>
    make("button", { type: "button", data: { name }, hue: store.groupings.get(name).hue, onclick: () => onToggle(name) },
      make("span", { className: "dot" }), make("span", { className: "label", dir: "auto", textContent: name })));
  for (const node of nodes) node.setAttribute("aria-pressed", String(!store.hidden.has(node.dataset.name)));
}

export function drawCards(store) {
  const nodes = columns("cards", store, emptyCard);
  const frames = store.shown.map((grouping) => store.frameOf(grouping));
  store.shown.forEach((grouping, at) => fillCard(nodes[at], grouping, frames[at]));
  for (const field of OFTEN_UNKNOWN) {
    const unknown = frames.every((frame) => frame[field] === null);
    for (const node of nodes) node.querySelector(`dd[data-field="${field}"]`).parentElement.hidden = unknown;
  }
}

function columns(id, store, create) {
  return keepChildren(byId(id), store.shown.map((each) => each.name), (name) => {
    const grouping = store.groupings.get(name);
    return make("article", { className: "card hue", hue: grouping.hue, data: { name } }, ...create(grouping));
  });
}

function title(grouping, ...more) {
  return make("h3", {}, make("span", { className: "label", dir: "auto", textContent: grouping.name, title: grouping.name }), ...more);
}

function fact(label, field) {
  return make("div", {}, make("dt", { textContent: label }), make("dd", { data: { field } }));
}

function emptyCard(grouping) {
  return [
    title(grouping, make("span", { className: "plan", data: { field: "version" } })),
    make("div", { className: "big" }, make("b", { data: { field: "imbalance" } }), make("span", { data: { field: "promise" } })),
    make("dl", { className: "facts" },
      ...FACTS.map(([label, field]) => fact(label, field)),
      fact("rows so far", "total_rows"), fact("dead letters", "dead_letters"), fact("scheduler", "phase")),
  ];
}

function fillCard(card, grouping, frame) {
  const set = (field, text) => {
    const node = card.querySelector(`[data-field="${field}"]`);
    if (node.textContent !== text) node.textContent = text;
    return node;
  };
  set("imbalance", percent(frame.imbalance));
  set("promise", promise(frame));
  set("version", frame.version === null ? "no plan" : frame.version > 0 ? `plan ${frame.version}` : "hashing").hidden =
    frame.version === null;
  for (const [, field, text] of FACTS) set(field, text(frame));
  set("total_rows", count(grouping.totals.rows)).title = count(grouping.totals.rows);
  set("dead_letters", count(grouping.totals.dead_letters)).classList.toggle("alarm", grouping.totals.dead_letters > 0);
  const scheduler = set("phase", frame.phase === null ? "–" : frame.phase.replaceAll("_", " ").toLowerCase());
  scheduler.title = frame.messages === null ? "" : `${count(grouping.totals.messages)} messages`;
}

function promise(frame) {
  const of = frame.imbalance_of === "busy_seconds" ? "imbalance of busy time" : "imbalance of rows";
  return frame.predicted_imbalance === null ? of : `${of}; planned ${percent(frame.predicted_imbalance)}`;
}

export function drawKeys(store) {
  const nodes = columns("keys", store, (grouping) => [title(grouping), make("div", { className: "body" })]);
  store.shown.forEach((grouping, at) => {
    const { hot_keys: keys } = store.frameOf(grouping);
    nodes[at].querySelector(".body").replaceChildren(
      keys.length ? keyTable(keys) : make("p", { className: "none", textContent: "No keys are reported." }));
  });
}

function keyTable(keys) {
  const largest = Math.max(...keys.map((key) => key.share), 1e-9);
  const rows = keys.map((key) => make("tr", {},
    make("td", { className: "key", dir: "auto", textContent: key.key === "" ? "(empty)" : key.key }),
    make("td", { className: "share" },
      make("span", { textContent: percent(100 * key.share) }),
      make("div", { className: "track" }, bar(key.share / largest))),
    make("td", { className: "places" }, ...places(key))));
  return make("table", {},
    make("thead", {}, make("tr", {}, make("th", { textContent: "key" }),
      make("th", { className: "share", textContent: "of the rows" }), make("th", { className: "places", textContent: "on workers" }))),
    make("tbody", {}, ...rows));
}

function bar(part) {
  const node = make("i");
  node.style.width = `${100 * part}%`;
  return node;
}

function places(key) {
  const most = 8;
  const shown = key.workers.slice(0, most).map((worker) => make("span", { className: "place", textContent: String(worker) }));
  const more = key.worker_count - shown.length;
  return more > 0 ? [...shown, make("span", { className: "place", textContent: `+${count(more)}` })] : shown;
}

export function drawPlans(store) {
  const nodes = columns("plans", store, (grouping) => [title(grouping), make("div", { className: "plan-list" })]);
  store.shown.forEach((grouping, at) => {
    const plans = grouping.plans.filter((plan) => store.step === null || plan.step <= store.step).reverse();
    nodes[at].querySelector(".plan-list").replaceChildren(
      plans.length ? planTable(plans) : make("p", { className: "none", textContent: "No plan was made: rows go where the scheme sends them." }));
  });
}

function planTable(plans) {
  const rows = plans.map((plan) => make("tr", {},
    make("td", { className: "plan-number", textContent: plan.version === null ? "–" : String(plan.version) }),
    make("td", { className: "plan-when", textContent: `batch ${count(plan.batch)}`, title: clock(plan.time) }),
    make("td", { className: "why", dir: "auto", textContent: plan.why ?? "" })));
  return make("table", {},
    make("thead", {}, make("tr", {}, make("th", { className: "plan-number", textContent: "plan" }),
      make("th", { className: "plan-when", textContent: "made after" }), make("th", { textContent: "why" }))),
    make("tbody", {}, ...rows));
}
