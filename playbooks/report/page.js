"use strict";
(() => {
	const filter = document.getElementById("filter"), rows = [...document.querySelectorAll(".hosts tbody tr")];
	const texts = rows.map(row => (row.cells[0].textContent + " " + row.cells[1].textContent).toLowerCase());
	filter.hidden = false;
	filter.querySelector("input").addEventListener("input", event => {
		const words = event.target.value.toLowerCase().split(/\s+/);
		rows.forEach((row, i) => { row.hidden = !words.every(word => texts[i].includes(word)); });
	});
})();
