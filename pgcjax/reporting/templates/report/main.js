// What the address asks for is drawn: the overview, a run, two runs, or a query.

const report = {};

/** The address of the overview as it was left, by the measure that is shown now. */
function homeHash() {
  const params = new URLSearchParams(state.home ?? "");
  params.delete("measure");
  if (state.measure) params.set("measure", current().name);
  return String(params);
}

/** Wait until what was drawn is painted; the mark is for who measures that. */
async function painted() {
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  performance.mark("painted");
}

/** Unpack what a view needs, once; the measure that is shown has its scores then. */
function unpacked(...parts) {
  return Promise.all([current(), ...parts].map((part) => part?.open()));
}

/** Draw what the address asks for; a later call takes the place of one that waits. */
async function render(moved) {
  const turn = (state.turn = (state.turn ?? 0) + 1);
  delete document.documentElement.dataset.ready;
  if (await draw(moved, () => turn !== state.turn)) document.documentElement.dataset.ready = "yes";
}

async function draw(moved, overtaken) {
  address.read();
  const { run, other, query, measure, lost } = asked(),
    detail = byId("detail"),
    overview = byId("overview");
  const none = run === null && query === null;
  state.measure = measure ?? 0;
  const chooser = document.querySelector("#controls select");
  if (chooser) chooser.value = state.measure;
  byId("lost").textContent = lost.length ? `This page has no ${lost.join(", no ")}.` : "";
  if (query !== null) {
    await openTexts("topics", "texts");
    await unpacked(...report.measures, report.judged, report.why);
  } else if (!none) await unpacked();
  if (overtaken()) return false;
  detail.hidden = none;
  overview.hidden = !none;
  if (query !== null) queryView(query, run, other);
  else if (other !== null) pairView(run, other);
  else if (run !== null) runView(run);
  else {
    detail.replaceChildren();
    if (!(await drawOverview(overtaken))) return false;
    const part = byId(address.get("part"));
    if (part) part.scrollIntoView();
    else if (moved) window.scrollTo(0, state.scroll ?? 0);
    return true;
  }
  if (moved) {
    window.scrollTo(0, 0);
    detail.querySelector("h2").focus({ preventScroll: true });
  }
  return true;
}

/**
 * Draw the overview, unless it is there as the address asks for it: first the runs, then
 * each other part when those before it are painted.
 */
async function drawOverview(overtaken) {
  if (state.drawn === overviewKey()) return true;
  state.drawn = null;
  for (const id of ["queries", "significance", "measures"])
    byId(id).hidden = id === "measures" && report.measures.length < 2;
  contents();
  board();
  const rest = [
    [() => openTexts("topics"), queries],
    [unpacked, significance],
    [unpacked, measures],
    [unpacked, judgmentSizes],
  ];
  for (const [ready, part] of rest) {
    await painted();
    await Promise.all([ready(), unpacked()]);
    if (overtaken()) return false;
    part();
  }
  state.drawn = overviewKey();
  return true;
}

/** Links to the parts of the overview. */
function contents() {
  const parts = [...document.querySelectorAll("#overview > section")].filter(
    (part) => !part.hidden,
  );
  byId("contents").replaceChildren(
    h(
      "ul",
      {},
      parts.map((part) => {
        const go = (event) => {
          event.preventDefault();
          address.keep("part", part.id);
          part.scrollIntoView();
          const heading = part.querySelector("h2");
          heading.tabIndex = -1;
          heading.focus({ preventScroll: true });
        };
        const text = part.querySelector("h2").textContent;
        return h("li", {}, link(`part=${part.id}`, text, { onclick: go }));
      }),
    ),
  );
}

function controls() {
  const names = report.measures.map((measure) => measure.name);
  if (names.length < 2) {
    byId("controls").replaceChildren(h("span", {}, names[0]));
    return;
  }
  byId("controls").replaceChildren(
    select("Measure", names, state.measure, (chosen) => {
      address.keep("measure", names[chosen], names[0]);
      state.drawn = null;
      render(false);
    }),
  );
}

async function start() {
  const raw = JSON.parse(byId("data").textContent);
  Object.assign(report, raw);
  const sizes = [raw.runs.length, raw.queries.length];
  report.measures = await Promise.all(raw.measures.map((one) => Measure.of(one, ...sizes)));
  report.judged = raw.judged && new Judgments(raw.judged);
  report.why = raw.why && new Reasons(raw.why);
  controls();
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // The address is for what is chosen.
    byId("main").focus();
  });
  for (const table of document.querySelectorAll(":is(#measures, #judgments, #judges) table")) {
    table.parentNode.after(
      h("div", { class: "foot" }, exportable(table.caption?.textContent ?? "table", table)),
    );
  }
  window.addEventListener("hashchange", () => render(true));
  document.addEventListener(
    "click",
    () => {
      // Where the overview is left, so that the way back leads there.
      if (byId("overview").hidden) return;
      state.scroll = window.scrollY;
      state.home = overviewKey();
    },
    true,
  );
  await render(false);
}

start().catch((error) => {
  byId("facts").textContent =
    `This page could not be drawn: ${error.message}. It needs a browser of 2023 or later.`;
  throw error;
});
