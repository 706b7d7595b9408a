// Light or dark theme: as set on the machine, or by the button.

export function themed(charts, { remember = false } = {}) {
  const button = document.getElementById("theme"), machine = matchMedia("(prefers-color-scheme: dark)");
  const show = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", dark);
    button.textContent = dark ? "Light" : "Dark";
    charts().forEach((chart) => chart.draw());
  };
  // Without storage, the browser throws, and the choice lasts for this visit.
  const kept = (use) => {
    try {
      return remember ? use(localStorage) : null;
    } catch {
      return null;
    }
  };
  let chosen = kept((storage) => storage.getItem("theme"));
  show(chosen ? chosen === "dark" : machine.matches);
  machine.addEventListener("change", () => chosen ?? show(machine.matches));
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    kept((storage) => storage.setItem("theme", chosen));
    show(chosen === "dark");
  });
}
