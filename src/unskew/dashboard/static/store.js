// What the server said, and which moment of it is shown. Knows nothing of the page.
const HUES = ["#3b82f6", "#f59e0b", "#10b981", "#ef5350", "#8b5cf6", "#06b6d4",
  "#ec4899", "#84cc16", "#f97316", "#64748b", "#a16207", "#0ea5a4"];
const MOST_FRAMES = 400;

export class Store {
  constructor() {
    this.run = { title: "", mode: "live", ended: false, problem: null, sequence: -1, dropped: 0 };
    this.groupings = new Map();
    this.hidden = new Set();
    this.step = null; // null: follow the newest
  }

  load(state) {
    const { groupings, ...run } = state;
    this.run = run;
    this.groupings = new Map(groupings.map((each, at) => [each.name, { ...each, hue: HUES[at % HUES.length] }]));
  }

  apply(update) {
    if (update.sequence <= this.run.sequence) return;
    this.run.sequence = update.sequence;
    this.run.dropped = update.dropped;
    const known = this.groupings.get(update.grouping.name);
    const frames = known ? known.frames : [];
    frames.push(update.frame);
    const hue = known ? known.hue : HUES[this.groupings.size % HUES.length];
    this.groupings.set(update.grouping.name, { ...update.grouping, hue, frames: thinned(frames) });
  }

  get shown() {
    return [...this.groupings.values()].filter((each) => !this.hidden.has(each.name));
  }

  // All moments that the slider can stand on, oldest first.
  get steps() {
    const all = new Set();
    for (const { frames } of this.groupings.values()) for (const frame of frames) all.add(frame.step);
    return [...all].sort((a, b) => a - b);
  }

  frameOf(grouping) {
    const { frames } = grouping;
    if (this.step === null) return frames.at(-1);
    let found = frames[0];
    for (const frame of frames) if (frame.step <= this.step) found = frame;
    return found;
  }

  toggle(name) {
    if (this.hidden.has(name)) this.hidden.delete(name);
    else if (this.shown.length > 1) this.hidden.add(name);
  }
}

// As the server does it: every second frame of the older half goes, never the first.
function thinned(frames) {
  if (frames.length <= MOST_FRAMES) return frames;
  const half = Math.floor(frames.length / 2);
  return frames.filter((_, at) => at >= half || at % 2 === 0);
}
