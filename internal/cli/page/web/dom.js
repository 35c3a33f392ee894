// Elements are made by h, and put in place by morph, which keeps what is there: focus, scrolling and what somebody types outlive a change.

export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'style') for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// num is a number as the page shows it: the name says what it is in the words of `-o json`, the value is exact, the text is for people.
export function num(name, value, text) {
  return h('data', { value, 'data-n': name }, text ?? String(value));
}

// morph gives an element these children, changing as little as possible.
export function morph(parent, ...children) {
  const next = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
  let at = parent.firstChild;
  for (const node of next) {
    if (at && alike(at, node)) {
      const following = at.nextSibling;
      update(at, node);
      at = following;
    } else {
      parent.insertBefore(node, at);
    }
  }
  while (at) {
    const following = at.nextSibling;
    at.remove();
    at = following;
  }
}

// same says whether what something is made from is what it was made from before, of which nothing is known at first.
export const same = (from, before) => before !== undefined && from.every((is, i) => is === before[i]);

// renew is morph where something is other than what the children were made from before.
export function renew(parent, from, make) {
  if (same(from, parent.madeFrom)) return;
  parent.madeFrom = from;
  morph(parent, make());
}

const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.nodeType !== 1 || a.getAttribute('data-key') === b.getAttribute('data-key'));

function update(old, node) {
  if (old.nodeType === 3) {
    if (old.nodeValue !== node.nodeValue) old.nodeValue = node.nodeValue;
    return;
  }
  if (old.hasAttribute('data-kept')) return;
  for (const { name } of [...old.attributes]) if (name !== 'style' && name !== 'open' && !node.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of node.attributes) if (name !== 'style' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.style.cssText !== node.style.cssText) old.style.cssText = node.style.cssText;
  morph(old, ...node.childNodes);
}
