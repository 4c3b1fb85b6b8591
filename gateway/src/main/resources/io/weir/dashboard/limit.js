// The limit of concurrent calls: its reason in a sentence, its last two minutes as a graph, and its changes.

import { ago, htmlElement, setAttribute, setText, svgElement } from './elements.js';

export const HISTORY_SECONDS = 120;
const LAST = HISTORY_SECONDS - 1;
/** Changes of the same kind and reason within this time are one line. */
const SAME_CHANGE_SECONDS = 15;
const MAX_CHANGE_LINES = 3;

const REASONS = {
  initial: (when) => 'Unchanged since the start: the calls have not filled it.',
  growth: (when) => `Raised ${when}: calls waited, and the backend did not slow down.`,
  'growth-reverted': (when) => `Lowered ${when}: more calls at once brought no more answers.`,
  queueing: (when) => `Lowered ${when}: calls queued inside the backend.`,
  shedding: (when) => `Lowered ${when}: the backend refused calls.`,
  timeouts: (when) => `Lowered ${when}: most calls timed out.`,
  recovery: (when) => `Raised ${when}: the backend answers again.`,
  probe: (when) => 'Lowered for a moment, to measure the backend with fewer calls.',
};

/** Explains the limit in one sentence, without the terms of the algorithm. */
export function limitReason({ binds, inForce, own, stated, min, max, reason, changedAt }, suggested, at, instances, end) {
  const needed = suggested > 0 ? ` The present calls need ${suggested}.` : '';
  if (binds === 'operator') {
    return inForce < own ? `An operator lowered it to ${inForce}; otherwise it is ${own}.`
      : `Fixed by an operator, until ${end ? new Date(end).toLocaleString() : 'it is released'}.${needed}`;
  }
  if (binds === 'ramp' && instances) {
    return `Lowered to the share of the instances that take calls; with all of them it is ${own}.`;
  }
  if (binds === 'ramp') {
    return `Lowered while the backend recovers; it grows with each good answer, up to ${own}.`;
  }
  if (binds === 'signal') {
    return `The backend says that it takes ${stated} at once; otherwise it is ${own}.`;
  }
  if (binds === 'fixed') {
    return `Fixed by the configuration.${needed}`;
  }
  const edge = min === max || reason === 'initial' || reason === 'probe' ? ''
    : own <= min ? ` ${min} is the smallest that is allowed.` : own >= max ? ` ${max} is the largest that is allowed.` : '';
  return REASONS[reason](ago(at - new Date(changedAt))) + edge;
}

/** The words of a change, by the gateway's word for its reason. */
const CHANGES = {
  growth: 'calls waited, and the backend did not slow down',
  'growth-reverted': 'more calls at once brought no more answers',
  queueing: 'calls queued inside the backend',
  shedding: 'the backend refused calls',
  timeouts: 'most calls timed out',
  recovery: 'the backend answers again',
  probe: 'a measurement with fewer calls',
  ramp: 'the backend recovers',
  'ramp-ended': 'the backend has recovered',
  operator: 'by an operator',
  'operator-ended': 'no longer held by an operator',
  signal: 'the backend says how many it takes',
  'signal-ended': 'the backend no longer says how many it takes, or cannot keep up with what it says',
  instances: 'the number of instances that take calls changed',
  configuration: 'the configuration or the number of gateways changed',
};

const inWords = (word) => CHANGES[word] ?? word;

/** A line with steps, from the first known figure on. */
function steps(figures, most) {
  const first = figures.findIndex((value) => value > 0);
  if (first < 0) {
    return '';
  }
  const y = (value) => (40 - 38 * value / most).toFixed(1);
  let path = `M${first},${y(figures[first])}`;
  for (let i = first + 1; i < figures.length; i++) {
    if (figures[i] !== figures[i - 1]) {
      path += `H${i}V${y(figures[i])}`;
    }
  }
  return `${path}H${LAST}`;
}

export const area = (figures, most) =>
  `M0,40${figures.map((value, i) => `L${i},${(40 - 38 * value / most).toFixed(1)}`).join('')}L${figures.length - 1},40Z`;

const vertical = (seconds) => seconds.map((i) => `M${i},0V40`).join('');

/** The seconds in which the limit moved: raised, lowered, or for a measurement only. */
function movements({ limit, limitChange }) {
  const raised = [];
  const lowered = [];
  const measured = [];
  limitChange.forEach((word, i) => {
    if (word && i > 0 && limit[i - 1] > 0) {
      (word === 'probe' ? measured : limit[i] > limit[i - 1] ? raised : lowered).push(i);
    }
  });
  return { raised, lowered, measured };
}

/** The changes of the last two minutes, the latest first; those in steps as one. Measurements are left out. */
export function changes({ limit, limitChange }) {
  const all = [];
  limitChange.forEach((word, i) => {
    const [from, to] = [limit[i - 1], limit[i]];
    if (!word || word === 'probe' || !from || from === to) {
      return;
    }
    const last = all.at(-1);
    if (last && last.word === word && (to > from) === (last.to > last.from) && i - last.second <= SAME_CHANGE_SECONDS) {
      Object.assign(last, { to, second: i, steps: last.steps + 1 });
    } else {
      all.push({ word, from, to, second: i, steps: 1 });
    }
  });
  return all.reverse();
}

function changeText({ word, from, to, second, steps: count }) {
  return `${to > from ? '▲' : '▼'} ${from} → ${to}${count > 1 ? ` in ${count} steps` : ''}, ${ago((LAST - second) * 1_000)}: ${inWords(word)}`;
}

/** Creates a graph: calls in flight as an area, the limit as a line, its changes as vertical marks. */
export function createLimitGraph() {
  const parts = Object.fromEntries(['measured', 'raised', 'lowered', 'active', 'line', 'cursor']
    .map((name) => [name, svgElement('path', { class: name === 'active' ? 'ended' : name })]));
  const svg = svgElement('svg', { class: 'spark', viewBox: `0 0 ${LAST} 40`, preserveAspectRatio: 'none', role: 'img',
    'aria-label': 'Limit in the last two minutes' },
  parts.active, parts.measured, parts.raised, parts.lowered, parts.line, parts.cursor);
  return { svg, ...parts };
}

/** Draws a graph; returns its largest figure. */
export function drawLimitGraph(graph, figures) {
  const most = Math.max(1, ...figures.limit, ...figures.active);
  const { raised, lowered, measured } = movements(figures);
  setAttribute(graph.active, 'd', figures.active.some((count) => count > 0) ? area(figures.active, most) : '');
  setAttribute(graph.line, 'd', steps(figures.limit, most));
  setAttribute(graph.raised, 'd', vertical(raised));
  setAttribute(graph.lowered, 'd', vertical(lowered));
  setAttribute(graph.measured, 'd', vertical(measured));
  setAttribute(graph.svg, 'aria-label', rangeText(figures));
  return most;
}

/** The limit's range, and the most calls in flight, in words. */
function rangeText({ limit, active }) {
  const known = limit.filter((value) => value > 0);
  if (known.length === 0) {
    return 'Limit in the last two minutes: not known';
  }
  const [least, most] = [Math.min(...known), Math.max(...known)];
  return `Limit in the last two minutes: ${least === most ? most : `${least} to ${most}`}, at most ${Math.max(...active)} calls in flight`;
}

/** Creates the graph of a card, with its scales, the figures under the pointer, and the last changes. */
export function createLimitPlot() {
  const graph = createLimitGraph();
  const readout = htmlElement('p', { class: 'readout', 'aria-hidden': 'true' });
  const list = htmlElement('ol', { class: 'changes', 'aria-label': 'Changes of the limit in the last two minutes' });
  const plot = { graph, readout, list, pointed: null, node: htmlElement('div', { class: 'plot' }, graph.svg, readout) };
  graph.svg.addEventListener('pointermove', (event) => {
    const { left, width } = graph.svg.getBoundingClientRect();
    plot.pointed = Math.min(LAST, Math.max(0, Math.round(LAST * (event.clientX - left) / width)));
    drawReadout(plot);
  });
  graph.svg.addEventListener('pointerleave', () => {
    plot.pointed = null;
    drawReadout(plot);
  });
  return plot;
}

/** Draws the graph of a card. */
export function drawLimitPlot(plot, figures) {
  plot.figures = figures;
  plot.most = drawLimitGraph(plot.graph, figures);
  drawReadout(plot);
}

/** Writes the last changes; these are text, so they are up to date in and out of view. */
export function drawLimitChanges({ list }, figures) {
  const texts = changes(figures).slice(0, MAX_CHANGE_LINES).map(changeText);
  while (list.children.length > texts.length) {
    list.lastChild.remove();
  }
  texts.forEach((text, i) => {
    if (!list.children[i]) {
      list.append(htmlElement('li'));
    }
    setText(list.children[i], text);
    setAttribute(list.children[i], 'class', text.startsWith('▲') ? 'up' : 'down');
  });
  list.hidden = texts.length === 0;
}

/** The figures of the second under the pointer, or the scales. */
function drawReadout({ graph, readout, figures, pointed, most }) {
  if (!figures) {
    return;
  }
  setAttribute(graph.cursor, 'd', pointed === null ? '' : `M${pointed},0V40`);
  if (pointed === null) {
    setText(readout, `2 min ago to now; height ${most}`);
    return;
  }
  const word = figures.limitChange[pointed];
  const limit = figures.limit[pointed];
  setText(readout, limit === 0 ? `${ago((LAST - pointed) * 1_000)}: not known`
    : `${ago((LAST - pointed) * 1_000)}: limit ${limit}, ${figures.active[pointed]} in flight${word ? `; ${inWords(word)}` : ''}`);
}
