// Light or dark, as the machine is set, until somebody presses the button. Charts are drawn anew.

export function themed(charts, storage = null) {
  const button = document.getElementById("theme"), machine = matchMedia("(prefers-color-scheme: dark)");
  const show = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", dark);
    button.textContent = dark ? "Light" : "Dark";
    charts().forEach((chart) => chart.draw());
  };
  const remembered = storage?.getItem("theme");
  show(remembered ? remembered === "dark" : machine.matches);
  machine.addEventListener("change", () => storage?.getItem("theme") ?? show(machine.matches));
  button.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    storage?.setItem("theme", dark ? "dark" : "light");
    show(dark);
  });
}
