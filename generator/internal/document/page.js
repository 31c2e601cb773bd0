"use strict";
const search = document.querySelector("#search");
const caller = document.querySelector("#caller");
const sections = [...document.querySelectorAll("section")];
const rows = [...document.querySelectorAll("tr[data-section]")];
const mayUse = e => caller.value === "" || JSON.parse(e.dataset.callers).includes(caller.value);
function narrow(event) {
	if (event) {
		event.preventDefault();
	}
	const words = search.value.toLowerCase().split(/\s+/).filter(word => word !== "");
	const found = new Set();
	for (const section of sections) {
		const text = section.textContent.toLowerCase();
		section.hidden = !mayUse(section) || !words.every(word => text.includes(word));
		if (!section.hidden) {
			found.add(section.id);
		}
	}
	for (const row of rows) {
		row.hidden = !mayUse(row) || !found.has(row.dataset.section);
	}
	for (const table of new Set(rows.map(row => row.closest("table")))) {
		table.hidden = !table.querySelector("tr[data-section]:not([hidden])");
	}
	document.querySelector("#count").textContent = found.size + " of " + sections.length;
}
search.form.addEventListener("input", narrow);
search.form.addEventListener("submit", narrow);
search.form.hidden = false;
narrow();
