// Draws charts for page.js with Chart.js, and formats numbers. Colours are taken from the page's style, so they follow
// its dark and light form.
"use strict";

const colours = new Map(); // of the present form

function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return colours.get(name);
}

// --- numbers as text ---

const kFormat = new Intl.NumberFormat("en", { maximumFractionDigits: 20 });
const digits = (value, count) => kFormat.format(Number(value.toPrecision(count)));

// With the largest unit that the value exceeds.
function scaled(value, units, more) {
  const power = Math.abs(value) < 1000 ? 0 : Math.min(Math.floor(Math.log10(Math.abs(value)) / 3), units.length - 1);
  return digits(value / 1000 ** power, 3 + more) + " " + units[power];
}

// `more`: further digits.
function short(value, more = 0) {
  if (!Number.isFinite(value)) return "";
  if (Math.abs(value) < 1e4) return digits(value, 3 + more + (Math.abs(value) >= 1000));
  return scaled(value, ["", "k", "M", "G", "T", "P", "E"], more);
}

function bytes(value, more = 0) {
  if (!Number.isFinite(value)) return "";
  return scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"], more);
}

// Texts of numbers with so many digits that different numbers have different texts.
function apart(values, words) {
  const different = new Set(values).size;
  for (let more = 0; more < 12; ++more) {
    const texts = values.map((value) => words(value, more));
    if (new Set(texts).size === different) return texts;
  }
  return values.map(String);
}

function seconds(value) {
  if (!Number.isFinite(value)) return "";
  if (value === 0) return "0 s";
  if (value < 1) return digits(value * 1000, 2) + " ms";
  if (value < 120) return digits(value, 3) + " s";
  if (value < 7200) return Math.floor(value / 60) + " min " + Math.floor(value % 60) + " s";
  return Math.floor(value / 3600) + " h " + Math.floor((value % 3600) / 60) + " min";
}

const clock = (value) => {
  const whole = Math.max(0, Math.floor(value));
  const two = (number) => String(number).padStart(2, "0");
  return (whole >= 3600 ? Math.floor(whole / 3600) + ":" : "") + two(Math.floor(whole / 60) % 60) + ":" + two(whole % 60);
};

// --- charts ---

// Distances of an axis's ticks: seconds, and steps, which are integers.
const kTimes = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];
const kSteps = Array.from({ length: 45 }, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));

// Ticks at round numbers, with room for their labels.
function even_ticks(axis, distances) {
  const most = Math.max(2, Math.floor(axis.chart.width / 70));
  const distance = distances.find((one) => (axis.max - axis.min) / one <= most) || axis.max - axis.min;
  axis.ticks = [];
  for (let value = Math.ceil(axis.min / distance) * distance; value <= axis.max; value += distance) axis.ticks.push({ value });
}

// Pictures on the screen are drawn at each message, others when they come onto the screen.
const on_screen = new Map(); // by canvas: its drawing, and whether it is on the screen
const sight = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes) {
    const one = on_screen.get(target);
    if (!one) continue;
    one.seen = isIntersecting;
    if (one.seen && one.late) draw_now(one);
  }
});

function draw_now(one) {
  one.late = false;
  one.draw();
}

function draw_in_sight(canvas, draw) {
  const known = on_screen.get(canvas);
  const one = known || { seen: true, late: false };
  one.draw = draw;
  if (!known) {
    on_screen.set(canvas, one);
    sight.observe(canvas);
  }
  if (one.seen) draw_now(one);
  else one.late = true;
}

// One chart on a canvas. `kind`: "bar" or "line"; `axes`: {x, y: functions that format a number of the axis;
// ticks: distances on the x axis; title: title of the x axis; stacked, percent, zero, free; whole: ticks at whole
// numbers; counts: also a bar for the smallest count}.
// `show` takes labels (or nothing for points {x, y}) and lines:
// {label, data, colours: names of colours, one for all or one for each}.
function chart(canvas, kind, axes) {
  let shown = [[], []];
  let texts = []; // of the ticks of an axis
  const axis = (words, more) => ({
    stacked: axes.stacked, grid: {}, border: {}, ...more,
    ticks: { maxRotation: 0, autoSkipPadding: 14, ...more.ticks,
      ...(words && { callback: (_, i, ticks) => (i > 0 ? texts : (texts = apart(ticks.map((tick) => tick.value), words)))[i] }) },
  });
  const made = new Chart(canvas, {
    type: kind,
    data: { labels: [], datasets: [] },
    options: {
      animation: false, maintainAspectRatio: false, normalized: true, ...(kind === "line" && { parsing: false }),
      interaction: { mode: kind === "bar" ? "index" : "nearest", intersect: false },
      plugins: {
        legend: { position: "bottom", onClick: null, labels: { boxWidth: 10, boxHeight: 10, padding: 8 } },
        tooltip: { filter: (item) => item.parsed.y !== null, callbacks: { label: (item) => " " + (item.dataset.label ? item.dataset.label + ": " : "") +
          (axes.y || short)(item.parsed.y) } },
      },
      scales: {
        x: kind === "bar" ? axis(undefined, {}) : axis(axes.x || short, { type: "linear", bounds: "data",
          title: { display: Boolean(axes.title), text: axes.title || "" }, afterBuildTicks: (one) => even_ticks(one, axes.ticks) }),
        y: axis(axes.y || short, axes.percent ? { min: 0, max: 100, ticks: { stepSize: 25 } } : { beginAtZero: kind === "bar" || !!axes.zero,
          suggestedMax: axes.free ? undefined : 1, ticks: (axes.whole || axes.counts) && { precision: 0 } }),
      },
      elements: { point: { radius: 0, hitRadius: 8 }, line: { borderWidth: 2, tension: 0 } },
    },
  });
  const draw = () => {
    const [labels, lines] = shown;
    for (const which of ["x", "y"]) {
      made.options.scales[which].ticks.color = colour("soft");
      if (made.options.scales[which].title) made.options.scales[which].title.color = colour("soft");
      made.options.scales[which].grid.color = which === "y" ? colour("grid") : "transparent";
      made.options.scales[which].grid.borderColor = colour("line");
    }
    made.options.plugins.legend.display = lines.length > 1;
    made.options.plugins.legend.labels.color = colour("ink");
    made.data.labels = labels;
    made.data.datasets = lines.map((line, i) => {
      const paints = line.colours.map(colour);
      const paint = paints.length === 1 ? paints[0] : paints;
      return { ...made.data.datasets[i], label: line.label, data: line.data, backgroundColor: paint, borderColor: paint,
        fill: false, maxBarThickness: 60, minBarLength: axes.counts && 3, categoryPercentage: 0.86, barPercentage: 0.94 };
    });
    made.update("none");
  };
  const self = {
    show(labels, lines, words) {
      shown = [labels || [], lines];
      canvas.setAttribute("aria-label", words);
      draw_in_sight(canvas, draw);
    },
    remove() {
      sight.unobserve(canvas);
      on_screen.delete(canvas);
      made.destroy();
    },
  };
  return self;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colours.clear();
  on_screen.forEach(draw_now);
});
