// The page of a run. Takes messages (format: host/page/README.md) from /events, or for a recorded run from /frame, and
// shows them beside the past (past.js). Text is set as text, so nothing in a state can become markup.
"use strict";

const at = (id) => document.getElementById(id);
// Labels of a worker's idle seconds: it communicates, or waits.
const kCauses = {
  server: "communicating: server", peer: "communicating: peers", collective: "communicating: collectives", data: "communicating: data",
  barrier: "waiting: barrier", lock: "waiting: lock", event: "waiting: event", action: "waiting: action",
  console: "waiting: console", other: "waiting: other", sleep: "asleep",
};
const kStates = ["computing", "waiting", "starting", "ended", "silent", "lost"];

// --- state between messages ---

const view = { offset: 0, sort: "id", node: "" };
let newest = null;
let key_counts = { t: -1, of: new Map() }; // updates of keys in the previous message, and their rates

function count_keys(message) {
  const t = message.run.t || 0;
  if (t === key_counts.t) return;
  const of = new Map();
  for (const { key, updates } of message.keys.top) {
    const before = t > key_counts.t ? key_counts.of.get(key) : undefined;
    of.set(key, { updates, rate: before && updates >= before.updates ? (updates - before.updates) / (t - key_counts.t) : null });
  }
  key_counts = { t, of };
}

const workers = (message) => message.nodes.filter((node) => node.role !== "server");
// Names of nodes by their ids, which stay when ranks change.
const key_of = (node) => (node.role === "server" ? "server " : "worker ") + node.id;
const worker_of = (id) => "worker " + id;

const idle = (node) => Object.values(node.wait || {}).reduce((sum, one) => sum + one, 0);
const waited = (node) => idle(node) - (node.wait.sleep || 0);
const capital = (word) => word[0].toUpperCase() + word.slice(1);

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
      if (given.choice !== undefined) return children(cell, "button", [given.choice], (button, key) => {
        set_attribute(button, "type", "button");
        set_attribute(button, "data-node", key);
        set_text(button, key);
      });
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
  const rate = (group, words) => (newest_of(group, "all") === undefined ? "–" : words(newest_of(group, "all")));
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
    total.updates > 0 && ["Updates a second", rate("updates", short), short(total.updates || 0) + " in all"],
    ["Sent a second", rate("bytes", bytes), bytes(total.sent || 0) + " in all"],
    ["Computing", span > 0 ? Math.round(100 * Math.max(0, 1 - waits / span)) + " %" : "–",
      waits > 0 ? "then " + (kCauses[main_cause[0]] || main_cause[0]) : "no worker has waited"],
    ["Straggler", straggler ? key_of(straggler) : "none", straggler ? total.progress + ": " + short(straggler.progress) : "no worker delays others"],
  ];
  children(at("tiles"), "div", tiles.filter(Boolean), (tile, [title, figure, note]) => {
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
    if (node.state === "lost") items.push([key_of(node), "lost", node.reason ? "lost: " + node.reason : "lost"]);
    else if (node.state === "silent") items.push([key_of(node), "silent", "silent for " + seconds(node.since)]);
    else if (node.straggler) items.push([key_of(node), "straggler", "others wait for it"]);
  }
  if (message.collective) {
    const more = message.collective.missing_count - message.collective.missing.length;
    const missing = message.collective.missing.map(worker_of).join(", ") + (more > 0 ? " and " + more + " more" : "");
    items.push([missing, "waiting", "not yet in " + (message.collective.what || "the collective") + ", where others wait"]);
  }
  at("attention-panel").hidden = items.length === 0;
  children(at("attention"), "li", items, (item, [name, state, text]) => {
    set_attribute(item, "data-state", state);
    children(item, "span", [name, " " + text], set_text);
    item.firstElementChild.className = "state";
  });
}

const drawn = {};

function draw_chart(name, kind, axes, ...what) {
  if (!drawn[name]) drawn[name] = chart(at(name + "-chart"), kind, axes);
  drawn[name].show(...what);
}

// Names below bars: whole names of a few workers; of more workers the id.
const labels_of = (shown) => shown.map((node) => (shown.length > 4 ? String(node.id) : key_of(node)));

function show_steps(message) {
  const shown = workers(message);
  const { progress, steps } = message.totals;
  for (const place of document.querySelectorAll(".progress-name")) {
    set_text(place, place.classList.contains("small") ? progress : capital(progress));
  }
  for (const name of ["steps", "distribution"]) at(name + "-panel").hidden = !steps.max;
  if (!steps.max) return;
  const states = kStates.filter((state) => state === "computing" || state === "waiting" || shown.some((node) => node.state === state));
  draw_chart("steps", "bar", { stacked: true, whole: true }, labels_of(shown), states.map((state) => ({ label: state, colours: [state],
    data: shown.map((node) => (node.state === state ? node.progress : null)) })),
  capital(progress) + " of " + shown.length + " workers; the table of nodes has the numbers");
  const firsts = steps.counts.map((_, i) => steps.first + i * steps.width);
  const from = apart(firsts, short);
  const to = apart(firsts.map((first) => first + steps.width - 1), short);
  draw_chart("distribution", "bar", { counts: true }, firsts.map((_, i) => (steps.width > 1 ? from[i] + "–" + to[i] : from[i])),
    [{ label: "workers", data: steps.counts.map((count) => count || null), colours: ["line-1"] }],
    "Workers by " + progress + ", from " + steps.min + " to " + steps.max + ", median " + steps.median);
}

function show_time(message) {
  const shown = workers(message).filter((node) => node.seconds > 0);
  at("time-panel").hidden = shown.length === 0;
  if (shown.length === 0) return;
  const share = (node, value) => Math.min(100, (100 * value) / node.seconds);
  const causes = Object.keys(kCauses).filter((cause) => message.totals.wait[cause] > 0.001 * message.totals.worker_seconds);
  const lines = [{ label: "computing", colours: ["computing"], data: shown.map((node) => share(node, node.seconds - idle(node))) }];
  for (const cause of causes) {
    lines.push({ label: kCauses[cause], colours: [cause], data: shown.map((node) => share(node, node.wait[cause] || 0)) });
  }
  draw_chart("time", "bar", { stacked: true, percent: true, y: (value) => Math.round(value) + " %" }, labels_of(shown), lines,
    "How workers spend their time: " + lines.map((line) => line.label).join(", "));
}

const series = new Map();

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
    const of_many = Boolean(lines.median);
    const label = (id) => (of_many ? (id === "median" ? "median of " + nodes + " nodes" : id) : /^\d+$/.test(id) ? worker_of(Number(id)) : id);
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
  const waiting = one.waiting_count ? one.waiting_count + " waiting" : "no worker waits";
  set_text(at("barrier-rule"), "Rule " + one.rule + ": " + waiting + "; let through " + short(one.passed || 0) + " times, held back " +
    short(one.refused || 0) + (one.merge ? ". Merge rule " + one.merge.rule + ": merged " + short(one.merge.merged) +
    " pushes, dropped " + short(one.merge.dropped) + ", holds " + short(one.merge.held) : ""));
  rows(at("barrier"), one.waiting, (row) => {
    const more = row.for_count - row.for.length;
    return [worker_of(row.id), { number: short(row.step) }, { number: seconds(row.since) },
      { wide: row.for.map(worker_of).join(", ") + (more > 0 ? " and " + more + " more" : "") }];
  });
}

// A panel with a row for each item; hidden without items.
function show_list(name, items, cells_of, marks_of) {
  at(name + "-panel").hidden = items.length === 0;
  rows(at(name), items, cells_of, marks_of);
}

// The time that a stage still takes, if its other tasks take as long as its completed tasks.
function left_of(stage) {
  if (stage.done >= stage.tasks) return "done";
  return stage.done > 0 ? seconds((stage.seconds * (stage.tasks - stage.done)) / stage.done) : "";
}

function show_lists(message) {
  const others = message.keys.count - message.keys.top.length;
  set_text(at("keys-title"), others > 0 ? "Hottest keys, " + message.keys.top.length + " of " + short(message.keys.count) : "Hottest keys");
  const rate = (key) => key_counts.of.get(key.key)?.rate ?? null;
  const hottest = [...message.keys.top].sort((a, b) => (rate(b) || 0) - (rate(a) || 0));
  show_list("keys", hottest, (key) => [key.key, { number: rate(key) === null ? "" : short(rate(key)) }, { number: short(key.updates) },
    { number: bytes(key.bytes) }, { number: key.shard ?? "" }, (key.shape || []).join(" × ") + (key.dtype ? " " + key.dtype : "")]);
  show_list("stages", [...message.stages].reverse(), (one) => [(one.action ?? "") + "." + (one.stage ?? "") + " " + (one.name || ""), one.where || "",
    { progress: one.tasks > 0 ? one.done / one.tasks : 0 }, { number: one.done + " of " + one.tasks }, { number: one.running ?? "" },
    { number: short(one.rows) }, { number: one.seconds > 0 ? short(one.rows / one.seconds) : "" }, { number: bytes(one.bytes) },
    { number: seconds(one.seconds) }, { number: left_of(one) }]);
  show_list("members", [...message.members].reverse(), (one) => [clock(one.t), one.epoch ?? "", { wide: one.text }]);
  const lines = [...message.log].sort((a, b) => b.t - a.t);
  show_list("log", lines, (one) => [clock(one.t), one.level, one.who || "", { wide: one.text }], (one) => ({ "data-level": one.level }));
  const left_out = message.totals.processes - message.hosts.length;
  set_text(at("hosts-title"), "Processes" + (left_out > 0 ? ", the first " + message.hosts.length + " of " + message.totals.processes : ""));
  show_list("hosts", message.hosts, (one) => [one.process, one.host, { number: Number.isFinite(one.age) ? seconds(one.age) + " ago" : "" },
    { number: bytes(one.rss) }, { number: seconds(one.cpu) }], (one) => ({ "data-state": one.silent && "silent" }));
}

function choose(key) {
  view.node = view.node === key ? "" : key;
  reload();
  if (newest) show(newest);
}

function show_nodes(message) {
  const { total, offset, window } = message.view;
  rows(at("node-rows"), message.nodes, (node) => [{ choice: key_of(node) }, { number: node.rank ?? "" }, { state: state_of(node) },
    node.state === "lost" ? node.reason || "" : place_of(node) || node.action || "", { number: seconds(node.since) },
    { number: short(node.progress) }, { number: short(node.updates) }, { number: seconds(waited(node)) },
    { number: node.queue ?? "" }, { number: bytes(node.sent) }, { number: bytes(node.received) }, { number: bytes(node.lua_bytes) },
    node.host || ""], (node) => ({ "data-state": node.state, "data-straggler": node.straggler && "", "data-chosen": key_of(node) === view.node && "" }));
  at("pages").hidden = total <= window;
  set_text(at("page-of"), offset + 1 + " to " + Math.min(offset + window, total) + " of " + total);
  at("previous").disabled = offset === 0;
  at("next").disabled = offset + window >= total;
}

const kPanels = [show_header, show_tiles, show_attention, show_steps, show_past, show_time, show_stream, show_series, show_barrier,
  show_lists, show_detail, show_nodes];

function show(message) {
  newest = message;
  note_held(message);
  if (document.hidden) return; // drawn when the page is visible again
  for (const draw of kPanels) draw(message);
}

document.addEventListener("visibilitychange", () => newest && show(newest));

function show_connection(kind, text) {
  at("connection").dataset.kind = kind;
  set_text(at("connection"), text);
}

const query = () => new URLSearchParams({ offset: view.offset, sort: view.sort, node: view.node, stream: 1 }).toString();

// Stores what a message adds to the past.
function take(message, every) {
  count_keys(message);
  if (message.stream) remember_stream(message);
  return remember(message, every);
}

let reload = () => {};

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
      const loaded = take(message, about.every);
      show(message);
      if (loaded) loaded.then(() => newest === message && show(message));
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
      past.stale = true; // there may be a gap
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
  const kBefore = 20; // states before a jump's, for the stream
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
  // Shows a state. After a jump, reads the curves up to it, and the states of the last seconds for the stream.
  const go_to = async (number, jumped) => {
    const mine = ++latest_request;
    clearTimeout(timer);
    const from = jumped ? Math.max(0, number - kBefore) : Math.min(now + 1, number);
    now = number;
    at("seek").value = number;
    const moment = clock(times[number]) + " of " + clock(times[times.length - 1]);
    set_text(at("moment"), moment);
    set_attribute(at("seek"), "aria-valuetext", moment);
    try {
      for (let i = from; i <= number; ++i) {
        if (i < number && times[number] - times[i] > kStreamSeconds) continue;
        const message = await fetch_state(i);
        if (mine !== latest_request) return;
        take(message);
        if (i < number) continue;
        if (jumped || from < number) await load_past(number);
        if (mine !== latest_request) return;
        show(message);
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
  return () => go_to(now, false);
}

// --- start ---

(async () => {
  const about = await fetch("about").then((response) => response.json());
  reload = about.mode === "replay" ? replay(about) : live(about);
  const turn = (change) => {
    change();
    reload();
  };
  at("sort").addEventListener("change", () => turn(() => Object.assign(view, { sort: at("sort").value, offset: 0 })));
  at("node-rows").addEventListener("click", (event) => {
    const button = event.target.closest("tr")?.querySelector("[data-node]");
    if (button) choose(button.dataset.node);
  });
  at("detail-close").addEventListener("click", () => choose(view.node));
  at("stream-chart").addEventListener("mousemove", point_at_stream);
  at("stream-chart").addEventListener("click", (event) => {
    const row = stream_rows[Math.floor(event.offsetY / kRow)];
    if (row) choose(row.label);
  });
  addEventListener("resize", () => newest && show_stream(newest));
  at("previous").addEventListener("click", () => turn(() => (view.offset = Math.max(0, newest.view.offset - newest.view.window))));
  at("next").addEventListener("click", () => turn(() => (view.offset = newest.view.offset + newest.view.window)));
})().catch((error) => show_connection("bad", "the page cannot start: " + error.message));
