// The time line: what a device does when, a row for each of its streams. Buttons look closer, and move.

const NEAREST = 2000; // times as near as all of it
const KINDS = [["forward", "var(--compute)"], ["backward", "var(--backward)"], ["update", "var(--update)"], ["changes of layout", "var(--level1)"]];

// Numbers in a chart from `from` to `to`.
function ticksBetween(from, to, wanted) {
  const step = ticks(to - from, wanted)[1] || to - from, list = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to * 1.000001; i++) list.push(Number((i * step).toPrecision(9)));
  return list;
}

function drawSpans(streams, row, y, height, x, left, right) {
  const drawn = [];
  let free = left; // up to where the row is drawn: what is thinner than half a pixel goes into what follows it
  for (const [name, kind, start, length] of row.spans) {
    const from = Math.max(free, x(start)), to = Math.min(right, x(start + length)), text = streams.names[name];
    if (to < free + 0.5 || x(start) > right) continue;
    drawn.push(rect(from, y, to - from, height, KINDS[kind][1], `${text}: ${ofSeconds(length * 1e-9)}, from ${ofSeconds(start * 1e-9)} on`));
    if (widthOf(text) + 8 < to - from) drawn.push(label(from + 4, y + height / 2 + 4, text, "start", "inner"));
    free = to;
  }
  return drawn;
}

function drawStreams(data) {
  const section = byId("streams"), streams = data.streams, end = streams.seconds * 1e9, view = { from: 0, to: end };
  if (!streams.seconds) return section.remove();
  const busy = (row) => row.spans.reduce((sum, span) => sum + span[3], 0), each = 30;
  const rows = streams.rows.filter((row) => row.spans.length > 0);
  const several = streams.ranks > 1;
  const redraw = chart(section.querySelector("figure"), "Time line of a step", (width) => {
    const names = rows.map((row) => (several ? `rank ${row.rank} ${row.stream}` : row.stream)), top = 4, bottom = top + each * rows.length;
    const left = Math.max(...names.map((name) => widthOf(name))) + 12, right = width - 10, plot = right - left;
    const unit = unitOfSeconds(view.to * 1e-9), one = unit.one * 1e9, x = (ns) => left + (plot * (ns - view.from)) / (view.to - view.from);
    const drawn = [label(left + plot / 2, bottom + 34, `from the beginning of the step, ${unit.name}`, "middle", "soft")];
    for (const tick of ticksBetween(view.from / one, view.to / one, plot / 100)) {
      const at = x(tick * one), text = String(tick);
      drawn.push(line(at, top, at, bottom));
      if (at + widthOf(text) / 2 < width && at - widthOf(text) / 2 > 0) drawn.push(label(at, bottom + 16, text, "middle", "soft"));
    }
    rows.forEach((row, i) => {
      drawn.push(label(left - 8, top + each * i + 18, names[i], "end"), ...drawSpans(streams, row, top + each * i + 3, each - 6, x, left, right));
    });
    const waits = rows.filter((row) => row.stream === "computing").map((row) => 1 - busy(row) / end);
    const said = `A step takes ${ofSeconds(streams.seconds)}. For ${digits(100 * Math.max(...waits))} % of it nothing is computed` +
                 `${several ? " on the rank that waits longest" : ""}: what is needed is on its way.` +
                 (streams.ranks * 2 > streams.rows.length ? ` ${streams.rows.length / 2} of ${streams.ranks} ranks that do different things are shown.` : "");
    return { height: bottom + 40, parts: drawn, below: [legendOf(KINDS), html("figcaption", {}, said)] };
  });
  const look = (by, zoom) => () => {
    const half = Math.min(end, Math.max(end / NEAREST, (view.to - view.from) * zoom)) / 2;
    const middle = (view.from + view.to) / 2 + by * (view.to - view.from);
    view.from = Math.max(0, Math.min(end - 2 * half, middle - half));
    view.to = view.from + 2 * half;
    redraw();
  };
  const button = (text, does, act) => {
    const element = html("button", { type: "button", "aria-label": does, title: does }, text);
    element.addEventListener("click", act);
    return element;
  };
  section.querySelector(".buttons").append(button("+", "closer", look(0, 0.5)), button("\u2212", "farther", look(0, 2)), button("\u2039", "earlier", look(-0.4, 1)),
                                           button("\u203a", "later", look(0.4, 1)), button("all", "all of it", look(0, NEAREST)));
}
