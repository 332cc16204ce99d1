// What the address asks for: the overview, #run=3, #runs=3,7, #query=5 or #query=5&run=3.

const report = {};

/** Read numbers of the address; null where one is none of what there is. */
function asked() {
  const found = new URLSearchParams(location.hash.slice(1));
  const one = (text, count) =>
    /^\d+$/.test(text ?? "") && Number(text) < count ? Number(text) : null;
  const run = one(found.get("run"), report.runs.length),
    query = one(found.get("query"), report.queries.length);
  const two = (found.get("runs") ?? "").split(",").map((text) => one(text, report.runs.length));
  return {
    run,
    query,
    two: two.length === 2 && !two.includes(null) && two[0] !== two[1] ? two : null,
  };
}

function render(moved) {
  const { run, query, two } = asked(),
    detail = byId("detail"),
    overview = byId("overview");
  const none = run === null && query === null && !two;
  detail.hidden = none;
  overview.hidden = !none;
  if (query !== null) queryView(query, run);
  else if (run !== null) runView(run);
  else if (two) pairView(...two);
  else {
    detail.replaceChildren();
    drawOverview();
  }
  if (!moved) return;
  if (none) {
    const part = byId(location.hash.slice(1));
    if (part) part.scrollIntoView();
    else window.scrollTo(0, state.scroll ?? 0);
  } else {
    window.scrollTo(0, 0);
    detail.querySelector("h2").focus({ preventScroll: true });
  }
}

/** Draw the overview, once for each measure: its parts stay as they were left. */
function drawOverview() {
  if (state.drawn === state.measure) return;
  state.drawn = state.measure;
  board();
  queries();
  significance();
  measures();
  judgmentSizes();
  const parts = [...document.querySelectorAll("#overview > section")].filter(
    (part) => !part.hidden,
  );
  byId("contents").replaceChildren(
    h(
      "ul",
      {},
      parts.map((part) => h("li", {}, link(part.id, part.querySelector("h2").textContent))),
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
      state.measure = chosen;
      render(false);
    }),
  );
}

async function start() {
  const raw = JSON.parse(byId("data").textContent);
  Object.assign(report, raw);
  const sizes = [raw.runs.length, raw.queries.length];
  report.measures = await Promise.all(raw.measures.map((one) => Measure.of(one, ...sizes)));
  report.judged = raw.judged && (await Judgments.of(raw.judged));
  controls();
  render(false);
  window.addEventListener("hashchange", () => render(true));
  document.addEventListener(
    "click",
    () => {
      // Where the overview is left, so that the way back leads there.
      if (!byId("overview").hidden) state.scroll = window.scrollY;
    },
    true,
  );
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  byId("facts").textContent =
    `This page could not be drawn: ${error.message}. It needs a browser of 2023 or later.`;
  throw error;
});
