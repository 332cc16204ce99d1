"use strict";
const requests = JSON.parse(document.getElementById("requests").textContent);
const [judge, button, count] = ["#judge", "button", "output"].map((of) => document.querySelector(of));
const answers = new Map(); // in the order in which they were given: a file saved again only grows
let saved = true;

function show() {
  count.textContent = `${answers.size} of ${requests.length} answered`;
  button.disabled = !answers.size || !judge.value.trim();
  button.title = judge.value.trim() ? "" : "Your name first";
}

function save() {
  const rows = [["query_id", "doc_id", "other_doc_id", "winner", "first", "judge"]];
  for (const [i, value] of answers) {
    const [query, doc, other] = requests[i];
    const winner = { 1: doc, 2: other, tie: "tie" }[value];
    rows.push([query, doc, other, winner, doc, judge.value.trim()]);
  }
  const text = rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",") + "\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(text, { type: "text/csv" }));
  link.download = "answers.csv";
  link.click();
  saved = true;
}

document.querySelector("form").addEventListener("change", (event) => {
  if (event.target.type === "radio") {
    answers.set(Number(event.target.name), event.target.value);
    saved = false;
  }
});
document.querySelector("form").addEventListener("input", show);
document.querySelector("form").addEventListener("change", show);
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
button.addEventListener("click", save);
addEventListener("beforeunload", (event) => saved || event.preventDefault());
show();
