// The charts about planners, memory, communication and measured operators.

// What a step is made of: its parts with their colours, of a planner's outcome.
function partsOfStep(data) {
  const levels = data.machine.levels.map((level, i) => [`layouts over ${level.name}`, `var(--level${i})`, (o) => o.communication_seconds[level.name]]);
  return [["operators", "var(--compute)", (o) => o.compute_seconds], ["update of parameters", "var(--update)", (o) => o.update_seconds], ...levels,
          ["layouts within a device", "var(--local)", (o) => o.communication_seconds.local]];
}

const LONGEST = 8; // a bar of the planners is drawn at most so many times as long as the shortest

function drawPlanners(data) {
  const parts = partsOfStep(data), steps = data.planners.filter((o) => o.fits).map((o) => o.step_seconds);
  const most = steps.length > 0 ? Math.min(Math.max(...steps), LONGEST * Math.min(...steps)) : data.predicted.step_seconds, longer = steps.some((s) => s > most);
  const rows = data.planners.map((o) => ({
    name: o.planner, own: o.planner === data.planner, none: o.fits ? null : o.peak_bytes ? "does not fit" : "no plan",
    parts: o.fits ? parts.map(([name, color, of]) => [name, color, of(o)]) : [] }));
  const below = [legendOf(parts), longer ? html("figcaption", {}, "Bars with a gap are longer than is drawn.") : null];
  bars(document.querySelector("#planners figure"), "predicted time of a step", rows, most, below);
  drawPlannerTable(data);
}

function drawPlannerTable(data) {
  const proved = (o) => o.search_of_step && o.search_bound > 0;
  const head = ["planner", "step", "overlapped", "× data", "operators", "update", ...data.machine.levels.map((l) => `over ${l.name}`), "local", "moved", "memory", "planning",
                "gap", "remarks"];
  const rows = data.planners.map((o) => {
    const of = (f) => (o.fits ? f() : "–");
    const mesh = data.mesh.map((axis) => `${axis.name}=${axis.size}`).join(",");
    const remarks = [o.reason, o.fits && o.mesh !== mesh ? `mesh ${o.mesh}` : null, o.search_said].filter(Boolean).join("; ");
    return { own: o.planner === data.planner,
             cells: [o.planner, of(() => ofSeconds(o.step_seconds)), of(() => (o.overlapped_seconds ? ofSeconds(o.overlapped_seconds) : "–")), of(() => (o.speedup_over_data ? o.speedup_over_data.toFixed(2) : "–")),
                     of(() => ofSeconds(o.compute_seconds)), of(() => ofSeconds(o.update_seconds)),
                     ...data.machine.levels.map((l) => of(() => ofSeconds(o.communication_seconds[l.name]))),
                     of(() => ofSeconds(o.communication_seconds.local)), of(() => ofBytes(o.communication_bytes)),
                     o.peak_bytes ? ofMemory(o.peak_bytes) : "–", `${o.search_seconds.toFixed(2)} s`,
                     of(() => (proved(o) ? `${digits(o.search_gap * 100)} %` : "–")), remarks] };
  });
  document.querySelector("#planners .scroll").append(table(head, rows, [head.length - 1]));
}

// ---- the layers that take most ----

const LAYERS = 12;
const TIMES = [["forward", "var(--compute)", "forward"], ["backward", "var(--backward)", "backward"], ["update", "var(--update)", "update"],
               ["changes of layout", "var(--level1)", "changes"]];
const totalOf = (node) => node.forward + node.backward + node.update + node.changes;

function drawLayers(data) {
  const of = (node) => node.times * totalOf(node), nodes = [...data.network.nodes].sort((a, b) => of(b) - of(a));
  const shown = nodes.filter((node) => of(node) > 0).slice(0, LAYERS);
  const rest = nodes.slice(shown.length).reduce((sum, node) => sum + of(node), data.network.other);
  const rows = shown.map((node) => ({ name: node.times > 1 ? `${node.name} × ${node.times}` : node.name,
                                      parts: TIMES.map(([name, color, key]) => [name, color, node.times * node[key]]) }));
  const below = [legendOf(TIMES), rest > 0 ? html("figcaption", {}, `All others together: ${ofSeconds(rest)}.`) : null];
  bars(document.querySelector("#layers figure"), "of a step", rows, of(shown[0]), below);
}

// ---- memory ----

function drawMemory(data) {
  const m = data.memory, points = m.passing.length, base = m.parameters + m.states + m.inputs;
  const kinds = [["parameters", m.parameters, "var(--parameters)"], ["states of the optimizer and others", m.states, "var(--states)"],
                 ["inputs", m.inputs, "var(--inputs)"]];
  const phases = m.phases.map((p, i) => ({ ...p, end: i + 1 < m.phases.length ? m.phases[i + 1].start : m.steps }));
  const shown = data.machine.memory_bytes <= 3 * m.planned, most = shown ? data.machine.memory_bytes * 1.04 : m.planned * 1.12;
  const unit = unitOfMemory(most), tone = { begin: 20, forward: 30, backward: 65, combine: 45, report: 15, update: 90 };
  const colorOfPhase = (p) => `color-mix(in srgb, var(--text) ${tone[p.name]}%, var(--back))`;
  chart(document.querySelector("#memory figure"), "Memory of a device over the steps of the program", (width) => {
    const left = 46, right = 8, top = 22, height = 250, plot = width - left - right;
    const x = (step) => left + (plot * step) / m.steps, y = (bytes) => top + height - (height * bytes) / most;
    const drawn = [label(4, 13, `${unit.name} on a device`, "start", "soft")];
    for (const tick of ticks(most / unit.one, 5))
      drawn.push(line(left, y(tick * unit.one), width - right, y(tick * unit.one)), label(left - 6, y(tick * unit.one) + 4, digits(tick), "end", "soft"));
    let below = 0;
    for (const [name, bytes, color] of kinds) {
      drawn.push(rect(left, y(below + bytes), plot, y(below) - y(below + bytes), color, `${name}: ${ofMemory(bytes)}`));
      below += bytes;
    }
    const path = [`M${x(0)} ${y(base)}`];
    m.passing.forEach((bytes, i) => {
      const from = i * m.steps_of_a_point, to = Math.min(m.steps, from + m.steps_of_a_point);
      path.push(`L${x(from).toFixed(1)} ${y(base + bytes).toFixed(1)}L${x(to).toFixed(1)} ${y(base + bytes).toFixed(1)}`);
    });
    drawn.push(svg("path", { d: `${path.join("")}L${x(m.steps)} ${y(base)}Z`, fill: "var(--passing)" }, svg("title", {}, "activations, gradients, buffers")));
    drawn.push(svg("line", { x1: left, x2: width - right, y1: y(m.planned), y2: y(m.planned), stroke: "var(--text)", "stroke-dasharray": "5 3" }));
    if (shown) drawn.push(svg("line", { x1: left, x2: width - right, y1: y(data.machine.memory_bytes), y2: y(data.machine.memory_bytes), stroke: "var(--level2)", "stroke-width": 2 }));
    for (const p of phases)
      if (p.end > p.start) drawn.push(rect(x(p.start), top + height + 3, x(p.end) - x(p.start), 7, colorOfPhase(p), p.name));
    for (const tick of ticks(m.steps, plot / 90)) drawn.push(label(Math.min(x(tick), width - right - widthOf(digits(tick)) / 2), top + height + 25, digits(tick), "middle", "soft"));
    drawn.push(label(left + plot / 2, top + height + 43, "steps of the program, in order", "middle", "soft"));
    const entries = [...kinds.filter(([, bytes]) => bytes > 0).map(([name, bytes, color]) => [`${name}, ${ofMemory(bytes)}`, color]),
                     [`activations, gradients, buffers, at most ${ofMemory(Math.max(...m.passing))}`, "var(--passing)"],
                     ...phases.filter((p) => p.end > p.start).map((p) => [p.name, colorOfPhase(p)])];
    const also = `Dashed: the ${ofMemory(m.planned)} that are planned. ${shown ? "Red: what" : "What"} a device has is ${ofMemory(data.machine.memory_bytes)}.` +
                 (m.steps_of_a_point > 1 ? ` A point is the most of ${m.steps_of_a_point} steps.` : "");
    return { height: top + height + 50, parts: drawn, below: [legendOf(entries), html("figcaption", {}, also)] };
  });
  const rows = m.largest.map((t) => ({ cells: [t.name, ofMemory(t.bytes)] }));
  document.querySelector("#memory .scroll").append(table(["tensor", "bytes"], rows, [0]));
}

// ---- communication ----

function drawCollectives(data) {
  const kinds = Object.entries(data.communication.step_communication);
  const rows = kinds.map(([kind, said]) => ({ cells: [kind.replaceAll("_", "-"), String(said.count), ofBytes(said.bytes)] }));
  if (rows.length > 0) document.querySelector("#communication .scroll").append(table(["collective", "in a step", "busiest rank moves"], rows));
}

function drawCommunication(data) {
  drawCollectives(data);
  const bytes = data.communication.bytes, ranks = data.ranks;
  const flat = bytes.flat().filter((b) => b > 0);
  const figure = document.querySelector("#communication figure");
  if (flat.length === 0) {
    figure.append(html("p", {}, bytes.length === 0 ? `Not drawn for more than ${data.communication.ranks_shown_at_most} ranks.` : "Nothing moves between ranks."));
    return;
  }
  const most = Math.max(...flat), least = Math.min(...flat), group = data.mesh.length > 1 ? ranks / data.mesh[0].size : ranks;
  const strength = (b) => (most === least ? 1 : 0.2 + (0.8 * Math.log(b / least)) / Math.log(most / least));
  chart(figure, "Bytes from each rank to each other", (width) => {
    const left = 46, top = 34, side = Math.min(width - left - 12, 540, 60 * ranks), cell = side / ranks, drawn = [];
    const fits = (n) => n * cell >= 26, halves = [8, 4, 2, 1].map((n) => group / n).filter((n) => Number.isInteger(n) && fits(n));
    const every = halves.length > 0 ? halves[0] : group * Math.ceil(26 / (group * cell));
    drawn.push(label(left + side / 2, 13, "to rank", "middle", "soft"), label(4, 13, "from", "start", "soft"));
    drawn.push(svg("rect", { x: left, y: top, width: side, height: side, fill: "var(--card)" }));
    bytes.forEach((row, i) => row.forEach((b, k) => {
      if (b > 0) drawn.push(svg("rect", { x: left + k * cell, y: top + i * cell, width: cell, height: cell, fill: "var(--accent)", "fill-opacity": strength(b).toFixed(2) },
                                svg("title", {}, `rank ${i} to rank ${k}: ${ofBytes(b)}`)));
    }));
    for (let r = 0; r <= ranks; r += group)
      drawn.push(line(left + r * cell, top, left + r * cell, top + side, "part"), line(left, top + r * cell, left + side, top + r * cell, "part"));
    for (let r = 0; r < ranks; r += every)
      drawn.push(label(left + (r + 0.5) * cell, top - 6, String(r), "middle", "soft"), label(left - 6, top + (r + 0.5) * cell + 4, String(r), "end", "soft"));
    const scale = html("p", { class: "note" }, `Light to dark: ${ofBytes(least)} to ${ofBytes(most)} a step, by powers; empty: nothing. `,
                       group < ranks ? `Lines part the places along ${data.mesh[0].name}.` : "");
    return { height: top + side + 6, parts: drawn, below: [scale] };
  });
}

// ---- measured operators ----

function drawOperators(data) {
  const ops = data.operators, section = byId("operators");
  if (ops.length === 0) return section.remove();
  const { from, to, lowest, decade } = decadesOf(ops.flatMap((op) => [op.predicted, op.measured]));
  const small = ops.filter((op) => Math.min(op.predicted, op.measured) < lowest).length;
  const error = (op) => (op.predicted - op.measured) / op.measured;
  chart(section.querySelector("figure"), "Predicted and measured times of operators", (width) => {
    const left = 62, top = 22, side = Math.min(width - left - 12, 480), each = side / (to - from);
    const at = (s) => (s > lowest ? each * (Math.log10(s) - from) : 0);
    const x = (s) => left + at(s), y = (s) => top + side - at(s), drawn = [label(4, 13, "predicted", "start", "soft")];
    // of so many decades one has a label: the first and the last of a row are half a label nearer to their neighbours
    const everyOf = (room) => Math.max(1, Math.ceil(room / each)), across = everyOf(1.5 * widthOf("100 µs") + 8), upward = everyOf(18);
    for (let p = from; p <= to; p++) {
      const s = decade(p), anchor = p === from ? "start" : p === to ? "end" : "middle";
      drawn.push(line(x(s), top, x(s), top + side), line(left, y(s), left + side, y(s)));
      if ((p - from) % across === 0) drawn.push(label(x(s), top + side + 16, ofSeconds(s), anchor, "soft"));
      if ((p - from) % upward === 0) drawn.push(label(left - 6, y(s) + 4, ofSeconds(s), "end", "soft"));
    }
    drawn.push(line(left, top + side, left + side, top, "axis"), label(left + side / 2, top + side + 34, "measured", "middle", "soft"));
    for (const op of ops)
      drawn.push(svg("circle", { cx: x(op.measured), cy: y(op.predicted), r: 4, fill: op.is_change ? "var(--level1)" : "var(--compute)", "fill-opacity": 0.75 },
                     svg("title", {}, `${op.name}: predicted ${ofSeconds(op.predicted)}, measured ${ofSeconds(op.measured)}`)));
    const sum = (of) => ops.reduce((total, op) => total + op.count * of(op), 0);
    const entries = [["operators", "var(--compute)"], ["changes of layout", "var(--level1)"]].filter((_, i) => ops.some((op) => op.is_change === (i === 1)));
    const text = `${ops.length} kinds, ${sum(() => 1)} in a step. Their sum: predicted ${ofSeconds(sum((op) => op.predicted))}, measured ` +
                 `${ofSeconds(sum((op) => op.measured))}. Mean error of a kind: ${digits((100 * ops.reduce((t, op) => t + Math.abs(error(op)), 0)) / ops.length)} %. ` +
                 `On the diagonal both are the same.` +
                 (small > 0 ? ` Less than ${ofSeconds(lowest)}, and so drawn at the lower end of an axis: ${small} kind${small > 1 ? "s" : ""}.` : "");
    return { height: top + side + 40, parts: drawn, below: [legendOf(entries), html("figcaption", {}, text)] };
  });
  const rows = ops.map((op) => ({ cells: [op.name, String(op.count), ofSeconds(op.predicted), ofSeconds(op.measured), `${digits(100 * error(op))} %`] }));
  section.querySelector(".scroll").append(table(["operator", "in a step", "predicted", "measured", "error"], rows, [0]));
}
