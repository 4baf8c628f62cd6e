// Text comes from keys of unknown origin: it is only ever set as text, never read as HTML.
export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "hue") node.style.setProperty("--hue", value);
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const byId = (id) => document.getElementById(id);

// Keeps one node a name below `parent`, in the order of `names`; new ones come from `create`.
export function keepChildren(parent, names, create) {
  const known = new Map([...parent.children].map((node) => [node.dataset.name, node]));
  const wanted = names.map((name) => known.get(name) ?? create(name));
  const same = wanted.length === parent.children.length && wanted.every((node, at) => parent.children[at] === node);
  if (!same) parent.replaceChildren(...wanted);
  return wanted;
}
