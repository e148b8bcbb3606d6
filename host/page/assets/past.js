// The curves of a run over time. The server keeps the points of the last hour (host/page/run_past.hpp): the page reads
// them when it opens, after a gap, and when it has added many points of its own, which are not thinned.
"use strict";

const kOwnPoints = 240; // added to the points of the server
const kLines = 12; // workers or processes with a line each; of more, only the span is drawn
const kShades = ["line-1", "line-2", "line-3", "line-4", "data", "lock", "event", "barrier", "action", "server", "collective", "console"];
const kSpan = { highest: "line-2", median: "line-1", lowest: "line-3" };

const nothing_past = (run) => ({ run, t: -1, lines: {}, own: [], asked: 0, stale: true });
let past = nothing_past(null);

const run_of = (run) => run.job + "/" + run.id + "/" + run.seed;

function add_point({ t, point }) {
  for (const [group, values] of Object.entries(point)) {
    const lines = (past.lines[group] ||= {});
    for (const [line, y] of Object.entries(values)) (lines[line] ||= []).push({ x: t, y });
  }
  past.t = t;
}

// Replaces the points by the server's, and adds the own points that are newer.
function take_past(given) {
  past.lines = {};
  for (const [group, lines] of Object.entries(given.lines)) {
    past.lines[group] = {};
    for (const [line, values] of Object.entries(lines)) {
      const points = (past.lines[group][line] = []);
      values.forEach((value, i) => {
        const [begin, end] = given.t[i];
        if (!Array.isArray(value)) points.push({ x: (begin + end) / 2, y: value });
        else points.push({ x: begin, y: value[0] }, { x: end, y: value[1] });
      });
    }
  }
  past.t = given.t.length > 0 ? given.t[given.t.length - 1][1] : -1;
  past.own = past.own.filter((one) => one.t > past.t);
  past.own.forEach(add_point);
}

// Reads the points of the server, of a recorded run up to state `number`.
function load_past(number) {
  const mine = past;
  mine.asked = Date.now();
  mine.stale = false;
  return fetch("past" + (number === undefined ? "" : "?n=" + number)).then((response) => response.json())
    .then((given) => mine === past && take_past(given))
    .catch(() => (mine.stale = true)); // asked again later
}

// Adds a message's point. `every`: seconds between two messages; without it, as in a recorded run, the caller reads the
// server's points after a gap. Returns the promise of reading them, if any.
function remember(message, every) {
  const run = run_of(message.run);
  const t = message.run.t || 0;
  if (run !== past.run || t < past.t - 0.01) past = nothing_past(run);
  if (t <= past.t) return undefined;
  if (every && past.t >= 0 && t - past.t > 3 * every + 1) past.stale = true;
  const one = { t, point: message.point || {} };
  add_point(one);
  past.own.push(one);
  if (past.own.length > kOwnPoints) past.stale = true;
  if (every && past.stale && Date.now() - past.asked > 3000) return load_past();
  return undefined;
}

const newest_of = (group, line) => past.lines[group]?.[line]?.at(-1)?.y;

// The lines of a group of workers or processes: each with its name and colour, or only the span.
function lines_of(group, ids, name) {
  const known = past.lines[group] || {};
  const each = ids.length <= kLines && ids.some((id) => known[id]);
  const shown = each ? ids.filter((id) => known[id]).map((id) => [id, name(id), kShades[id % kShades.length]])
    : Object.keys(kSpan).filter((line) => known[line]).map((line) => [line, line, kSpan[line]]);
  return shown.map(([line, label, shade]) => ({ label, colours: [shade], data: known[line] }));
}

// A panel with a curve; hidden without points.
function show_curve(name, lines, axes, words) {
  const panel = at(name + "-chart").closest(".panel");
  panel.hidden = !lines.some((line) => line.data && line.data.length > 0);
  if (!panel.hidden) draw_chart(name, "line", { x: clock, ticks: kTimes, ...axes }, null, lines, words);
}

function show_past(message) {
  const progress = message.totals.progress;
  const ids = workers(message).map((node) => node.id).sort((a, b) => a - b);
  const few = message.view.total <= message.view.window;
  const all = few ? ids : Array(kLines + 1).fill(-1);
  show_curve("history", lines_of(progress, all, worker_of), { whole: true }, capital(progress) + " of workers over time");
  const single = (name, group, words) => show_curve(name, [{ label: "", colours: ["line-1"], data: past.lines[group]?.all }],
    { y: words, zero: true }, "now " + words(newest_of(group, "all") ?? 0) + " a second");
  single("updates", "updates", short);
  single("bytes", "bytes", bytes);
  const hosts = message.totals.processes > message.hosts.length ? Array(kLines + 1).fill({ process: -1 }) : message.hosts;
  const names = new Map(hosts.map((one) => [one.process, one.host + " (" + one.process + ")"]));
  const processes = [...names.keys()].sort((a, b) => a - b);
  const each = hosts.length > kLines ? Array(kLines + 1).fill(-1) : processes;
  show_curve("cpu", lines_of("cpu", each, (id) => names.get(id)), { zero: true }, "processors used by each process");
  show_curve("memory", lines_of("memory", each, (id) => names.get(id)), { y: bytes, zero: true }, "memory of each process");
}
