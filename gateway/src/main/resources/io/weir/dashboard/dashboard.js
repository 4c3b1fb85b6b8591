// Draws the snapshots of /actuator/weirstream, one each second; see the package io.weir.dashboard.

import { authority, CHANGES, createCard, drawCard, drawCardGraphs } from './card.js';
import { byId, htmlElement, number, setAttribute, setText, time, unwatchView, watchView } from './elements.js';
import { drawFleet, drawFleetProblem, hasFleet } from './fleet.js';
import { HISTORY_SECONDS } from './limit.js';
import { createRow, drawRow, drawRowGraph, forgetRank, setOpen, tableHead, trafficRank, troubleRank } from './table.js';

const endpoints = document.documentElement.dataset.endpoints;
const SILENCE_TIMEOUT_MS = 5_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 4_000;

let token = sessionStorage.getItem('weir-token') ?? '';
let vocabulary = {};
let lastView = null;
const histories = new Map();
const cards = new Map();
const rows = new Map();
/** The backends whose rows show their cards. */
const opened = new Set();

// ---------------------------------------------------------------- the stream

class Unauthorized extends Error {}

const authorization = () => (token ? { Authorization: `Bearer ${token}` } : {});

/** Reads events until the stream ends. */
async function readStream() {
  const abort = new AbortController();
  let watchdog = setTimeout(() => abort.abort(), SILENCE_TIMEOUT_MS);
  try {
    const response = await fetch(`${endpoints}/weirstream`, {
      headers: { Accept: 'text/event-stream', ...authorization() }, cache: 'no-store', signal: abort.signal });
    if (response.status === 401) {
      throw new Unauthorized();
    }
    if (!response.ok) {
      throw new Error(`${response.status}`);
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let pending = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), SILENCE_TIMEOUT_MS);
      pending += value;
      for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n')) {
        handleReported(pending.slice(0, end));
        pending = pending.slice(end + 2);
      }
    }
  } finally {
    clearTimeout(watchdog);
    abort.abort();
  }
}

/** A fault of the page itself appears in the browser's console, and does not look like a lost connection. */
function handleReported(event) {
  try {
    handleEvent(event);
  } catch (error) {
    reportError(error);
  }
}

function handleEvent(event) {
  const data = event.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
  if (!data) {
    return;
  }
  const view = JSON.parse(data);
  if (view.vocabulary) {
    vocabulary = view.vocabulary;
    histories.clear();
    Object.entries(view.history).forEach(([name, figures]) => histories.set(name, figures));
  } else {
    view.backends.forEach(appendSecond);
  }
  showConnected();
  draw(view);
}

/** Appends the last second to the history of a backend. */
function appendSecond(backend) {
  const { recent, now } = backend;
  const second = { ended: recent.lastSecond, trouble: recent.lastSecondTrouble, limit: now.calls.limit, active: now.calls.active,
    limitChange: recent.limitChange ?? '' };
  const figures = histories.get(backend.name)
    ?? Object.fromEntries(Object.keys(second).map((figure) => [figure, Array(HISTORY_SECONDS).fill(figure === 'limitChange' ? '' : 0)]));
  Object.entries(second).forEach(([figure, value]) => {
    figures[figure].push(value);
    figures[figure].splice(0, figures[figure].length - HISTORY_SECONDS);
  });
  histories.set(backend.name, figures);
}

/** Reads the stream, and connects again whenever it ends. */
async function run() {
  let wait = RETRY_MIN_MS;
  for (;;) {
    const before = lastView;
    try {
      await readStream();
    } catch (error) {
      if (error instanceof Unauthorized) {
        showLost('Token required');
        await askForToken();
        continue;
      }
    }
    showLost('Connection lost, reconnecting…');
    wait = before === lastView ? Math.min(RETRY_MAX_MS, wait * 2) : RETRY_MIN_MS;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

function showConnected() {
  const state = byId('connection');
  if (state.dataset.state !== 'live') {
    state.dataset.state = 'live';
    state.textContent = 'Live';
    document.body.classList.remove('stale');
  }
}

function showLost(text) {
  const state = byId('connection');
  if (state.textContent !== text) {
    state.dataset.state = 'lost';
    state.textContent = text;
    document.body.classList.add('stale');
  }
}

function askForToken() {
  const dialog = byId('token');
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      token = byId('token-value').value.trim();
      byId('token-value').value = '';
      sessionStorage.setItem('weir-token', token);
      resolve();
    }, { once: true });
    if (!dialog.open) {
      dialog.showModal();
    }
  });
}

// ---------------------------------------------------------------- the page

const byName = (one, other) => (one.name < other.name ? -1 : 1);

/** The orders; each keeps a backend in its place until its figure has clearly changed. */
const orders = {
  trouble: ({ name, trouble }, at) => troubleRank(name, trouble.score, at),
  traffic: ({ name, recent }) => trafficRank(name, recent.rate),
  name: () => 0,
};

function sorted(view) {
  const rankOf = orders[byId('order').value];
  return view.backends.map((backend) => ({ name: backend.name, rank: rankOf(backend, view.at) }))
    .sort((one, other) => other.rank - one.rank || byName(one, other));
}

/** Draws a snapshot. The duration of the last one is the measure `draw` in the browser's performance timeline. */
function draw(view) {
  const start = performance.now();
  lastView = view;
  drawGateway(view);
  drawRefused(view.refused);
  drawBackends(view);
  drawRecentEvents(view.happenings);
  refreshFleet(view.replicas);
  performance.clearMeasures('draw');
  performance.measure('draw', { start, end: performance.now() });
}

function drawBackends(view) {
  const names = new Set(view.backends.map((backend) => backend.name));
  new Set([...cards.keys(), ...rows.keys()]).difference(names).forEach((name) => {
    removeCard(name);
    removeRow(name);
    histories.delete(name);
    opened.delete(name);
    forgetRank(name);
  });
  const isTable = showsTable(view.backends.length);
  byId('cards').hidden = isTable;
  byId('table').hidden = !isTable;
  byId('cards').classList.toggle('many', view.backends.length > MANY_CARDS);
  const page = { at: view.at, faults: view.faults, histories, vocabulary,
    busiest: Math.max(1, ...view.backends.map((backend) => backend.recent.rate)) };
  const wanted = byId('find').value.trim().toLowerCase();
  let found = 0;
  view.backends.forEach((backend) => {
    const node = isTable ? drawInTable(backend, page) : drawAsCard(backend, page);
    node.hidden = !backend.name.toLowerCase().includes(wanted);
    found += node.hidden ? 0 : 1;
  });
  const shown = sorted(view).map(({ name }) => (isTable ? rows : cards).get(name));
  arrange(byId(isTable ? 'rows' : 'cards'), shown.map(({ node }) => node));
  if (isTable) {
    keepTabStop(shown);
  }
  const troubled = view.backends.filter(({ trouble }) => trouble.score >= 40).length;
  document.title = troubled > 0 ? `(${troubled}) Weir` : 'Weir';
  setText(byId('shown'), wanted ? `${found} of ${view.backends.length} shown`
    : `${view.backends.length} backend${view.backends.length === 1 ? '' : 's'}, ${troubled || 'none'} in trouble`);
}

// ---------------------------------------------------------------- cards or a table

/** More cards than these rows of them are too long a page. */
const MAX_CARD_ROWS = 3;
/** The least width of a card, and the gap between cards, in the stylesheet's rem. */
const CARD_REM = 21;
const GAP_REM = 1;
/** The browser lays out more cards than these only when they come into view. */
const MANY_CARDS = 12;
const VIEW_KEY = 'weir-view';
let columns = cardColumns();

/** The cards that fit beside each other. */
function cardColumns() {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return Math.max(1, Math.floor((byId('backends').clientWidth / rem + GAP_REM) / (CARD_REM + GAP_REM)));
}

/** Whether a table is shown: by the operator's choice, else if the cards do not fit. */
function showsTable(count) {
  const chosen = byId('view').value;
  return chosen === 'auto' ? count > MAX_CARD_ROWS * columns : chosen === 'table';
}

function removeCard(name) {
  const parts = cards.get(name);
  if (parts) {
    unwatchView(parts.node);
    parts.node.remove();
    cards.delete(name);
  }
}

function removeRow(name) {
  const parts = rows.get(name);
  if (parts) {
    unwatchView(parts.node);
    parts.node.remove();
    rows.delete(name);
  }
}

/** Creates the card of a backend, or moves it, below a parent. */
function cardIn(parent, name) {
  let parts = cards.get(name);
  if (!parts) {
    parts = createCard(name);
    cards.set(name, parts);
    watchView(parts.node, () => drawCardGraphs(parts, histories.get(name)));
  }
  if (parts.node.parentNode !== parent) {
    parent.append(parts.node);
  }
  return parts;
}

function drawAsCard(backend, page) {
  const parts = cardIn(byId('cards'), backend.name);
  removeRow(backend.name);
  drawCard(parts, backend, page);
  return parts.node;
}

function drawInTable(backend, page) {
  const { name } = backend;
  let parts = rows.get(name);
  if (!parts) {
    parts = createRow(name);
    rows.set(name, parts);
    byId('rows').append(parts.node);
    watchView(parts.node, () => drawRowGraph(parts, histories.get(name)));
  }
  drawRow(parts, backend, page);
  setOpen(parts, opened.has(name));
  if (opened.has(name)) {
    drawCard(cardIn(parts.cell, name), backend, page);
  } else {
    removeCard(name);
  }
  return parts.node;
}

/** The browser's storage may be forbidden; then the choice lasts as long as the page. */
function stored(action) {
  try {
    return action(localStorage);
  } catch {
    return null;
  }
}

/** Tab stops once at the rows; the arrow keys move between them. */
function keepTabStop(shown) {
  const toggles = shown.filter(({ node }) => !node.hidden).map(({ toggle }) => toggle);
  const kept = toggles.find((toggle) => toggle === document.activeElement) ?? toggles.find((toggle) => toggle.tabIndex === 0) ?? toggles[0];
  shown.forEach(({ toggle }) => setAttribute(toggle, 'tabindex', toggle === kept ? 0 : -1));
}

/** Moves the cards that are out of place; does not move the focus. */
function arrange(list, nodes) {
  if (!list.moveBefore && list.contains(document.activeElement) && document.activeElement !== list) {
    return;
  }
  nodes.forEach((node, i) => {
    const present = list.children[i];
    if (present !== node) {
      if (list.moveBefore) {
        list.moveBefore(node, present);
      } else {
        list.insertBefore(node, present);
      }
    }
  });
}

function drawGateway({ gateway, backends, replicas, configuration }) {
  const figure = (id, text, bad) => {
    setText(byId(id), text);
    byId(id).classList.toggle('bad', bad);
  };
  // Beyond their guaranteed shares, backends use the shared places.
  const isFull = gateway.maxSharedInFlight > 0 && gateway.sharedInFlight >= gateway.maxSharedInFlight;
  figure('in-flight', `${gateway.inFlight} of ${gateway.maxInFlight}`, isFull);
  figure('rate', `${number(backends.reduce((sum, backend) => sum + backend.recent.rate, 0))}/s`, false);
  figure('loop-delay', time(gateway.eventLoopDelayMs), gateway.overloaded);
  figure('memory', `${gateway.memoryPercent} %`, gateway.overloaded);
  figure('replicas', `${replicas}`, false);
  figure('phase', gateway.phase, gateway.phase !== 'serving');
  const { hash, operatorValues } = configuration;
  figure('configuration', operatorValues === 0 ? hash : `${hash}, ${operatorValues} changed`, false);
}

const KINDS = { 'breaker-opened': 'failed', 'breaker-half-opened': 'shed', 'breaker-closed': 'answered', 'breaker-forced': 'shed',
  'breaker-released': 'answered', 'instance-ejected': 'failed', 'instance-returned': 'answered', 'instance-drained': 'shed',
  'fault-started': 'failed', 'fault-ended': 'answered', 'last-good-emptied': 'caller', 'limit-changed': 'caller', 'configuration-reloaded': 'caller', 'configuration-refused': 'failed' };
let newestKey = '';

/** Adds new events to the list; the list is live, so a reader announces only these. */
function drawRecentEvents(recentEvents) {
  const list = byId('recent-events');
  byId('no-events').hidden = recentEvents.length > 0;
  const latest = recentEvents.length > 0 ? `${recentEvents[0].at}/${recentEvents[0].number}` : '';
  if (latest === newestKey) {
    return;
  }
  newestKey = latest;
  const present = new Set([...list.children].map((node) => node.dataset.key));
  const fresh = recentEvents.filter((each) => !present.has(`${each.at}/${each.number}`)).map((each) => htmlElement('li', {
    class: KINDS[each.kind] ?? '', 'data-key': `${each.at}/${each.number}`, 'data-kind': each.kind },
  htmlElement('time', { datetime: new Date(each.at).toISOString() }, new Date(each.at).toLocaleTimeString()), ' ',
  htmlElement('b', {}, each.backend ?? 'gateway'), htmlElement('br'), each.text, each.by ? htmlElement('small', {}, ` by ${each.by}`) : ''));
  list.prepend(...fresh);
  const keys = new Set(recentEvents.map((each) => `${each.at}/${each.number}`));
  [...list.children].filter((node) => !keys.has(node.dataset.key)).forEach((node) => node.remove());
}

let refusedKey = null;

/** Draws the problems of a refused file once: a screen reader would announce each change again. */
function drawRefused(refused) {
  const key = refused && `${refused.at}/${refused.problems.join('\n')}`;
  if (key === refusedKey) {
    return;
  }
  refusedKey = key;
  if (refused) {
    byId('refused-by').textContent = `${new Date(refused.at).toLocaleString()}, by ${refused.by}`;
    byId('refused-problems').replaceChildren(...refused.problems.map((problem) => htmlElement('li', {}, problem)));
  }
  byId('refused').hidden = !refused;
}

// ---------------------------------------------------------------- all gateways

/** Each answer costs a request to each gateway. */
const FLEET_INTERVAL_MS = 5_000;
let fleetAskedAt = -FLEET_INTERVAL_MS;
let isFleetAsked = false;

/** Asks for the state of all gateways, from time to time, if there are several and the page is in view. */
async function refreshFleet(replicas) {
  if (replicas < 2) {
    byId('fleet').hidden = true;
    return;
  }
  if (isFleetAsked || document.hidden || performance.now() - fleetAskedAt < FLEET_INTERVAL_MS) {
    return;
  }
  isFleetAsked = true;
  try {
    const response = await fetch(`${endpoints}/weirfleet`, { headers: authorization(), cache: 'no-store' });
    if (!response.ok) {
      throw new Error(`status ${response.status}`);
    }
    drawFleet(await response.json());
  } catch (error) {
    drawFleetProblem(error.message);
  } finally {
    isFleetAsked = false;
    fleetAskedAt = performance.now();
  }
}

// ---------------------------------------------------------------- changes by an operator

const QUESTIONS = {
  open: (name) => [`Force the breaker of ${name} open?`, 'The gateway refuses every call to it.', 'Force open'],
  closed: (name) => [`Force the breaker of ${name} closed?`, 'The gateway permits every call to it; the breaker cannot open.', 'Force closed'],
  released: (name) => [`Release the breaker of ${name}?`, 'The breaker decides by itself again. It starts closed, with empty counts.', 'Release'],
  drain: (name, instance) => [`Drain ${instance} of ${name}?`, 'It gets no new calls and no probes; its calls end. The limit of the backend shrinks by its share.', 'Drain'],
  return: (name, instance) => [`Return ${instance} to ${name}?`, 'It gets calls again, a few at first.', 'Return'],
  limit: (name) => [`Change the limit of ${name}?`, 'The limit applies from the next request on. Calls in flight keep their permits.', 'Change'],
};

/** Asks for confirmation, then sends the change. The instance is null if the change is not about one. */
function confirmChange(name, action, instance) {
  const dialog = byId('ask');
  const [title, text, yes] = QUESTIONS[action](name, instance && authority(instance));
  byId('ask-title').textContent = title;
  byId('ask-text').textContent = text;
  byId('ask-yes').textContent = yes;
  const limits = byId('ask-limits');
  limits.hidden = action !== 'limit';
  byId('ask-auto').hidden = limits.hidden;
  const { calls, changes } = lastView.backends.find((backend) => backend.name === name).now;
  byId('ask-release').hidden = limits.hidden || changes.every(({ change }) => change in CHANGES);
  byId('ask-lasting').hidden = action === 'released' || action === 'return';
  const duration = byId('ask-duration');
  duration.value = '';
  byId('ask-fleet').hidden = !hasFleet();
  byId('ask-all').checked = false;
  byId('ask-calls').value = calls.limit;
  byId('ask-queue').value = calls.queueCapacity;
  [byId('ask-calls'), byId('ask-queue')].forEach((input) => { input.disabled = limits.hidden; });
  dialog.returnValue = 'cancel';
  dialog.addEventListener('close', () => {
    const end = duration.value ? { duration: duration.value } : {};
    if (dialog.returnValue === 'auto') {
      sendChange(name, { 'max-concurrent-calls': 'auto', 'queue-capacity': 'auto', ...end });
    }
    if (dialog.returnValue === 'release') {
      sendChange(name, { limits: 'released' });
    }
    if (dialog.returnValue !== 'yes') {
      return;
    }
    sendChange(name, instance ? { instance, action, ...end } : action === 'limit'
      ? { 'max-concurrent-calls': byId('ask-calls').valueAsNumber, 'queue-capacity': byId('ask-queue').valueAsNumber, ...end }
      : { breaker: action, ...end });
  }, { once: true });
  dialog.showModal();
  (limits.hidden ? byId('ask-no') : byId('ask-calls')).focus();
}

async function sendChange(name, body) {
  const isForAll = byId('ask-all').checked;
  const message = byId('message');
  message.hidden = true;
  try {
    const response = await fetch(`${endpoints}/weir/${encodeURIComponent(name)}${isForAll ? '?fleet=true' : ''}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', ...authorization() }, body: JSON.stringify(body) });
    if (!response.ok) {
      const problem = await response.json().catch(() => ({}));
      throw new Error(problem.detail ?? `status ${response.status}`);
    }
  } catch (error) {
    message.textContent = `${name} was not changed${isForAll ? ' on all gateways' : ''}: ${error.message}`;
    message.hidden = false;
  }
}

/** Opens or closes a row. */
function toggle(name) {
  if (!opened.delete(name)) {
    opened.add(name);
  }
  draw(lastView);
}

byId('backends').addEventListener('click', (event) => {
  const button = event.target.closest('button[data-action]');
  const row = event.target.closest('.row');
  if (button) {
    const { action, instance } = button.dataset;
    const done = button.classList.contains('drained') ? 'return' : 'drain';
    confirmChange(button.closest('.card').dataset.backend, action === 'instance' ? done : action, instance ?? null);
  } else if (row) {
    toggle(row.parentNode.dataset.row);
  }
});

/** The place that a key moves to among controls in a row; null: the key does not move. */
function moved(key, at, count, keys) {
  return { [keys[0]]: (at + 1) % count, [keys[1]]: (at + count - 1) % count, Home: 0, End: count - 1 }[key] ?? null;
}

/** Moves the focus, and the one tab stop, among controls. */
function moveFocus(event, controls, keys) {
  const next = controls[moved(event.key, controls.indexOf(event.target), controls.length, keys)];
  if (next) {
    controls.forEach((each) => { each.tabIndex = each === next ? 0 : -1; });
    next.focus();
    event.preventDefault();
  }
}

byId('backends').addEventListener('keydown', (event) => {
  const forward = event.key === 'ArrowRight' || event.key === 'ArrowLeft' ? ['ArrowRight', 'ArrowLeft'] : ['ArrowDown', 'ArrowUp'];
  if (event.target.matches('.cell')) {
    moveFocus(event, [...event.target.closest('.cells').querySelectorAll('.cell')], forward);
  } else if (event.target.matches('.toggle')) {
    moveFocus(event, [...byId('rows').querySelectorAll('.group:not([hidden]) .toggle')], ['ArrowDown', 'ArrowUp']);
  }
});

const redraw = () => {
  if (lastView) {
    draw(lastView);
  }
};
byId('find').addEventListener('input', redraw);
['order', 'view'].forEach((id) => byId(id).addEventListener('change', redraw));
byId('view').addEventListener('change', () => stored((storage) => storage.setItem(VIEW_KEY, byId('view').value)));
const chosenView = stored((storage) => storage.getItem(VIEW_KEY));
if (['cards', 'table'].includes(chosenView)) {
  byId('view').value = chosenView;
}
new ResizeObserver(() => {
  const before = columns;
  columns = cardColumns();
  if (before !== columns) {
    requestAnimationFrame(redraw);
  }
}).observe(byId('backends'));
// The head of the table stays below the page's head, whose height depends on the width.
new ResizeObserver(() => document.documentElement.style.setProperty('--top', `${byId('top').offsetHeight}px`)).observe(byId('top'));
byId('token').addEventListener('cancel', (event) => event.preventDefault());
byId('table').prepend(tableHead());

run();
