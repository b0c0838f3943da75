// The page: what its data says, section by section.

function tile(name, value, below) {
  return html("div", {}, html("dt", {}, name), html("dd", {}, value, below ? html("small", {}, below) : null));
}

function drawSummary(data) {
  const own = data.planners.find((o) => o.planner === data.planner), base = data.planners.find((o) => o.planner === "data");
  const step = data.predicted, moving = Object.values(step.communication_seconds).reduce((a, b) => a + b, 0);
  const mesh = data.mesh.map((axis) => `${axis.name}=${axis.size}`).join(", ");
  document.title = `${data.model} on ${data.ranks} devices of ${data.machine.name}`;
  byId("title").textContent = document.title;
  byId("subtitle").textContent = `Planned by ${data.planner}, mesh ${mesh}, batch ${ofCount(data.batch)}, ${data.type}.` + (own.search_said ? ` It says: ${own.search_said}.` : "");
  const levels = data.machine.levels.map((level, i) => {
    const of = i === 0 ? data.machine.device : data.machine.levels[i - 1].name;
    const plural = /(s|x|z|ch|sh)$/.test(of) ? "es" : "s";
    return `${level.count} ${of}${level.count > 1 ? plural : ""} a ${level.name}, ${level.link} ${ofBytes(level.bytes_per_second)}/s ${level.shared ? "for all in one" : "each"}, ` +
           ofSeconds(level.latency_seconds);
  });
  byId("machine").textContent = `${data.machine.name}: ${levels.join("; ")}.`;
  const tiles = [tile("a training step", ofSeconds(step.step_seconds), `${digits(data.batch / step.step_seconds)} samples/s, predicted` + (data.streams.seconds ? `; ${ofSeconds(data.streams.seconds)} with what overlaps` : ""))];
  if (data.planner !== "data")
    tiles.push(base.fits ? tile("beside data parallelism", `${digits(base.step_seconds / step.step_seconds)} ×`, `as fast as its ${ofSeconds(base.step_seconds)}`)
                         : tile("data parallelism", "none", base.peak_bytes ? "does not fit" : "no such plan"));
  tiles.push(tile("memory of a device", ofMemory(data.memory.planned), `${own.fits ? "" : "does not fit: "}of ${ofMemory(data.machine.memory_bytes)}`));
  tiles.push(tile("changes of layout", `${digits((100 * moving) / step.step_seconds)} %`, `of a step; ${ofBytes(step.communication_bytes)} moved`));
  const proved = own.search_of_step && own.search_bound > 0;
  const least = own.search_refined ? ` of the least sum, ${ofSeconds(own.search_cost)},` : ""; // another plan was taken then
  tiles.push(tile("planning", `${own.search_seconds.toFixed(2)} s`, proved ? `gap ${digits(own.search_gap * 100)} %${least} to what ${own.search_mesh} allows` : "nothing proved"));
  byId("tiles").append(...tiles);
}

function drawContents() {
  const sections = [...document.querySelectorAll("main section")];
  byId("contents").append(...sections.map((s) => html("li", {}, html("a", { href: `#${s.id}` }, s.querySelector("h2").textContent))));
}

const data = JSON.parse(byId("data").textContent);
drawSummary(data);
drawPlanners(data);
drawProgress(data);
drawStreams(data);
drawLayers(data);
drawNetwork(data);
drawMemory(data);
drawCommunication(data);
drawOperators(data);
document.querySelector("#plan pre").textContent = data.plan;
drawContents();
