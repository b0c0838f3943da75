// Elements, numbers as text, axes: what all charts are drawn with.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);

// ---- numbers ----

const digits = (value) => (value === 0 ? "0" : Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));

function scaled(value, step, units) {
  let u = 0;
  for (; Math.abs(value) >= step * 0.9995 && u < units.length - 1; u++) value /= step;
  return `${digits(value)} ${units[u]}`;
}

const ofBytes = (bytes) => scaled(bytes, 1000, ["B", "kB", "MB", "GB", "TB"]);
const ofMemory = (bytes) => scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const ofSeconds = (s) =>
  s >= 1 ? `${digits(s)} s` : s >= 1e-3 || s === 0 ? `${digits(s * 1e3)} ms` : s >= 1e-6 ? `${digits(s * 1e6)} µs` : `${digits(s * 1e9)} ns`;
const ofCount = (n) => n.toLocaleString("en-US");

// The unit in which a chart gives all its values, so that its ticks are of one kind.
function unitOf(most, step, units) {
  let u = 0, one = 1;
  for (; most >= step * one && u < units.length - 1; u++) one *= step;
  return { one, name: units[u] };
}
const unitOfSeconds = (most) => (most >= 1 ? { one: 1, name: "s" } : most >= 1e-3 ? { one: 1e-3, name: "ms" } : { one: 1e-6, name: "µs" });
const unitOfMemory = (most) => unitOf(most, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);

// Round numbers from 0 to `most`, about `wanted` of them.
function ticks(most, wanted) {
  if (!(most > 0)) return [0];
  const rough = most / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * 0.999);
  const list = [];
  for (let i = 0; i * step <= most * 1.0001; i++) list.push(i * step);
  return list;
}

// The decades of a logarithmic axis of seconds that has all that can matter: what is less than a nanosecond or than a millionth of the
// largest lies at its lower end, so that there are few whatever the values.
function decadesOf(seconds) {
  const decade = (p) => Number(`1e${p}`), most = Math.max(...seconds), matter = seconds.filter((s) => s >= Math.max(1e-9, most * 1e-6));
  if (matter.length === 0) return { from: -9, to: -8, lowest: 1e-9, decade };
  const from = Math.floor(Math.log10(Math.min(...matter))), to = Math.max(from + 1, Math.ceil(Math.log10(most)));
  return { from, to, lowest: decade(from), decade };
}

// ---- text ----

const pen = document.createElement("canvas").getContext("2d");

function widthOf(text, bold) {
  pen.font = `${bold ? "700 " : ""}12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif`;
  return pen.measureText(text).width;
}

// The text, or its two ends where it is wider than that.
function shortened(text, width, bold) {
  for (let keep = text.length; keep > 4; keep--) {
    const tail = Math.ceil(keep / 2), part = keep === text.length ? text : `${text.slice(0, keep - tail)}…${text.slice(-tail)}`;
    if (widthOf(part, bold) <= width) return part;
  }
  return text.slice(0, 4);
}

const label = (x, y, text, anchor, style) => svg("text", { x, y, "text-anchor": anchor || "start", class: style || "" }, text);
const line = (x1, y1, x2, y2, style) => svg("line", { x1, y1, x2, y2, class: style || "axis" });
const rect = (x, y, width, height, color, title) =>
  svg("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), fill: color }, title ? svg("title", {}, title) : null);

function legend(list, entries) {
  list.replaceChildren(...entries.map(([text, color]) => html("li", {}, html("i", { style: `background:${color}` }), text)));
  return list;
}
const legendOf = (entries) => legend(html("ul", { class: "legend" }), entries);

// A chart that is drawn again whenever its place gets another width, and when what is returned is called.
function chart(figure, describe, draw) {
  let drawn = 0;
  const redraw = () => {
    const width = Math.floor(figure.clientWidth);
    if (width === 0 || width === drawn) return;
    drawn = width;
    const picture = svg("svg", { role: "img", "aria-label": describe });
    const { height, parts, below } = draw(width);
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.append(...parts);
    figure.replaceChildren(picture, ...(below || []).filter((element) => element !== null));
  };
  new ResizeObserver(redraw).observe(figure);
  redraw();
  return () => {
    drawn = 0;
    redraw();
  };
}

// Horizontal bars of seconds, each of parts: [name, colour, seconds]; `none`: why there is no bar. What is longer than `most` ends with a
// gap.
function bars(figure, what, rows, most, below) {
  const unit = unitOfSeconds(most), each = 25, top = 4, bottom = top + each * rows.length;
  chart(figure, what, (width) => {
    const names = rows.map((row) => shortened(row.name, width * 0.4, row.own));
    const left = Math.max(...names.map((name) => widthOf(name, true))) + 12, plot = width - left - widthOf("0.0000 ms") - 10;
    const x = (seconds) => left + (plot * Math.min(seconds, most)) / most, drawn = [];
    for (const tick of ticks(most / unit.one, plot / 80))
      drawn.push(line(x(tick * unit.one), top, x(tick * unit.one), bottom), label(x(tick * unit.one), bottom + 16, digits(tick), "middle", "soft"));
    drawn.push(label(left + plot / 2, bottom + 34, `${what}, ${unit.name}`, "middle", "soft"));
    rows.forEach((row, i) => {
      const y = top + each * i, style = row.own ? "own" : "";
      let from = 0;
      drawn.push(label(left - 8, y + 17, names[i], "end", style));
      for (const [name, color, seconds] of row.parts) {
        drawn.push(rect(x(from), y + 4, x(from + seconds) - x(from), each - 8, color, `${row.name}: ${name} ${ofSeconds(seconds)}`));
        from += seconds;
      }
      if (from > most * 1.0001) drawn.push(rect(x(most) - 14, y + 3, 5, each - 6, "var(--back)"));
      drawn.push(row.none ? label(left + 4, y + 17, row.none, "start", "soft") : label(x(from) + 6, y + 17, ofSeconds(from), "start", style));
    });
    return { height: bottom + 40, parts: drawn, below };
  });
}

// A table: rows of cells, the first one its head. `words`: columns of text that may be broken.
function table(head, rows, words) {
  const cell = (tag) => (value, i) => html(tag, words && words.includes(i) ? { class: "words" } : {}, value);
  return html("table", {}, html("thead", {}, html("tr", {}, ...head.map(cell("th")))),
    html("tbody", {}, ...rows.map((row) => html("tr", row.own ? { class: "own" } : {}, ...row.cells.map(cell("td"))))));
}
