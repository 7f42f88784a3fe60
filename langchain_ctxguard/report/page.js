"use strict";
(() => {
  const box = document.getElementById("find");
  const told = document.getElementById("found");
  const bar = box.closest("search");
  const folds = [...document.querySelectorAll("details")];
  let items = null;
  let matches = [];
  let at = -1;
  let opened = [];

  bar.hidden = false;

  const texts = () => {
    items = items || [...document.querySelectorAll(".find")].map((element) => [element, element.textContent.toLowerCase()]);
    return items;
  };

  const reveal = (element) => {
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      if (!fold.open) {
        fold.open = true;
        opened.push(fold);
      }
    }
  };

  // Messages far away have no size yet: as they get one, what was aimed at moves.
  const bring = (element, block, times = 4) => {
    element.scrollIntoView({ block, behavior: "instant" });
    if (times > 1) requestAnimationFrame(() => bring(element, block, times - 1));
  };

  const clear = () => {
    matches.forEach((element) => element.classList.remove("match", "current"));
    opened.forEach((fold) => { fold.open = false; });
    matches = [];
    opened = [];
    at = -1;
  };

  const say = () => {
    const many = matches.length;
    told.value = !box.value.trim() ? "" : many === 0 ? "nothing found" : at < 0 ? `${many} found; Enter goes to the next` : `${at + 1} of ${many}`;
  };

  const search = () => {
    clear();
    const wanted = box.value.trim().toLowerCase();
    if (wanted) {
      matches = texts().filter(([, text]) => text.includes(wanted)).map(([element]) => element);
      matches.forEach((element) => element.classList.add("match"));
    }
    say();
  };

  const go = (step) => {
    if (!matches.length) return;
    if (at >= 0) matches[at].classList.remove("current");
    at = at < 0 && step < 0 ? matches.length - 1 : (at + step + matches.length) % matches.length;
    reveal(matches[at]);
    matches[at].classList.add("current");
    bring(matches[at], "center");
    say();
  };

  let waiting = 0;
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { waiting = 0; search(); }, 150);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      if (waiting) { clearTimeout(waiting); waiting = 0; search(); }
      go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      box.value = "";
      search();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && document.activeElement !== box) {
      event.preventDefault();
      box.focus();
    }
  });

  const setAll = (open) => folds.forEach((fold) => { fold.open = open; });
  document.getElementById("open-all").addEventListener("click", () => setAll(true));
  document.getElementById("close-all").addEventListener("click", () => { clear(); say(); setAll(false); });

  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target instanceof HTMLDetailsElement) target.open = true;
    reveal(target);
    bring(target, "start");
  };
  addEventListener("hashchange", follow);
  if (location.hash) follow();

  let printed = [];
  addEventListener("beforeprint", () => {
    printed = folds.filter((fold) => !fold.open);
    printed.forEach((fold) => { fold.open = true; });
  });
  addEventListener("afterprint", () => printed.forEach((fold) => { fold.open = false; }));
})();
