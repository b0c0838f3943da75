// The network, a row for each node.

const LANE = 11, DOT = 19, FIRST = 8; // pixels: between lanes, from the top of a row to its dot, from the left to the first lane

const laneAt = (lane) => FIRST + lane * LANE;

// For every node the lane of the line that leads from it past the next node to others that read it, or -1; and the last of those.
function lanesOf(nodes) {
  const last = nodes.map(() => -1), lane = nodes.map(() => -1), busy = [];
  nodes.forEach((node, i) => node.in.forEach((edge) => {
    if (edge.from < i - 1) last[edge.from] = Math.max(last[edge.from], i);
  }));
  nodes.forEach((_, i) => {
    if (last[i] < 0) return;
    let l = 0;
    while (busy[l] !== undefined && busy[l] > i) l++;
    busy[l] = last[i];
    lane[i] = l + 1;
  });
  return { last, lane, count: busy.length };
}

const reads = (nodes, reader, from) => reader < nodes.length && nodes[reader].in.some((edge) => edge.from === from);

// The lines beside a row: of node i, or of a heading before it.
function gutter(nodes, lanes, i, isNode) {
  const parts = [], x0 = laneAt(0);
  nodes.forEach((_, a) => {
    if (a >= i || lanes.last[a] < i) return;
    const x = laneAt(lanes.lane[a]), enters = isNode && reads(nodes, i, a);
    if (!isNode || lanes.last[a] > i) parts.push(svg("line", { x1: x, x2: x, y1: 0, y2: "100%" }));
    if (enters) parts.push(svg("path", { d: `M${x} 0C${x} ${DOT * 0.7} ${x0} ${DOT * 0.3} ${x0} ${DOT}` }));
  });
  if (reads(nodes, i, i - 1)) parts.push(svg("line", { x1: x0, x2: x0, y1: 0, y2: isNode ? DOT : "100%" }));
  if (isNode) {
    const x = laneAt(lanes.lane[i]);
    if (reads(nodes, i + 1, i)) parts.push(svg("line", { x1: x0, x2: x0, y1: DOT, y2: "100%" }));
    if (lanes.lane[i] > 0)
      parts.push(svg("path", { d: `M${x0} ${DOT}C${x0} ${DOT + 9} ${x} ${DOT + 5} ${x} ${DOT + 15}` }), svg("line", { x1: x, x2: x, y1: DOT + 15, y2: "100%" }));
    parts.push(svg("circle", { cx: x0, cy: DOT, r: 4 }));
  }
  return svg("svg", { class: "gutter", width: laneAt(lanes.count) + 6, "aria-hidden": "true" }, ...parts);
}

// ---- a picture of the blocks ----

// In how many blocks a list of dimensions is cut, over which axes.
const cutsOf = (dims, mesh) => {
  const axes = dims.flatMap((d) => d.axes).sort((a, b) => a - b);
  return { axes, parts: axes.reduce((n, a) => n * mesh[a].size, 1) };
};

const MOST = 64; // blocks along a side of a picture; of more every so many are drawn

// The place along each axis of the block number `index` of a cut.
function placesOf(cut, index, mesh, places) {
  for (const a of [...cut.axes].reverse()) {
    places[a] = index % mesh[a].size;
    index = Math.floor(index / mesh[a].size);
  }
}

// Hue by the place along the slowest axis, lightness by the places along the others.
function colorOf(places, mesh) {
  const hue = (210 + (360 * places[0]) / mesh[0].size) % 360;
  let at = 0, of = 1;
  for (let a = 1; a < mesh.length; a++) at = at * mesh[a].size + places[a], of *= mesh[a].size;
  return `hsl(${hue.toFixed(0)} 38% ${(44 + (of > 1 ? (34 * at) / (of - 1) : 14)).toFixed(0)}%)`;
}

function blocks(node, mesh, size) {
  const divided = node.dims.filter((d) => d.axes.length > 0), whole = divided.filter((d) => !d.reduced);
  const samples = node.ways.includes(0) ? whole.find((d) => d.axes.some((a) => node.ways[a] === 0)) : undefined;
  const rows = cutsOf(samples ? [samples] : [], mesh), columns = cutsOf(whole.filter((d) => d !== samples), mesh);
  const terms = cutsOf(divided.filter((d) => d.reduced), mesh), sheets = Math.min(terms.parts, 4), shift = sheets > 1 ? 4 : 0;
  const side = size - 2 - shift * (sheets - 1), parts = [], down = Math.min(MOST, rows.parts), across = Math.min(MOST, columns.parts);
  const pinned = node.pins.map((pin) => Math.max(0, pin));
  for (let sheet = sheets - 1; sheet >= 0; sheet--) {
    const x = 1 + shift * sheet, y = 1 + shift * (sheets - 1 - sheet);
    for (let r = 0; r < down; r++) {
      for (let c = 0; c < across; c++) {
        const places = [...pinned];
        placesOf(terms, sheet, mesh, places);
        placesOf(rows, Math.floor((r * rows.parts) / down), mesh, places);
        placesOf(columns, Math.floor((c * columns.parts) / across), mesh, places);
        parts.push(rect(x + (side * c) / across, y + (side * r) / down, side / across, side / down, colorOf(places, mesh)));
      }
    }
    const fine = Math.max(down, across) > side / 3;
    for (let r = 1; r < down && !fine; r++) parts.push(line(x, y + (side * r) / down, x + side, y + (side * r) / down, "cut"));
    for (let c = 1; c < across && !fine; c++) parts.push(line(x + (side * c) / across, y, x + (side * c) / across, y + side, "cut"));
    parts.push(svg("rect", { x, y, width: side, height: side, fill: "none", stroke: "var(--text)", "stroke-width": 0.8 }));
  }
  return svg("svg", { viewBox: `0 0 ${size} ${size}`, width: size, height: size, role: "img", "aria-label": inWords(node, mesh) }, svg("title", {}, inWords(node, mesh)), ...parts);
}

// "16 blocks of the result, 4 terms of each; on 2 places each"
function inWords(node, mesh) {
  const divided = node.dims.filter((d) => d.axes.length > 0), whole = cutsOf(divided.filter((d) => !d.reduced), mesh).parts;
  const terms = cutsOf(divided.filter((d) => d.reduced), mesh).parts;
  const copies = mesh.reduce((n, axis, a) => (node.ways[a] === 4 ? n * axis.size : n), 1);
  const text = [whole > 1 ? `${whole} blocks of the result` : "the whole result"];
  if (terms > 1) text.push(`as ${terms} terms that are added up`);
  if (copies > 1) text.push(`${whole * terms > 1 ? "each " : ""}on ${copies} ranks`);
  node.pins.forEach((pin, a) => pin >= 0 && text.push(`only at ${mesh[a].name} ${pin}`));
  return text.join(", ");
}

// ---- a row ----

const dimsText = (node) => node.dims.map((d, i) => `${d.reduced && (i === 0 || !node.dims[i - 1].reduced) ? "| " : ""}${d.name}=${d.extent}`).join(" ");

function chips(node, mesh) {
  return mesh.map((axis, a) => {
    const dim = node.dims.find((d) => d.axes.includes(a));
    const what = node.pins[a] >= 0 ? `at ${node.pins[a]}` : dim ? dim.name : "all";
    return html("span", { class: "chip", style: `background:var(--way${node.ways[a]})` }, `${axis.name}: ${what}`);
  });
}

function changeText(change, node) {
  const moved = change.bytes > 0 ? `, ${ofBytes(change.bytes)}` : "";
  const tensor = change.tensor.startsWith(`${node.name}.`) ? change.tensor.slice(node.name.length + 1) : change.tensor;
  return `${tensor}: ${change.kind.replaceAll("_", "-")} over ${change.axes}${moved}, ${ofSeconds(change.seconds)}`;
}

function timeBar(node, most) {
  const width = 200, bar = svg("svg", { viewBox: `0 0 ${width} 10`, width: "100%", height: 10, preserveAspectRatio: "none" });
  let x = 0;
  for (const [name, color, key] of TIMES) {
    const w = (width * node[key]) / most;
    bar.append(rect(x, 0, w, 10, color, `${name}: ${ofSeconds(node[key])}`));
    x += w;
  }
  const times = node.times > 1 ? `, × ${node.times}` : "";
  return html("div", { class: "time" }, html("div", { class: "soft" }, totalOf(node) > 0 ? `${ofSeconds(totalOf(node))} of a step${times}` : ""), bar);
}

function moreOf(node, nodes) {
  const rows = TIMES.filter(([, , key]) => node[key] > 0).map(([name, , key]) => ({ cells: [name, ofSeconds(node[key])] }));
  if (node.change_bytes > 0) rows.push({ cells: ["busiest rank moves", ofBytes(node.change_bytes)] });
  if (node.parameter_bytes > 0) rows.push({ cells: ["parameters", ofMemory(node.parameter_bytes)] }, { cells: ["of them on a device", ofMemory(node.held_bytes)] });
  const from = node.in.map(({ tensor, from }) => (tensor === nodes[from].name ? tensor : `${tensor} of ${nodes[from].name}`)).join(", ");
  return html("div", { class: "more" }, html("div", {}, `Divided: ${node.split}.`), from ? html("div", { class: "name-list dims" }, `Reads ${from}.`) : null, rows.length > 0 ? table(["of a step", ""], rows) : null);
}

function nodeRow(data, i, most) {
  const nodes = data.network.nodes, node = nodes[i], mesh = data.mesh;
  const own = node.boxes.split("/").filter((box) => box && box[0] !== "*").join("."), isBox = own === node.name;
  const name = isBox ? node.op : node.name.slice(own && node.name.startsWith(`${own}.`) ? own.length + 1 : 0);
  const changes = [...node.in.flatMap((edge) => edge.changes), ...node.own];
  return html("details", { class: "node" },
    html("summary", {}, blocks(node, mesh, mesh.length > 0 ? 48 : 24),
      html("div", {}, html("div", { class: "name" }, html("b", {}, name), name === node.op ? "" : ` ${node.op}`), html("div", { class: "dims" }, dimsText(node)),
        html("div", { class: "chips" }, ...chips(node, mesh), ...changes.map((change) => html("span", { class: "change" }, changeText(change, node))))),
      timeBar(node, most)), moreOf(node, nodes));
}

// The headings of the boxes that begin with a node.
function headings(data, i) {
  const nodes = data.network.nodes, boxes = nodes[i].boxes.split("/").filter(Boolean), before = i > 0 ? nodes[i - 1].boxes.split("/").filter(Boolean) : [];
  let same = 0;
  while (same < boxes.length && boxes[same] === before[same]) same++;
  if (same === boxes.length) return [];
  const path = boxes.filter((box) => box[0] !== "*").join(" › ");
  const repeats = boxes.slice(same).filter((box) => box[0] === "*").map((box) => data.network.repeats[Number(box.slice(1))]);
  const times = repeats.map((r) => html("b", {}, `× ${r.times}, one after the other`));
  const names = repeats.length > 0 ? nodes.slice(i, i + repeats[0].nodes).map((node) => node.name) : [];
  const part = names.length > 3 ? `${names[0]} to ${names[names.length - 1]}` : names.join(", ");
  return [html("div", { class: "box", style: `padding-left:${(boxes.length - 1) * 8}px` }, path === "" ? part : path, ...times)];
}

function drawNetwork(data) {
  const nodes = data.network.nodes, lanes = lanesOf(nodes), most = Math.max(...nodes.map(totalOf)), rows = [];
  const add = (content, i, isNode) => {
    const inside = html("div", { class: "inside", style: `margin-left:${laneAt(lanes.count) + 10}px` }, content);
    rows.push(html("div", { class: "row" }, gutter(nodes, lanes, i, isNode), inside));
  };
  nodes.forEach((_, i) => {
    headings(data, i).forEach((heading) => add(heading, i, false));
    add(nodeRow(data, i, most), i, true);
  });
  byId("rows").append(...rows);
  legend(byId("ways"), data.network.ways.map((text, way) => [text, `var(--way${way})`]));
  legend(byId("times"), TIMES.map(([name, color]) => [name, color]));
}
