// The page of a run. Takes messages (format: host/page/README.md) from /events, or for a recorded run from /frame,
// stores a history, and shows both. Text is set as text, so nothing in a state can become markup.
"use strict";

const at = (id) => document.getElementById(id);
const kPoints = 300; // of a history
const kLines = 12; // workers with a line each; of more, only the span is drawn
// Labels of a worker's idle seconds: it communicates, or waits.
const kCauses = {
  server: "communicating: server", peer: "communicating: peers", collective: "communicating: collectives", data: "communicating: data",
  barrier: "waiting: barrier", lock: "waiting: lock", event: "waiting: event", action: "waiting: action",
  console: "waiting: console", other: "waiting: other", sleep: "asleep",
};
const kStates = ["computing", "waiting", "starting", "ended", "silent", "lost"];

// --- state between messages ---

const view = { offset: 0, sort: "id" };
let newest = null;
const nothing_of = (run) => ({ t: -1, run, history: [], keys: new Map() });
let past = nothing_of(null);

// Adds a message to the history; true if its time differs from the previous message's.
function remember(message) {
  const run = message.run.job + "/" + message.run.id + "/" + message.run.seed;
  const t = message.run.t || 0;
  if (run !== past.run || t < past.t) past = nothing_of(run);
  if (t === past.t) return false;
  const last = past.history[past.history.length - 1];
  const passed = last ? t - last.t : 0;
  const total = message.totals;
  const rate = (now, before) => (passed > 0 && now >= before ? (now - before) / passed : null);
  const steps = {};
  for (const node of workers(message)) steps[node.id] = node.progress;
  past.history.push({
    t, progress: total.progress, updates: total.updates || 0, sent: total.sent || 0, span: total.steps, steps,
    updates_rate: last ? rate(total.updates || 0, last.updates) : null, sent_rate: last ? rate(total.sent || 0, last.sent) : null,
  });
  if (past.history.length > kPoints) past.history.shift();
  const keys = new Map();
  for (const key of message.keys.top) {
    const before = past.keys.get(key.key);
    keys.set(key.key, { updates: key.updates, rate: before ? rate(key.updates, before.updates) : null });
  }
  past.keys = keys;
  past.t = t;
  return true;
}

const workers = (message) => message.nodes.filter((node) => node.role !== "server");
// Maps a worker's id to its name.
function names_of(message) {
  const names = new Map(message.notable.concat(message.nodes).filter((node) => node.role !== "server").map((node) => [node.id, node.name]));
  return (id) => names.get(id) || "worker " + id;
}

const idle = (node) => Object.values(node.wait || {}).reduce((sum, one) => sum + one, 0);
const waited = (node) => idle(node) - (node.wait.sleep || 0);
const capital = (word) => word[0].toUpperCase() + word.slice(1);
const spread = () => past.history[past.history.length - 1];

// --- elements ---

function element(name, text, attributes) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  return made;
}

function set_text(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Gives a parent as many children as there are items; `fill(child, item)` fills each.
function children(parent, name, items, fill) {
  while (parent.children.length > items.length) parent.lastElementChild.remove();
  while (parent.children.length < items.length) parent.append(element(name));
  items.forEach((item, i) => fill(parent.children[i], item));
}

function set_attribute(node, name, value) {
  if (value === undefined || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

// Rows of cells {text, number, wide, state} or plain text; `marks` are attributes of the row.
function rows(body, items, cells_of, marks_of) {
  children(body, "tr", items, (row, item) => {
    for (const [name, value] of Object.entries(marks_of ? marks_of(item) : {})) set_attribute(row, name, value);
    children(row, "td", cells_of(item), (cell, given) => {
      const kind = given.number !== undefined ? "n" : given.wide !== undefined ? "text" : "";
      if (cell.className !== kind) cell.className = kind;
      if (given.progress !== undefined) return show_progress(cell, given.progress);
      if (given.state !== undefined) return children(cell, "span", [given.state], (span, text) => {
        span.className = "state";
        set_text(span, text);
      });
      set_text(cell, String(given.number ?? given.wide ?? given));
    });
  });
}

function show_progress(cell, share) {
  if (!cell.firstElementChild) cell.append(element("progress", undefined, { max: 1 }));
  cell.firstElementChild.value = share;
  set_attribute(cell.firstElementChild, "aria-label", Math.round(100 * share) + " %");
}

// --- panels ---

function show_header(message) {
  const run = message.run;
  const words = (count, one) => count + " " + one + (count === 1 ? "" : "s");
  set_text(at("job"), run.job || "");
  document.title = (run.job || "run") + " · actorhost";
  const { states, workers: all } = message.totals;
  const facts = [clock(run.t || 0), words(run.size ?? all ?? 0, "worker")];
  if (states.lost) facts.push(states.lost + " lost");
  if (message.totals.servers) facts.push(words(message.totals.servers, "server"));
  facts.push(run.ended ? "ended" : run.paused ? "paused" : states.computing || states.waiting ? "running" : "idle");
  if (run.id) facts.push("run " + run.id);
  if (run.epoch > 1) facts.push("epoch " + run.epoch);
  if (run.seed !== undefined) facts.push("seed " + run.seed);
  if (run.version) facts.push("version " + run.version);
  children(at("facts"), "li", facts, set_text);
}

function show_tiles(message) {
  const total = message.totals;
  const steps = total.steps;
  const now = spread();
  const all = (total.workers || 0) + (total.servers || 0);
  const waits = idle(total);
  const span = total.worker_seconds;
  const straggler = message.nodes.concat(message.notable).find((node) => node.straggler);
  const main_cause = Object.entries(total.wait).sort((a, b) => b[1] - a[1])[0];
  const tiles = [
    ["Nodes", String(all), kStates.filter((state) => total.states[state])
      .map((state) => total.states[state] + " " + state).join(", ")],
    [capital(total.progress) + ", median", steps.median === undefined ? "–" : short(steps.median),
      steps.median === undefined ? "" : "from " + short(steps.min) + " to " + short(steps.max)],
    ["Updates a second", now.updates_rate === null ? "–" : short(now.updates_rate), short(total.updates || 0) + " in all"],
    ["Sent a second", now.sent_rate === null ? "–" : bytes(now.sent_rate), bytes(total.sent || 0) + " in all"],
    ["Computing", span > 0 ? Math.round(100 * Math.max(0, 1 - waits / span)) + " %" : "–",
      waits > 0 ? "then " + (kCauses[main_cause[0]] || main_cause[0]) : "no worker has waited"],
    ["Straggler", straggler ? straggler.name : "none", straggler ? total.progress + ": " + short(straggler.progress) : "no worker delays others"],
  ];
  children(at("tiles"), "div", tiles, (tile, [title, figure, note]) => {
    if (!tile.firstElementChild) {
      tile.className = "tile";
      tile.append(element("h2"), element("p", "", { class: "figure" }), element("p", "", { class: "note" }));
    }
    [title, figure, note].forEach((text, i) => set_text(tile.children[i], text));
  });
}

function show_attention(message) {
  const items = [];
  for (const node of message.nodes.concat(message.notable)) {
    if (node.state === "lost") items.push([node.name, "lost", node.reason ? "lost: " + node.reason : "lost"]);
    else if (node.state === "silent") items.push([node.name, "silent", "silent for " + seconds(node.since)]);
    else if (node.straggler) items.push([node.name, "straggler", "others wait for it"]);
  }
  if (message.collective) {
    const more = message.collective.missing_count - message.collective.missing.length;
    const missing = message.collective.missing.map(names_of(message)).join(", ") + (more > 0 ? " and " + more + " more" : "");
    items.push([missing, "waiting", "not yet in " + (message.collective.what || "the collective") + ", where others wait"]);
  }
  if (items.length === 0) items.push(["Nothing:", "", "no node is lost or silent, and no worker delays others"]);
  children(at("attention"), "li", items, (item, [name, state, text]) => {
    set_attribute(item, "data-state", state);
    children(item, "span", [name, " " + text], set_text);
    item.firstElementChild.className = "state";
  });
}

const drawn = {};

// `empty` replaces a chart without data.
function draw_chart(name, empty, kind, axes, ...what) {
  at(name + "-empty").hidden = !empty;
  set_text(at(name + "-empty"), empty || "");
  if (!drawn[name]) drawn[name] = chart(at(name + "-chart"), kind, axes);
  drawn[name].show(...what);
}

// Names below bars: whole names of a few workers; of more workers the rank, or the id of a lost worker.
const labels_of = (shown) => shown.map((node) => (shown.length > 4 ? String(node.rank ?? "w" + node.id) : node.name));

function show_steps(message) {
  const shown = workers(message);
  const { progress, steps } = message.totals;
  for (const place of document.querySelectorAll(".progress-name")) {
    set_text(place, place.classList.contains("small") ? progress : capital(progress));
  }
  const empty = !steps.max && "No steps of the parameter server, collectives or tasks yet.";
  const states = kStates.filter((state) => state === "computing" || state === "waiting" || shown.some((node) => node.state === state));
  draw_chart("steps", empty, "bar", { stacked: true }, labels_of(shown), states.map((state) => ({ label: state, colours: [state],
    data: shown.map((node) => (node.state === state ? node.progress : null)) })),
  capital(progress) + " of " + shown.length + " workers; the table of nodes has the numbers");
  const label = (i) => {
    const first = steps.first + i * steps.width;
    return steps.width > 1 ? short(first) + "–" + short(first + steps.width - 1) : short(first);
  };
  draw_chart("distribution", empty, "bar", { whole: true }, (steps.counts || []).map((_, i) => label(i)),
    [{ label: "workers", data: (steps.counts || []).map((count) => count || null), colours: ["line-1"] }],
    "Workers by " + progress + ", from " + steps.min + " to " + steps.max + ", median " + steps.median);
}

function show_history(message) {
  const total = message.totals;
  const moments = past.history.filter((one) => one.progress === total.progress);
  const line = (label, value, colours) => ({ label, colours, data: moments.map((one) => ({ x: one.t, y: value(one) ?? null })) });
  const shown = workers(message);
  const few = shown.length <= kLines && message.view.total <= message.view.window;
  const lines = few
    ? shown.map((node, i) => line(node.name, (one) => one.steps[node.id], [node.state === "lost" ? "lost" : kShades[i % kShades.length]]))
    : [line("first", (one) => one.span.max, ["line-3"]), line("median", (one) => one.span.median, ["line-1"]),
      line("last", (one) => one.span.min, ["line-2"])];
  draw_chart("history", !total.steps.max && "No steps of the parameter server, collectives or tasks yet.", "line",
    { x: clock, ticks: kTimes }, null, lines, capital(total.progress) + " of workers over the last " + moments.length + " states");
  const rate = (name, field, words, empty) => draw_chart(name, empty, "line", { x: clock, ticks: kTimes, y: words, zero: true }, null,
    [{ label: "", colours: ["line-1"], data: past.history.map((one) => ({ x: one.t, y: one[field] })) }],
    "now " + words(spread()[field] ?? 0) + " a second");
  rate("updates", "updates_rate", short, !total.updates && "No updates: they come from pushes to the parameter server.");
  rate("bytes", "sent_rate", bytes, !total.sent && "Nothing sent yet. Nodes of one process share memory in collectives.");
}

const kShades = ["line-1", "line-2", "line-3", "line-4", "data", "lock", "event", "barrier", "action", "server", "collective", "console"];

function show_time(message) {
  const shown = workers(message);
  const share = (node, value) => (node.seconds > 0 ? Math.min(100, (100 * value) / node.seconds) : 0);
  const causes = Object.keys(kCauses).filter((cause) => message.totals.wait[cause] > 0.001 * message.totals.worker_seconds);
  const lines = [{ label: "computing", colours: ["computing"], data: shown.map((node) => share(node, (node.seconds || 0) - idle(node))) }];
  for (const cause of causes) {
    lines.push({ label: kCauses[cause], colours: [cause], data: shown.map((node) => share(node, node.wait[cause] || 0)) });
  }
  draw_chart("time", "", "bar", { stacked: true, percent: true, y: (value) => Math.round(value) + " %" }, labels_of(shown), lines,
    "How workers spend their time: " + lines.map((line) => line.label).join(", "));
}

const series = new Map();
const kSpan = { highest: "line-2", median: "line-1", lowest: "line-3" };

function series_panel(name) {
  const panel = element("section", undefined, { class: "panel", "aria-label": name });
  const title = element("h2", name + " ");
  const newest_value = element("span", "", { class: "now" });
  title.append(newest_value);
  const box = element("div", undefined, { class: "chart" });
  const canvas = element("canvas", undefined, { role: "img" });
  box.append(canvas);
  panel.append(title, box);
  at("series").append(panel);
  return { panel, newest_value, chart: chart(canvas, "line", { free: true, title: "step", ticks: kSteps }) };
}

function show_series(message) {
  const { names, more } = message.series;
  const order = Object.keys(names).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  for (const [name, known] of series) {
    if (names[name]) continue;
    known.chart.remove();
    known.panel.remove();
    series.delete(name);
  }
  for (const name of order) if (!series.has(name)) series.set(name, series_panel(name));
  order.forEach((name, i) => {
    const shown = series.get(name);
    if (at("series").children[i] !== shown.panel) at("series").insertBefore(shown.panel, at("series").children[i]);
    const { nodes, lines } = names[name];
    const worker = names_of(message);
    const of_many = Boolean(lines.median);
    const label = (id) => (of_many ? (id === "median" ? "median of " + nodes + " nodes" : id) : /^\d+$/.test(id) ? worker(Number(id)) : id);
    const ids = of_many ? Object.keys(kSpan) : Object.keys(lines).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    const last = (id) => lines[id].at(-1)?.[1];
    const now = last(of_many ? "median" : ids[0]);
    set_text(shown.newest_value, now === undefined ? "" : now === null ? "not a number" : short(now));
    shown.chart.show(null, ids.map((id, k) => ({ label: label(id), colours: [kSpan[id] || "line-" + (k + 1)],
      data: lines[id].map(([x, y]) => ({ x, y })) })), name + " as the job reports it; last " + ids.map(last).join(", "));
  });
  at("series-more").hidden = !more;
  set_text(at("series-more"), more + " more series are reported; /state has them all.");
}

function show_barrier(message) {
  at("barrier-panel").hidden = message.barrier.length === 0;
  if (message.barrier.length === 0) return;
  const one = message.barrier[message.barrier.length - 1];
  const held = one.waiting_count ? one.waiting_count + " waiting" : "no worker waits";
  set_text(at("barrier-rule"), "Rule " + one.rule + ": " + held + "; let through " + short(one.passed || 0) + " times, held back " +
    short(one.refused || 0));
  const name = names_of(message);
  rows(at("barrier"), one.waiting, (row) => {
    const more = row.for_count - row.for.length;
    return [name(row.id), { number: short(row.step) }, { number: seconds(row.since) },
      { wide: row.for.map(name).join(", ") + (more > 0 ? " and " + more + " more" : "") }];
  });
}

// A panel with a row for each item; hidden without items.
function show_list(name, items, cells_of, marks_of) {
  at(name + "-panel").hidden = items.length === 0;
  rows(at(name), items, cells_of, marks_of);
}

function show_lists(message) {
  const others = message.keys.count - message.keys.top.length;
  set_text(at("keys-title"), others > 0 ? "Hottest keys, " + message.keys.top.length + " of " + short(message.keys.count) : "Hottest keys");
  const rate = (key) => (past.keys.get(key.key) || {}).rate;
  const hottest = [...message.keys.top].sort((a, b) => (rate(b) || 0) - (rate(a) || 0));
  show_list("keys", hottest, (key) => [key.key, { number: rate(key) === null ? "" : short(rate(key)) }, { number: short(key.updates) },
    { number: bytes(key.bytes) }, { number: key.shard ?? "" }, (key.shape || []).join(" × ") + (key.dtype ? " " + key.dtype : "")]);
  show_list("stages", [...message.stages].reverse(), (one) => [(one.action ?? "") + "." + (one.stage ?? "") + " " + (one.name || ""), one.where || "",
    { progress: one.tasks > 0 ? one.done / one.tasks : 0 }, { number: one.done + " of " + one.tasks }, { number: one.running ?? "" },
    { number: short(one.rows) }, { number: bytes(one.bytes) }, { number: seconds(one.seconds) }]);
  show_list("members", [...message.members].reverse(), (one) => [clock(one.t), one.epoch ?? "", { wide: one.text }]);
  const lines = [...message.log].sort((a, b) => b.t - a.t);
  show_list("log", lines, (one) => [clock(one.t), one.level, one.who || "", { wide: one.text }], (one) => ({ "data-level": one.level }));
  const left_out = message.totals.processes - message.hosts.length;
  set_text(at("hosts-title"), "Processes" + (left_out > 0 ? ", the first " + message.hosts.length + " of " + message.totals.processes : ""));
  show_list("hosts", message.hosts, (one) => [one.process, one.host, { number: Number.isFinite(one.age) ? seconds(one.age) + " ago" : "" },
    { number: bytes(one.rss) }, { number: seconds(one.cpu) }], (one) => ({ "data-state": one.silent && "silent" }));
}

function show_nodes(message) {
  const { total, offset, window } = message.view;
  const name = names_of(message);
  const awaited = (node) => node.state === "waiting" && node.for ? "for " + node.for.map(name).join(", ") : "";
  const place = (node) => [node.what, awaited(node), node.where].filter(Boolean).join(" ");
  const state = (node) => (node.state || "") + (node.cause && node.state === "waiting" ? ": " + node.cause : "");
  rows(at("node-rows"), message.nodes, (node) => [node.name, { state: state(node) },
    node.state === "lost" ? node.reason || "" : place(node) || node.action || "", { number: seconds(node.since) },
    { number: short(node.progress) }, { number: short(node.updates) }, { number: seconds(waited(node)) },
    { number: node.queue ?? "" }, { number: bytes(node.sent) }, { number: bytes(node.received) }, { number: bytes(node.lua_bytes) },
    node.host || ""], (node) => ({ "data-state": node.state, "data-straggler": node.straggler && "" }));
  at("pages").hidden = total <= window;
  set_text(at("page-of"), offset + 1 + " to " + Math.min(offset + window, total) + " of " + total);
  at("previous").disabled = offset === 0;
  at("next").disabled = offset + window >= total;
}

const kPanels = [show_header, show_tiles, show_attention, show_steps, show_history, show_time, show_series, show_barrier,
  show_lists, show_nodes];

function show(message) {
  newest = message;
  if (document.hidden) return; // drawn when the page is visible again
  for (const draw of kPanels) draw(message);
}

document.addEventListener("visibilitychange", () => newest && show(newest));

function show_connection(kind, text) {
  at("connection").dataset.kind = kind;
  set_text(at("connection"), text);
}

const query = () => "offset=" + view.offset + "&sort=" + view.sort;

// --- a live run ---

function live(about) {
  let events = null;
  let last_message = 0;
  let delay = 1;
  let again = 0;
  let ended = null;
  let failed = false;
  const open = () => {
    clearTimeout(again);
    if (events) events.close();
    events = new EventSource("events?" + query());
    events.onmessage = (event) => {
      last_message = Date.now();
      delay = 1;
      ended = null;
      const message = JSON.parse(event.data);
      remember(message);
      show(message);
      show_connection("live", "live");
    };
    events.addEventListener("end", (event) => {
      ended = JSON.parse(event.data).how;
      failed = !["done", "interrupted"].includes(ended);
      events.close();
      delay = 2;
      retry();
    });
    events.onerror = () => {
      events.close();
      retry();
    };
  };
  // Tries again after growing delays, and shows the remaining seconds.
  const retry = () => {
    let left = delay;
    delay = Math.min(2 * delay, 15);
    const tick = () => {
      show_connection(ended === null || failed ? "bad" : "end", ended === null ? "no connection, trying again in " + left + " s" : "the run has ended: " + ended);
      if (left-- <= 0) return open();
      again = setTimeout(tick, 1000);
    };
    tick();
  };
  setInterval(() => {
    const silent = (Date.now() - last_message) / 1000;
    if (last_message > 0 && events.readyState === EventSource.OPEN && silent > 3 * about.every + 2) show_connection("wait", "no message for " + seconds(silent));
  }, 1000);
  open();
  return open;
}

// --- a recorded run ---

function replay(about) {
  const times = about.times;
  let now = 0;
  let playing = true;
  let timer = 0;
  let latest_request = 0;
  at("replay").hidden = false;
  at("seek").max = times.length - 1;
  const fetch_state = (number) => fetch("frame?n=" + number + "&" + query()).then((response) => {
    if (!response.ok) return response.text().then((text) => Promise.reject(new Error(text)));
    return response.json();
  });
  // Shows a state; after a jump, first reads the states before it, for the history.
  const go_to = async (number, jumped) => {
    const mine = ++latest_request;
    clearTimeout(timer);
    now = number;
    at("seek").value = number;
    const moment = clock(times[number]) + " of " + clock(times[times.length - 1]);
    set_text(at("moment"), moment);
    set_attribute(at("seek"), "aria-valuetext", moment);
    try {
      if (jumped) past = nothing_of(null);
      for (let i = jumped ? Math.max(0, number - 40) : number; i <= number; ++i) {
        const message = await fetch_state(i);
        if (mine !== latest_request) return;
        remember(message);
        if (i === number) show(message);
      }
      show_connection("end", "recorded: " + about.file.replace(/^.*\//, ""));
    } catch (error) {
      if (mine === latest_request) show_connection("bad", error.message);
    }
    if (mine === latest_request) go_on();
  };
  const set_playing = (on) => {
    playing = on;
    set_text(at("play"), on ? "Pause" : "Play");
  };
  // Shows the next state at its time; at a high speed skips states.
  const go_on = () => {
    if (now === times.length - 1) set_playing(false);
    if (!playing) return;
    const speed = Number(at("speed").value);
    let next = now + 1;
    while (next < times.length - 1 && times[next] - times[now] < 0.1 * speed) ++next;
    const wait = Math.min(5, Math.max(0.05, (times[next] - times[now]) / speed));
    timer = setTimeout(() => go_to(next, false), 1000 * wait);
  };
  at("play").addEventListener("click", () => {
    set_playing(!playing);
    if (playing && now === times.length - 1) go_to(0, true);
    else if (playing) go_on();
    else clearTimeout(timer);
  });
  at("seek").addEventListener("input", () => {
    set_playing(false);
    go_to(Number(at("seek").value), true);
  });
  const from = Math.min(times.length - 1, Math.max(0, Number(new URLSearchParams(location.search).get("n")) || 0));
  if (from > 0) set_playing(false); // a page opened at a moment stays there
  go_to(from, true);
  return () => go_to(now, true);
}

// --- start ---

(async () => {
  const about = await fetch("about").then((response) => response.json());
  const reload = about.mode === "replay" ? replay(about) : live(about);
  const turn = (change) => {
    change();
    reload();
  };
  at("sort").addEventListener("change", () => turn(() => Object.assign(view, { sort: at("sort").value, offset: 0 })));
  at("previous").addEventListener("click", () => turn(() => (view.offset = Math.max(0, newest.view.offset - newest.view.window))));
  at("next").addEventListener("click", () => turn(() => (view.offset = newest.view.offset + newest.view.window)));
})().catch((error) => show_connection("bad", "the page cannot start: " + error.message));
