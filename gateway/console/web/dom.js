// Helpers for the page. Text is only ever set as text, never as markup.

export const element = (id) => document.getElementById(id);

/** make('p', { class: 'hint', onclick: f }, 'text', node, …): a new element with attributes, listeners, texts and nodes. */
export function make(tag, attributes = {}, ...content) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...content);
  return node;
}

/** Sets a text only if it differs: a screen reader would read it again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function timeOf(milliseconds) {
  return new Date(milliseconds).toLocaleString();
}

/** 87 ms, 1.24 s, 3 min 5 s */
export function duration(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(2)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}

/** 1 run, 2 runs */
export const counted = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;

export const pretty = (value) => JSON.stringify(value, null, 2);

/** Offers bytes as a file. */
export function save(name, bytes, type) {
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  const link = make('a', { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // The browser may still be reading it.
}

/** Tabs as the ARIA practices say: arrow keys, Home and End move; the chosen tab alone is in the tab order. */
export function makeTabs(list, chosen) {
  const tabs = [...list.querySelectorAll('[role="tab"]')];
  const choose = (tab) => {
    for (const each of tabs) {
      const isChosen = each === tab;
      each.setAttribute('aria-selected', String(isChosen));
      each.tabIndex = isChosen ? 0 : -1;
      element(each.getAttribute('aria-controls')).hidden = !isChosen;
    }
    chosen(tab.id.slice('tab-'.length));
  };
  for (const tab of tabs) tab.addEventListener('click', () => choose(tab));
  list.addEventListener('keydown', (event) => {
    const at = tabs.indexOf(event.target);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    const tab = tabs[(next + tabs.length) % tabs.length];
    choose(tab);
    tab.focus();
  });
  return (name) => choose(element(`tab-${name}`));
}
