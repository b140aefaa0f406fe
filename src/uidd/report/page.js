"use strict";
for (const place of document.querySelectorAll(".plot")) {
  const figure = JSON.parse(document.getElementById(place.id + "-data").textContent);
  Plotly.newPlot(place, figure.data, figure.layout, {
    responsive: true,
    displaylogo: false,
    modeBarButtons: [["toImage", "resetScale2d"]],
  });
}
window.addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
