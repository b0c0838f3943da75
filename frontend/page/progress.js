// How searches went: what flexflow's walk had found by how many strategies, beside what auto found, proved and refined.

function drawProgress(data) {
  const section = byId("search"), flexflow = data.planners.find((o) => o.search_progress), auto = data.planners.find((o) => o.planner === "auto" && o.fits);
  if (!flexflow) return section.remove();
  const points = flexflow.search_progress, last = points[points.length - 1], tried = Math.max(1, last[0]);
  const levels = (auto ? [
    ["auto: no plan that was searched has a smaller sum", auto.search_bound, "var(--update)", "2 3"],
    ["auto: the least sum that it found", auto.search_cost, "var(--update)", "7 3"],
    ["auto: that plan as streams overlap", auto.search_overlapped_seconds, "var(--level1)", "7 3"],
    ["auto: its plan as streams overlap", auto.overlapped_seconds, "var(--level1)", ""]] : []).filter(([, seconds]) => seconds > 0);
  const found = points.map(([, seconds]) => seconds), least = Math.max(last[1], ...levels.map(([, seconds]) => seconds));
  const most = Math.min(Math.max(...found, least), 2.5 * least) * 1.05, unit = unitOfSeconds(most);
  chart(section.querySelector("figure"), "The best time found, by strategies tried", (width) => {
    const left = 46, right = 10, top = 22, height = 240, plot = width - left - right;
    const x = (n) => left + (plot * n) / tried, y = (s) => top + height - (height * Math.min(s, most)) / most;
    const drawn = [label(4, 13, `${unit.name} a step`, "start", "soft")];
    for (const tick of ticks(most / unit.one, 5))
      drawn.push(line(left, y(tick * unit.one), width - right, y(tick * unit.one)), label(left - 6, y(tick * unit.one) + 4, digits(tick), "end", "soft"));
    for (const [name, seconds, stroke, dashes] of levels)
      drawn.push(svg("line", { x1: left, x2: width - right, y1: y(seconds), y2: y(seconds), stroke, "stroke-width": 2, "stroke-dasharray": dashes },
                     svg("title", {}, `${name}: ${ofSeconds(seconds)}`)));
    const path = points.map(([n, seconds], i) => `${i === 0 ? `M${left}` : `H${x(n).toFixed(1)}V`}${i === 0 ? " " : ""}${y(seconds).toFixed(1)}`);
    drawn.push(svg("path", { d: path.join(""), fill: "none", stroke: "var(--compute)", "stroke-width": 2 }, svg("title", {}, `flexflow: ${ofSeconds(last[1])} in the end`)));
    for (const tick of ticks(tried, plot / 90))
      drawn.push(label(Math.min(Math.max(x(tick), left), width - right - widthOf(ofCount(tick)) / 2), top + height + 18, ofCount(tick), "middle", "soft"));
    drawn.push(label(left + plot / 2, top + height + 36, "strategies that flexflow has tried", "middle", "soft"));
    const entries = [[`flexflow: the best so far by its simulation of layers, ${ofSeconds(last[1])} in the end`, "var(--compute)"],
                     ...levels.map(([name, seconds, color, dashes]) => [`${name}${dashes ? " (dashed)" : ""}, ${ofSeconds(seconds)}`, color])];
    const also = flexflow.fits && flexflow.overlapped_seconds ? `The program of flexflow's plan takes ${ofSeconds(flexflow.overlapped_seconds)} as its streams overlap.` : "";
    return { height: top + height + 42, parts: drawn, below: [legendOf(entries), html("figcaption", {}, also)] };
  });
}
