// What a node does, in words, and the node that the viewer has chosen: its state, output and log.
"use strict";

let held = new Map(); // by id: the workers that a worker at the barrier waits for

function note_held(message) {
  held = new Map((message.barrier.at(-1)?.waiting || []).map((row) => [row.id, row.for]));
}

const is_held = (node) => node.role !== "server" && node.state === "waiting" && held.has(node.id);

function state_of(node) {
  const cause = node.role === "server" && node.cause === "other" ? "requests" : node.cause;
  return (node.state || "") + (cause && node.state === "waiting" ? ": " + cause : "");
}

function place_of(node) {
  const awaited = (node.state === "waiting" && node.for) || (is_held(node) && held.get(node.id)) || [];
  const text = awaited.length > 0 ? "for " + awaited.map(worker_of).join(", ") : "";
  return [is_held(node) ? "barrier" : node.what, text, node.where].filter(Boolean).join(" ");
}

function show_detail(message) {
  const node = message.detail; // null: the run does not know the node
  at("detail-panel").hidden = !view.node || node === undefined || (node !== null && key_of(node) !== view.node);
  if (at("detail-panel").hidden) return;
  set_text(at("detail-title"), node ? key_of(node) + (node.rank === undefined ? "" : ", now rank " + node.rank) : view.node);
  const waits = Object.entries(node?.wait || {}).filter(([, time]) => time > 0.0005).sort((a, b) => b[1] - a[1]);
  const facts = !node ? [["State", "this run does not know the node"]] : [
    ["State", state_of(node) + (node.state === "lost" ? "" : " for " + seconds(node.since))],
    ["Reason", node.reason], ["In", place_of(node)], ["Action", [node.action, node.where].filter(Boolean).join(" at ")],
    [capital(message.totals.progress), node.progress === undefined ? "" : short(node.progress)],
    ["Updates", short(node.updates)], ["Runs for", seconds(node.seconds)],
    ["Idle", waits.map(([cause, time]) => seconds(time) + " " + (kCauses[cause] || cause)).join(", ")],
    ["Sent, received", bytes(node.sent) + ", " + bytes(node.received)], ["Frames in its queue", String(node.queue ?? "")],
    ["Lua memory", bytes(node.lua_bytes)], ["Process", node.host],
  ].filter(([, text]) => text);
  children(at("detail-facts"), "div", facts, (row, [title, text]) => {
    if (!row.firstElementChild) row.append(element("dt"), element("dd"));
    set_text(row.children[0], title);
    set_text(row.children[1], text);
  });
  const output = (node?.output || []).join("\n");
  at("detail-output-box").hidden = output === "";
  set_text(at("detail-output"), output);
  const log = node?.log || [];
  at("detail-log-box").hidden = log.length === 0;
  rows(at("detail-log"), [...log].reverse(), (one) => [clock(one.t), one.level, { wide: one.text }], (one) => ({ "data-level": one.level }));
}
