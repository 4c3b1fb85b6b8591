// Elements, figures and words that all parts of the page use.
// No text is parsed as HTML: every text becomes a text node.

export const byId = (id) => document.getElementById(id);

export function htmlElement(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children);
  return element;
}

export function svgElement(name, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children);
  return element;
}

/** Changes a text only if it differs, so that the browser lays out only changes. */
export function setText(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

export function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

export const number = (value) => (value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString('en') : value.toFixed(1));
export const percent = (share) => (share > 0 && share < 0.01 ? '<1 %' : `${Math.round(100 * share)} %`);

export function time(ms) {
  if (ms === null || ms === undefined) {
    return '–';
  }
  if (ms >= 10_000) {
    return `${(ms / 1000).toFixed(0)} s`;
  }
  if (ms >= 1_000) {
    return `${(ms / 1000).toFixed(1)} s`;
  }
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

/** The time since an event, in words. */
export function ago(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 1) {
    return 'just now';
  }
  const [value, unit] = seconds < 100 ? [seconds, 's'] : seconds < 6_000 ? [Math.round(seconds / 60), 'min']
    : seconds < 172_800 ? [Math.round(seconds / 3_600), 'h'] : [Math.round(seconds / 86_400), 'days'];
  return `${value} ${unit} ago`;
}

/** The level of a backend's trouble, which colours its card and its row. */
export const levelOf = ({ score }) => (score >= 40 ? 'bad' : score > 0 ? 'warn' : 'calm');

const isIn = ({ breaker }) => ['closed', 'half-open', 'forced-closed'].includes(breaker.state);

/** The number of backups that get no calls, since a primary takes them. */
export const inReserve = (instances) =>
  instances.some((one) => !one.backup && isIn(one) && one.breaker.state !== 'half-open')
    ? instances.filter((one) => one.backup && isIn(one)).length : 0;

/** The number of instances that take calls. */
export const takingCalls = (instances) => instances.filter(isIn).length - inReserve(instances);

// Only graphs in view are drawn: of 200 backends few are, and a graph costs more than all figures of its row.
// Texts are always up to date, for the browser's search and for screen readers.
const inView = new WeakSet();
const whenShown = new WeakMap();
const viewport = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
  if (!isIntersecting) {
    inView.delete(target);
  } else if (!inView.has(target)) {
    inView.add(target);
    whenShown.get(target)();
  }
}), { rootMargin: '300px' });

/** Watches whether an element is in view; calls the function each time that it comes into view. */
export function watchView(node, draw) {
  whenShown.set(node, draw);
  viewport.observe(node);
}

export const isInView = (node) => inView.has(node);

/** Ends the watch of an element that is removed. */
export function unwatchView(node) {
  viewport.unobserve(node);
  inView.delete(node);
}
