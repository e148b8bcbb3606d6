// The recent activity of some nodes, a row each: their spans, as the console's :trace has them. Messages contain the
// spans of the last second in cells (host/cluster/STATE.md), by the clock of the node's process.
"use strict";

const kStreamSeconds = 60; // the most seconds that the page keeps and draws
const kFewSeconds = 10; // the fewest seconds that it draws
const kRow = 22; // height of a row in pixels
const kBar = 16; // height of the bar in a row
// Colours and labels of spans by their name; of other spans by their category. Later kinds are drawn over earlier ones.
const kKinds = {
  script: ["script", "the script itself"], step: ["computing", "step"], task: ["line-1", "map-reduce task"],
  call: ["call", "collective call"], "wait: task": ["task", "task of the server"], "wait: barrier": ["barrier", "barrier"], "wait: pull": ["server", "pull"],
  "wait: push": ["push", "push"], "wait: param": ["peer", "parameter server"], "wait: peer.run": ["peer", "other peers"],
  "wait: peer": ["peer", "other peers"], "wait: collective": ["collective", "collective"], "wait: data": ["data", "rows"],
  "wait: lock": ["lock", "lock"], "wait: event": ["event", "event"], "wait: action": ["action", "action"],
  "wait: console": ["console", "console"], "wait: sleep": ["sleep", "asleep"], "wait: other": ["other", "requests, other waits"],
};
const kOrder = Object.keys(kKinds);

let stream = { tracks: new Map(), shifts: new Map(), now: 0 };

const kind_of = (name, category) => (category !== "wait" ? category : kKinds[name] ? name : "wait: other");
// Adds the spans of a message, at times of the run's clock. For each process `shift` is the smallest difference between
// the run's clock and the process's clock so far: the reply with the shortest delay gives the best estimate.
function remember_stream(message) {
  const t = message.run.t || 0;
  if (t < stream.now) stream = { tracks: new Map(), shifts: new Map(), now: 0 };
  stream.now = t;
  const names = message.stream.names;
  for (const node of message.stream.nodes) {
    const shift = Math.min(stream.shifts.get(node.process) ?? Infinity, t - node.at);
    stream.shifts.set(node.process, shift);
    const track = stream.tracks.get(key_of(node)) || { spans: [], covered: [], next: -Infinity };
    stream.tracks.set(key_of(node), track);
    const zero = node.first * node.width;
    for (const [name, cell, begin, duration] of node.spans) {
      if (node.first + cell < track.next) continue;
      const from = zero + begin / 1000;
      const [label, category] = names[name];
      track.spans.push({ name: label, kind: kind_of(label, category), from: from + shift, to: from + duration / 1000 + shift });
    }
    const from = Math.max(node.first, track.next) * node.width + shift;
    const to = node.next * node.width + shift;
    const last = track.covered.at(-1);
    if (last && from - last.to < 1.5 * node.width) last.to = to;
    else if (to > from) track.covered.push({ from, to });
    track.next = Math.max(track.next, node.next);
    track.spans = track.spans.filter((span) => span.to > t - kStreamSeconds);
    track.covered = track.covered.filter((one) => one.to > t - kStreamSeconds);
  }
}

// The whole activity of a track from first to last drawn: the script, spans, and the wait that still lasts.
function layers_of(track, node) {
  const layers = track.covered.map((one) => ({ ...one, kind: "script", name: "the script itself" }));
  layers.push(...track.spans);
  const end = track.covered.at(-1)?.to;
  if (node.state === "waiting" && end !== undefined) {
    const name = "wait: " + (is_held(node) ? "barrier" : node.cause === "server" || node.cause === "peer" ? node.what : node.cause);
    const from = Math.max(end - 0.05, stream.now - (node.since || 0));
    if (stream.now > from) layers.push({ from: Math.min(from, stream.now), to: stream.now, kind: kind_of(name, "wait"), name });
  }
  return layers.sort((a, b) => kOrder.indexOf(a.kind) - kOrder.indexOf(b.kind));
}

let stream_rows = []; // of the drawn picture: {top, layers, label}

function show_stream(message) {
  const shown = message.nodes.filter((node) => stream.tracks.get(key_of(node))?.covered.length > 0).slice(0, 16);
  const panel = at("stream-panel");
  panel.hidden = shown.length === 0;
  if (!panel.hidden) draw_in_sight(at("stream-chart"), () => draw_stream(shown));
}

function draw_stream(shown) {
  const canvas = at("stream-chart");
  const scale = devicePixelRatio || 1;
  const width = canvas.parentElement.clientWidth;
  const height = shown.length * kRow + 20;
  canvas.style.height = height + "px";
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, DejaVu Sans, sans-serif";
  const left = 78;
  const known = stream.now - Math.min(...shown.map((node) => stream.tracks.get(key_of(node)).covered[0].from));
  const span = Math.min(kStreamSeconds, Math.max(kFewSeconds, known));
  const x_of = (t) => left + ((t - stream.now + span) / span) * (width - left);
  const used = new Set();
  const paints = new Map(kOrder.map((kind) => [kind, colour(kKinds[kind][0])]));
  stream_rows = shown.map((node, row) => {
    const top = row * kRow;
    pen.fillStyle = colour("ink");
    pen.fillText(key_of(node), 0, top + 12, left - 6);
    const layers = layers_of(stream.tracks.get(key_of(node)), node);
    for (const one of layers) {
      const from = Math.max(left, x_of(one.from));
      const to = x_of(one.to);
      if (to <= left) continue;
      used.add(one.kind);
      pen.fillStyle = paints.get(one.kind);
      pen.fillRect(from, top, Math.max(to - from, 0.1), kBar);
    }
    return { top, layers, label: key_of(node) };
  });
  pen.fillStyle = colour("soft");
  pen.textAlign = "center";
  const distance = kTimes.find((one) => span / one <= (width - left) / 70) || span;
  for (let t = Math.ceil((stream.now - span) / distance) * distance; t <= stream.now; t += distance) {
    if (t >= 0) pen.fillText(clock(t), Math.min(Math.max(x_of(t), left + 14), width - 18), height - 4);
  }
  pen.textAlign = "left";
  stream_rows.time_of = (x) => stream.now - span + ((x - left) / (width - left)) * span;
  children(at("stream-legend"), "li", kOrder.filter((kind) => used.has(kind)), (item, kind) => {
    set_attribute(item, "data-kind", kKinds[kind][0]);
    set_text(item, kKinds[kind][1]);
    item.style.setProperty("--kind", "var(--" + kKinds[kind][0] + ")");
  });
  canvas.setAttribute("aria-label", "Activity of " + shown.length + " nodes in the last minute; :trace of the console has it as text");
}

// Names the span under the pointer.
function point_at_stream(event) {
  const row = stream_rows[Math.floor(event.offsetY / kRow)];
  const t = row && stream_rows.time_of(event.offsetX);
  const found = row && row.layers.filter((one) => one.from <= t && t <= one.to).at(-1);
  set_text(at("stream-now"), found ? row.label + " at " + clock(t) + ": " + found.name + ", " + seconds(found.to - found.from) : "");
}
