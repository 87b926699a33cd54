// Helpers for the page. Text is only ever set as text, never as markup.

export const element = (id) => document.getElementById(id);

/** make('p', 'hint', 'text', node, …): a new element with a class, texts and nodes. */
export function make(tag, className = '', ...content) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...content);
  return node;
}

export function button(text, className, onPress) {
  const node = make('button', className, text);
  node.type = 'button';
  node.addEventListener('click', onPress);
  return node;
}

/** Sets a property only if it differs: a screen reader would read it again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Makes `nodes` the children of `parent`. Those in their place are not touched, so they keep focus and selection. */
export function arrange(parent, nodes) {
  let next = parent.firstChild;
  for (const node of nodes) {
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
  }
  while (next) {
    const rest = next.nextSibling;
    next.remove();
    next = rest;
  }
}

// Keeps a box at its end while it grows, unless its reader has scrolled up. Once a frame: reading the layout for
// each delta would cost more than the delta.
const scrolledUp = new Set();
const followed = new Set();

export function follow(box) {
  if (scrolledUp.has(box)) return;
  if (followed.size === 0) {
    requestAnimationFrame(() => {
      for (const each of followed) each.scrollTop = each.scrollHeight;
      followed.clear();
    });
  }
  followed.add(box);
}

export function followable(box) {
  box.addEventListener('scroll', () => {
    if (box.scrollHeight - box.scrollTop - box.clientHeight < 80) scrolledUp.delete(box);
    else if (!followed.has(box)) scrolledUp.add(box);
  });
}
