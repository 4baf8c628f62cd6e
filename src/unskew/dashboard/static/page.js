import { byId } from "./dom.js";
import { clock, count } from "./format.js";
import { Store } from "./store.js";
import { drawCards, drawChips, drawKeys, drawPlans } from "./panels.js";
import { drawLines, drawLoads, resetZoom } from "./charts.js";

const DRAW_EVERY = 200; // milliseconds: eyes need no more, and a phone not as much
const PLAY_EVERY = 250;

const store = new Store();
const view = { measure: "loads", sameScale: true, logScale: false };
const connection = { lost: false, playing: null, drawn: 0, timer: null };
const address = (path) => path + location.search; // the token, if there is one, is in it

function draw() {
  connection.timer = null;
  connection.drawn = performance.now();
  const any = store.groupings.size > 0;
  byId("empty").hidden = any;
  byId("content").hidden = byId("timeline").hidden = !any;
  byId("title").textContent = store.run.title;
  document.title = store.run.title ? `${store.run.title} · unskew` : "unskew";
  byId("problem").hidden = !store.run.problem;
  byId("problem").textContent = store.run.problem ?? "";
  drawStatus();
  if (!any) return;
  drawChips(store, (name) => { store.toggle(name); soon(); });
  drawTimeline();
  drawCards(store);
  drawLoads(store, view);
  drawLines(store, view);
  drawKeys(store);
  drawPlans(store);
}

function soon() {
  if (connection.timer !== null) return;
  connection.timer = setTimeout(draw, Math.max(0, DRAW_EVERY - (performance.now() - connection.drawn)));
}

function statusNow() {
  if (connection.lost) return ["lost", "no connection"];
  if (store.step !== null) return ["paused", connection.playing === null ? "paused" : "playing"];
  if (store.run.ended) return ["ended", "ended"];
  if (store.run.mode === "replay") return ["ended", "replay"];
  return store.groupings.size ? ["live", store.run.mode === "demo" ? "demo" : "live"] : ["waiting", "waiting"];
}

function drawStatus() {
  const [kind, text] = statusNow();
  byId("status").dataset.kind = kind;
  const dropped = store.run.dropped ? ` · ${count(store.run.dropped)} dropped` : "";
  byId("status").textContent = text + dropped;
}

const follows = () => store.run.mode !== "replay" && !store.run.ended && !connection.lost;

function drawTimeline() {
  const steps = store.steps;
  const slider = byId("slider");
  slider.max = String(steps.length - 1);
  const at = store.step === null ? steps.length - 1 : steps.findLastIndex((step) => step <= store.step);
  if (document.activeElement !== slider || store.step === null || connection.playing !== null) slider.value = String(at);
  const frames = store.shown.map((grouping) => store.frameOf(grouping));
  const frame = frames.reduce((latest, each) => (each.step > latest.step ? each : latest));
  byId("moment").textContent = `batch ${count(frame.batch)} · ${clock(frame.started)}`;
  byId("pause").textContent = follows() ? (store.step === null ? "pause" : "resume") : connection.playing === null ? "play" : "stop";
}

function show(at) {
  const steps = store.steps;
  store.step = at >= steps.length - 1 && connection.playing === null ? null : steps[at];
  soon();
}

function stopPlaying() {
  clearInterval(connection.playing);
  connection.playing = null;
}

function play() {
  const steps = store.steps;
  let at = store.step === null ? 0 : steps.indexOf(store.step);
  connection.playing = setInterval(() => {
    if (at >= store.steps.length - 1) { stopPlaying(); store.step = null; soon(); return; }
    at += 1;
    show(at);
  }, PLAY_EVERY);
  show(at);
}

function pauseOrPlay() {
  if (connection.playing !== null) stopPlaying();
  else if (!follows()) play();
  else store.step = store.step === null ? store.steps.at(-1) : null;
  soon();
}

async function loadState() {
  const answer = await fetch(address("api/state"));
  if (!answer.ok) throw new Error(`the server says ${answer.status}`);
  store.load(await answer.json());
  soon();
}

function connect() {
  const source = new EventSource(address("api/events"));
  let waiting = null; // changes that come while the state is being read
  const reload = async () => {
    waiting = [];
    try {
      await loadState();
      connection.lost = false;
    } catch {
      connection.lost = true;
    }
    for (const update of waiting) store.apply(update);
    waiting = null;
    soon();
  };
  source.addEventListener("open", reload);
  source.addEventListener("lost", reload);
  source.addEventListener("error", () => { connection.lost = !store.run.ended; soon(); });
  source.addEventListener("update", (message) => {
    const update = JSON.parse(message.data);
    if (waiting) waiting.push(update);
    else { store.apply(update); soon(); }
  });
  source.addEventListener("end", (message) => {
    store.run.ended = true;
    store.run.problem = JSON.parse(message.data).problem;
    source.close(); // or it would ask this port for ever, and show whatever run comes there next
    soon();
  });
}

function listen() {
  byId("pause").onclick = pauseOrPlay;
  byId("slider").oninput = (event) => { stopPlaying(); show(Number(event.target.value)); };
  byId("same-scale").onchange = (event) => { view.sameScale = event.target.checked; soon(); };
  byId("log-scale").onchange = (event) => { view.logScale = event.target.checked; resetZoom(); soon(); };
  byId("reset-zoom").onclick = () => { resetZoom(); soon(); };
  for (const button of document.querySelectorAll("[data-measure]")) {
    button.onclick = () => {
      view.measure = button.dataset.measure;
      for (const each of document.querySelectorAll("[data-measure]")) each.setAttribute("aria-pressed", String(each === button));
      soon();
    };
  }
  byId("theme").onclick = () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("unskew-theme", root.dataset.theme); } catch { /* it is not kept then */ }
    soon();
  };
}

listen();
connect();
