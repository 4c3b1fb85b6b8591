// The table of backends, for pages with more of them than cards fit, and the order of cards and rows.

import { breakerText } from './card.js';
import { htmlElement, isInView, levelOf, number, percent, setAttribute, setText, takingCalls, time } from './elements.js';
import { createLimitGraph, drawLimitGraph } from './limit.js';

/** The columns: class, heading, tooltip. */
const COLUMNS = [
  ['name', 'Backend'],
  ['state', 'State', 'The worst trouble of the backend; calm: none'],
  ['rate', 'Req/s', 'Requests per second'],
  ['share', 'Trouble', 'Share of the requests that were shed or failed'],
  ['p99', '99 %', '99 % of the requests that were not shed took at most this time'],
  ['calls', 'In flight', 'Calls in the backend, of the limit'],
  ['queue', 'Queue', 'Calls that wait for a permit'],
  ['graph', 'Limit, 2 min', 'The limit (line), calls in the backend (area), and changes of the limit (marks)'],
  ['instances', 'Instances', 'Instances that take calls'],
];

export function tableHead() {
  return htmlElement('div', { class: 'head', role: 'row' },
    ...COLUMNS.map(([name, heading, title]) => htmlElement('span', { class: name, role: 'columnheader', ...(title && { title }) }, heading)));
}

let created = 0;

/** Creates the row of a backend, and the row below it for its card; returns the elements that later change. */
export function createRow(name) {
  const id = `row-${++created}`;
  const toggle = htmlElement('button', { type: 'button', class: 'toggle', 'aria-expanded': 'false', 'aria-controls': id, tabindex: -1 },
    htmlElement('span', { class: 'text' }, name));
  const pill = htmlElement('span', { class: 'pill' });
  const graph = createLimitGraph();
  const cells = Object.fromEntries(COLUMNS.slice(1).map(([column]) => [column, htmlElement('span', { class: column, role: 'cell' })]));
  cells.state.append(pill);
  cells.graph.append(graph.svg);
  const cell = htmlElement('div', { role: 'cell', 'aria-colspan': COLUMNS.length });
  const detail = htmlElement('div', { class: 'detail', role: 'row', id, hidden: '' }, cell);
  const node = htmlElement('div', { class: 'group', role: 'rowgroup', 'data-row': name },
    htmlElement('div', { class: 'row', role: 'row' }, htmlElement('span', { class: 'name', role: 'rowheader' }, toggle), ...Object.values(cells)), detail);
  return { node, toggle, pill, graph, cells, detail, cell };
}

/** Shows the card of a row, or hides it. */
export function setOpen({ node, toggle, detail }, isOpen) {
  setAttribute(toggle, 'aria-expanded', isOpen);
  node.classList.toggle('open', isOpen);
  detail.hidden = !isOpen;
}

/** Draws the texts of a row, and its graph if it is in view. */
export function drawRow(parts, { name, recent, now, trouble }, { histories, faults }) {
  const { cells, pill, toggle } = parts;
  const isInjected = faults.some((fault) => fault.backend === name);
  setAttribute(parts.node, 'data-level', levelOf(trouble));
  setAttribute(parts.node, 'data-trouble', trouble.word);
  setAttribute(toggle, 'title', `${name}\n${now.instances ? `${now.instances.length} instances` : now.uri}`);
  setText(pill, isInjected ? `${trouble.word} · fault` : trouble.word);
  setAttribute(pill, 'title', `${isInjected ? 'A fault is injected into its calls.\n' : ''}Breaker: ${breakerText(now)}\n`
    + `since ${new Date(now.breaker.since).toLocaleString()}: ${now.breaker.why}`);
  setText(cells.rate, number(recent.rate));
  setText(cells.share, percent(recent.troubleShare));
  cells.share.classList.toggle('some', recent.troubleShare > 0);
  setText(cells.p99, time(recent.times?.p99Ms));
  setText(cells.calls, `${now.calls.active} of ${now.calls.limit}`);
  setText(cells.queue, `${now.calls.waiting}`);
  setText(cells.instances, now.instances ? `${takingCalls(now.instances)} of ${now.instances.length}` : '1');
  if (isInView(parts.node)) {
    drawRowGraph(parts, histories.get(name));
  }
}

/** Draws the graph of a row. */
export function drawRowGraph({ graph }, figures) {
  if (figures) {
    drawLimitGraph(graph, figures);
  }
}

// ---------------------------------------------------------------- the order

/** The scores at which a band of trouble begins: no calls served, forced or mostly failing, failing, early signs. */
const BANDS = [75, 60, 40, 1];
/** A backend keeps its band until it has been better for this time, so that a row does not jump each second. */
const HOLD_MS = 5_000;
const troubleRanks = new Map();

/** The rank by trouble: rises at once, and falls after a hold. */
export function troubleRank(name, score, at) {
  const rank = BANDS.filter((least) => score >= least).length;
  const known = troubleRanks.get(name);
  if (known && rank < known.rank && at - known.at < HOLD_MS) {
    return known.rank;
  }
  troubleRanks.set(name, { rank, at });
  return rank;
}

/** The ratio of the rates of neighbouring ranks. */
const RATE_STEP = 1.5;
/** A rate keeps its rank within this distance of it, in ranks. */
const RATE_SLACK = 0.75;
const trafficRanks = new Map();

/** The rank by traffic: that of a rate and all about as high. */
export function trafficRank(name, rate) {
  const exact = Math.log(1 + rate) / Math.log(RATE_STEP);
  const known = trafficRanks.get(name);
  const rank = known !== undefined && Math.abs(exact - known) <= RATE_SLACK ? known : Math.round(exact);
  trafficRanks.set(name, rank);
  return rank;
}

/** Forgets a backend that is gone. */
export function forgetRank(name) {
  troubleRanks.delete(name);
  trafficRanks.delete(name);
}
