// Draws the snapshots of /actuator/weirstream, one each second; see the package io.weir.dashboard.
// No text is parsed as HTML: every text becomes a text node.

const endpoints = document.documentElement.dataset.endpoints;
const HISTORY_SECONDS = 120;
const SILENCE_TIMEOUT_MS = 5_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 4_000;

const byId = (id) => document.getElementById(id);
let token = sessionStorage.getItem('weir-token') ?? '';
let vocabulary = {};
let lastView = null;
const histories = new Map();
const cards = new Map();

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
        handleEvent(pending.slice(0, end));
        pending = pending.slice(end + 2);
      }
    }
  } finally {
    clearTimeout(watchdog);
    abort.abort();
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
  const second = { ended: recent.lastSecond, trouble: recent.lastSecondTrouble, limit: now.calls.limit, active: now.calls.active };
  const figures = histories.get(backend.name)
    ?? Object.fromEntries(Object.keys(second).map((figure) => [figure, Array(HISTORY_SECONDS).fill(0)]));
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

// ---------------------------------------------------------------- helpers

function htmlElement(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children);
  return element;
}

function svgElement(name, attributes = {}) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  return element;
}

/** Changes a text only if it differs, so that the browser lays out only changes. */
function setText(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

const number = (value) => (value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString('en') : value.toFixed(1));
const percent = (share) => (share > 0 && share < 0.01 ? '<1 %' : `${Math.round(100 * share)} %`);

function time(ms) {
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
function ago(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 1) {
    return 'just now';
  }
  const [value, unit] = seconds < 100 ? [seconds, 's'] : seconds < 6_000 ? [Math.round(seconds / 60), 'min']
    : seconds < 172_800 ? [Math.round(seconds / 3_600), 'h'] : [Math.round(seconds / 86_400), 'days'];
  return `${value} ${unit} ago`;
}

// ---------------------------------------------------------------- a backend's card

/** Adds a list of terms; returns the elements of their values. */
function terms(parent, label, names, className = 'rows') {
  const list = htmlElement('dl', { class: className, 'aria-label': label });
  const values = names.map(([term, title]) => {
    const value = htmlElement('dd', {}, '–');
    list.append(htmlElement('div', title ? { title } : {}, htmlElement('dt', {}, term), value));
    return value;
  });
  parent.append(list);
  return values;
}

/** Adds a gauge; returns a function that sets its value, maximum and text. */
function gauge(parent, label) {
  const meter = htmlElement('meter', { min: 0, 'aria-label': label });
  const text = htmlElement('span', {}, '–');
  parent.append(htmlElement('div', { class: 'gauge' }, htmlElement('span', {}, label), meter, text));
  return (value, max, words) => {
    setAttribute(meter, 'max', Math.max(1, max));
    setAttribute(meter, 'high', Math.max(1, max) * 0.8);
    setAttribute(meter, 'optimum', 0);
    setAttribute(meter, 'value', value);
    setText(text, words);
  };
}

/** Creates the card of a backend; returns the elements that later change. */
function createCard(name) {
  const title = htmlElement('h2', { id: `backend-${name}` }, name);
  const badge = htmlElement('span', { class: 'badge' });
  const where = htmlElement('p', { class: 'where' });
  const circle = svgElement('circle', { cx: 38, cy: 38, r: 5 });
  const picture = svgElement('svg', { class: 'circle', viewBox: '0 0 76 76', role: 'img' });
  picture.append(circle);
  const ended = svgElement('path', { class: 'ended' });
  const bad = svgElement('path', { class: 'bad' });
  const spark = svgElement('svg', { class: 'spark', viewBox: `0 0 ${HISTORY_SECONDS - 1} 40`, preserveAspectRatio: 'none', role: 'img' });
  spark.append(ended, bad);
  const active = svgElement('path', { class: 'ended' });
  const line = svgElement('path', { class: 'line' });
  const limitSpark = svgElement('svg', { class: 'spark', viewBox: `0 0 ${HISTORY_SECONDS - 1} 40`, preserveAspectRatio: 'none', role: 'img' });
  limitSpark.append(active, line);
  const limitNumber = htmlElement('b', {}, '–');
  const limitKind = htmlElement('span', {});
  const limitReason = htmlElement('p', { class: 'reason' });
  const rate = htmlElement('b', {}, '–');
  const share = htmlElement('span', { class: 'share' });
  const headline = htmlElement('p', { class: 'headline' }, htmlElement('span', {}, rate, ' req/s'), share);
  const bar = htmlElement('div', { class: 'bar', 'aria-hidden': 'true' });
  const outcomes = htmlElement('ul', { class: 'outcomes', 'aria-label': 'Outcomes in the last ten seconds' });
  const faults = htmlElement('p', { class: 'faults', role: 'status', hidden: '' });
  const changes = htmlElement('p', { class: 'changes', role: 'status', hidden: '' });
  const node = htmlElement('article', { class: 'card', 'aria-labelledby': title.id, 'data-backend': name },
    htmlElement('header', {}, title, badge), where, faults, changes,
    htmlElement('div', { class: 'picture' }, picture, htmlElement('div', {}, headline, spark)), bar, outcomes);
  const percentiles = terms(node, 'Duration of an exchange', [
    ['50 %', 'Median duration'], ['90 %'], ['99 %'], ['99.5 %']]);
  const permits = gauge(node, 'Permits');
  const queue = gauge(node, 'Queue');
  const pool = gauge(node, 'Pool');
  const instancesIn = htmlElement('span', {});
  const cells = htmlElement('ul', { class: 'cells', 'aria-label': `Instances of ${name}` });
  const instances = htmlElement('div', { class: 'instances', hidden: '' }, htmlElement('p', {}, 'Instances', instancesIn), cells);
  node.append(instances);
  const rest = terms(node, 'Waiting and time left', [
    ['Queue wait', 'Mean time that calls waited for their permit'],
    ['Budget left', 'Mean time left of the deadline when calls got their permit'],
    ['Overdue', 'Calls in flight that have waited for stall-duration'],
    ['Streams', 'Open streams and WebSockets, and their limit']]);
  node.append(htmlElement('div', { class: 'picture limit', title: 'Calls that the backend may work on at once (line), and calls in it (area)' },
    htmlElement('p', {}, 'Limit', limitNumber, limitKind), limitSpark), limitReason);
  const law = terms(node, "The limit and Little's law", [
    ['Base latency', 'Time that the backend takes for a call while calls do not queue in it'],
    ['L measured', 'Mean number of calls in the backend: arrival rate × time in the backend'],
    ['Waiting', 'Share of the response time spent in the queue'],
    ['Answers/s', 'Answers per second while the limit was reached'],
    ['At limit', 'Share of the last calls that ended while the limit was reached']], 'rows three');
  const trial = htmlElement('p', { class: 'trial', hidden: '' });
  const open = htmlElement('button', { type: 'button', 'data-action': 'open', 'aria-label': `Force the breaker of ${name} open` }, 'Force open');
  const closed = htmlElement('button', { type: 'button', 'data-action': 'closed', 'aria-label': `Force the breaker of ${name} closed` }, 'Force closed');
  const release = htmlElement('button', { type: 'button', 'data-action': 'released', 'aria-label': `Release the breaker of ${name}` }, 'Release');
  const limit = htmlElement('button', { type: 'button', 'data-action': 'limit', 'aria-label': `Change the limit of ${name}` }, 'Limit…');
  node.append(trial, htmlElement('div', { class: 'actions' }, open, closed, release, limit));
  return { node, badge, where, picture, circle, spark, ended, bad, rate, share, bar, outcomes, percentiles, permits, queue, pool, rest, law,
    instances, instancesIn, cells,
    limitSpark, active, line, limitNumber, limitKind, limitReason, trial, faults, changes, open, closed, release };
}

const COLOURS = { calm: 'var(--answered)', warn: 'var(--shed)', bad: 'var(--failed)' };

/** The colour of a share of trouble: calm at 0, warning at a tenth, bad from a half on. */
function colour(share) {
  const [from, to, part] = share < 0.1 ? [COLOURS.calm, COLOURS.warn, share / 0.1]
    : [COLOURS.warn, COLOURS.bad, Math.min(1, (share - 0.1) / 0.4)];
  return `color-mix(in oklab, ${from}, ${to} ${Math.round(100 * part)}%)`;
}

/** A line with steps, from the first known figure on. */
function steps(figures, most) {
  const first = figures.findIndex((value) => value > 0);
  return first < 0 ? '' : figures.slice(first).map((value, i) => {
    const y = (40 - 38 * value / most).toFixed(1);
    return i === 0 ? `M${first},${y}` : `H${first + i}V${y}`;
  }).join('');
}

const area = (figures, most) => `M0,40${figures.map((value, i) => `L${i},${(40 - 38 * value / most).toFixed(1)}`).join('')}L${figures.length - 1},40Z`;

/** Draws the bar and the list of outcomes, if the counts have changed. */
function drawOutcomes(parts, counts) {
  const key = JSON.stringify(counts);
  if (parts.drawn === key) {
    return;
  }
  parts.drawn = key;
  const entries = Object.entries(counts).sort((one, other) => other[1] - one[1]);
  parts.outcomes.replaceChildren(...entries.map(([word, count]) =>
    htmlElement('li', { class: vocabulary[word] ?? '', title: vocabulary[word] ?? '' }, `${word} `, htmlElement('b', {}, number(count)))));
  if (entries.length === 0) {
    parts.outcomes.replaceChildren(htmlElement('li', { class: 'quiet' }, 'no exchange ended in the last ten seconds'));
  }
  parts.bar.replaceChildren(...entries.map(([word, count]) => {
    const piece = htmlElement('i', { class: vocabulary[word] ?? '' });
    piece.style.flexGrow = count;
    return piece;
  }));
}

/** The text of the badge. */
function breakerText(now) {
  const { state, enforced, nextProbeMs, probes } = now.breaker;
  if (state !== 'open') {
    return state;
  }
  if (!enforced) {
    return 'open · not enforced';
  }
  return probes > 0 ? 'open · probing' : `open · probe in ${time(nextProbeMs)}`;
}

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
function limitReason({ binds, inForce, own, min, max, reason, changedAt }, suggested, at, instances, end) {
  const needed = suggested > 0 ? ` The present calls need ${suggested}.` : '';
  if (binds === 'operator') {
    return inForce < own ? `An operator lowered it to ${inForce}; otherwise it is ${own}.`
      : `Fixed by an operator, until ${end ? new Date(end).toLocaleString() : 'the next reload'}.${needed}`;
  }
  if (binds === 'ramp' && instances) {
    return `Lowered to the share of the instances that take calls; with all of them it is ${own}.`;
  }
  if (binds === 'ramp') {
    return `Lowered while the backend recovers; it grows with each good answer, up to ${own}.`;
  }
  if (binds === 'fixed') {
    return `Fixed by the configuration.${needed}`;
  }
  const edge = min === max || reason === 'initial' || reason === 'probe' ? ''
    : own <= min ? ` ${min} is the smallest that is allowed.` : own >= max ? ` ${max} is the largest that is allowed.` : '';
  return REASONS[reason](ago(at - new Date(changedAt))) + edge;
}

/** Draws the limit, its last two minutes, and its reason. */
function drawLimit(parts, { limit, law, instances, changes }, figures, at) {
  const end = changes.find(({ change }) => change === 'bulkhead.max-concurrent-calls')?.until;
  setText(parts.limitNumber, `${limit.inForce}`);
  setText(parts.limitKind, `(${limit.binds})`);
  setAttribute(parts.limitKind, 'title', limit.changedAt ? `auto, ${limit.min} to ${limit.max}` : 'a number in the configuration');
  setText(parts.limitReason, limitReason(limit, law?.suggestedLimit, at, instances, end));
  if (figures) {
    const most = Math.max(1, ...figures.limit, ...figures.active);
    setAttribute(parts.active, 'd', figures.active.some((count) => count > 0) ? area(figures.active, most) : '');
    setAttribute(parts.line, 'd', steps(figures.limit, most));
    const known = figures.limit.filter((value) => value > 0);
    setAttribute(parts.limitSpark, 'aria-label', `Limit in the last two minutes: ${Math.min(...known)} to ${Math.max(...known)}`);
  }
  const base = law && law.uncongestedMs > 0 ? law.uncongestedMs : null;
  [time(base), law ? number(law.activeCalls) : '–', law ? percent(law.waitingShare) : '–',
    limit.answersPerSecond === null ? '–' : number(limit.answersPerSecond),
    limit.utilisation === null ? '–' : percent(limit.utilisation)].forEach((text, i) => setText(parts.law[i], text));
  // A fixed limit has learnt nothing.
  parts.law.slice(3).forEach((value) => { value.parentNode.hidden = limit.changedAt === null; });
}

function drawBackend(parts, backend, busiest, at, faults) {
  const { recent, now, trouble } = backend;
  const level = trouble.score >= 40 ? 'bad' : trouble.score > 0 ? 'warn' : 'calm';
  setAttribute(parts.node, 'data-level', level);
  setAttribute(parts.node, 'data-trouble', trouble.word);
  setAttribute(parts.badge, 'class', `badge ${now.breaker.state}`);
  setText(parts.badge, breakerText(now));
  setAttribute(parts.badge, 'title', `Since ${new Date(now.breaker.since).toLocaleString()}: ${now.breaker.why}`);
  setText(parts.where, `${now.instances ? `${now.instances.length} instances` : now.uri} · deadline ${time(now.deadlineMs)}${trouble.score > 0 ? ` · ${trouble.word}` : ''}`);

  setAttribute(parts.circle, 'r', (5 + 32 * Math.sqrt(recent.rate / busiest)).toFixed(1));
  parts.circle.style.fill = recent.rate === 0 && level === 'calm' ? 'var(--line)' : colour(recent.troubleShare);
  setAttribute(parts.picture, 'aria-label', `${number(recent.rate)} requests per second, ${percent(recent.troubleShare)} shed or failed`);
  const figures = histories.get(backend.name);
  if (figures) {
    const most = Math.max(1, ...figures.ended);
    setAttribute(parts.ended, 'd', area(figures.ended, most));
    setAttribute(parts.bad, 'd', figures.trouble.some((count) => count > 0) ? area(figures.trouble, most) : '');
    setAttribute(parts.spark, 'aria-label', `Last two minutes, at most ${most} requests per second`);
  }
  setText(parts.rate, number(recent.rate));
  setText(parts.share, `${percent(recent.troubleShare)} trouble`);
  parts.share.classList.toggle('some', recent.troubleShare > 0);
  drawOutcomes(parts, recent.outcomes);
  [recent.times?.p50Ms, recent.times?.p90Ms, recent.times?.p99Ms, recent.times?.p995Ms]
    .forEach((ms, i) => setText(parts.percentiles[i], time(ms)));
  const { calls, streams, pool, law } = now;
  parts.permits(calls.active, calls.limit, `${calls.active} of ${calls.limit}`);
  parts.queue(calls.waiting, calls.queueCapacity, `${calls.waiting} of ${calls.queueCapacity}`);
  parts.pool(pool.acquired, pool.limit, `${pool.acquired} in use, ${pool.idle} idle`);
  setText(parts.rest[0], time(law?.waitingMs));
  setText(parts.rest[1], time(recent.budgetLeftMs));
  setText(parts.rest[2], `${now.breaker.overdue}`);
  parts.rest[2].classList.toggle('warn', now.breaker.overdue > 0);
  setText(parts.rest[3], `${streams.active} of ${streams.limit}`);
  drawLimit(parts, now, figures, at);
  drawInstances(parts, now.instances);
  drawTrial(parts.trial, now.dryRun);
  drawFaults(parts.faults, faults.filter((fault) => fault.backend === backend.name));
  drawChanges(parts.changes, now.changes);
  drawActions(parts, now.breaker);
}

/** More instances than these are drawn as small cells instead of lines. */
const MAX_INSTANCE_LINES = 8;

const authority = (uri) => uri.replace(/^[a-z]+:\/\//, '');

/** Draws a cell for each instance of a backend that has several. */
function drawInstances(parts, instances) {
  parts.instances.hidden = !instances;
  const list = parts.cells;
  const known = new Map([...list.querySelectorAll('.cell')].map((cell) => [cell.dataset.instance, cell]));
  const isDense = (instances?.length ?? 0) > MAX_INSTANCE_LINES;
  parts.instances.classList.toggle('dense', isDense);
  (instances ?? []).forEach((instance, i) => {
    let cell = known.get(instance.uri);
    known.delete(instance.uri);
    if (!cell) {
      cell = htmlElement('button', { type: 'button', 'data-action': 'instance', 'data-instance': instance.uri },
        htmlElement('span', { class: 'address' }, authority(instance.uri)), htmlElement('b'), htmlElement('span', { class: 'load' }));
      htmlElement('li', {}, cell);
    }
    if (list.children[i] !== cell.parentNode) {
      list.insertBefore(cell.parentNode, list.children[i] ?? null);
    }
    drawInstance(cell, instance, isDense);
  });
  known.forEach((cell) => cell.parentNode.remove());
  // Tab stops once at the cells; the arrow keys move between them.
  if (!list.querySelector('.cell[tabindex="0"]')) {
    list.querySelector('.cell')?.setAttribute('tabindex', 0);
  }
  if (instances) {
    const states = Map.groupBy(instances, ({ breaker }) => breaker.state);
    const takers = ['closed', 'half-open', 'forced-closed'].reduce((sum, state) => sum + (states.get(state)?.length ?? 0), 0);
    const others = [...states].filter(([state]) => state !== 'closed').map(([state, each]) => ` · ${each.length} ${state}`).join('');
    setText(parts.instancesIn, `${takers} of ${instances.length} take calls${others}`);
  }
}

function drawInstance(cell, { uri, weight, active, latencyMs, answered, failed, ejections, breaker }, isDense) {
  const [, word, load] = cell.children;
  setAttribute(cell, 'class', `cell ${breaker.state}`);
  if (!cell.hasAttribute('tabindex')) {
    cell.setAttribute('tabindex', -1);
  }
  setText(word, isDense && breaker.state === 'closed' ? `${active}` : breaker.state);
  setText(load, `${active} in flight · ${time(latencyMs)}`);
  setAttribute(cell, 'aria-label', `${authority(uri)}: ${breaker.state}, ${active} in flight, latency ${time(latencyMs)}`);
  setAttribute(cell, 'title', `${uri}\n${breaker.state} since ${new Date(breaker.since).toLocaleString()}: ${breaker.why}\n`
    + `${active} in flight, usual latency ${time(latencyMs)}, weight ${weight}\n`
    + `${number(answered)} answered, ${number(failed)} failed, ejected ${number(ejections)} times`);
}

/** Shows the possible actions. If the focused button disappears, its counterpart gets the focus. */
function drawActions({ open, closed, release }, { state, forced }) {
  const pressed = [open, closed, release].find((button) => button === document.activeElement);
  release.hidden = !forced;
  open.hidden = state === 'forced-open';
  closed.hidden = state === 'forced-closed';
  if (pressed?.hidden) {
    (forced ? release : open).focus();
  }
}

function drawTrial(node, trial) {
  node.hidden = !trial;
  if (trial) {
    const protections = [['bulkhead', trial.bulkhead], ['breaker', trial.circuitBreaker], ['deadline', trial.deadline]]
      .filter(([, tried]) => tried).map(([word]) => word).join(', ');
    const refusals = Object.entries(trial.wouldRefuse).map(([word, count]) => `${word} ${number(count)}`).join(', ');
    setText(node, `Dry run: ${protections}. Would have refused: ${refusals || 'none'}.`);
  }
}

/** Marks a backend whose calls get injected faults. */
function drawFaults(node, faults) {
  node.hidden = faults.length === 0;
  setText(node, faults.map(({ text, endsAt, calls }) =>
    `Injected fault: ${text}, until ${new Date(endsAt).toLocaleTimeString()} (${number(calls)} calls so far).`).join(' '));
}

const CHANGES = {
  breaker: ({ value }) => `breaker forced ${value}`,
  instance: ({ instance }) => `${authority(instance)} drained`,
};

/** Names the changes by operators that are in force, and their ends. */
function drawChanges(node, changes) {
  node.hidden = changes.length === 0;
  setText(node, changes.map((each) => {
    const what = CHANGES[each.change]?.(each) ?? `${each.change} ${each.value}`;
    return `Changed by ${each.by}: ${what}${each.until ? `, until ${new Date(each.until).toLocaleString()}` : ''}.`;
  }).join(' '));
}

// ---------------------------------------------------------------- the page

const orders = {
  trouble: (one, other) => other.trouble.score - one.trouble.score || one.name.localeCompare(other.name),
  traffic: (one, other) => other.recent.rate - one.recent.rate || one.name.localeCompare(other.name),
  name: (one, other) => one.name.localeCompare(other.name),
};

/** Draws a snapshot. */
function draw(view) {
  lastView = view;
  drawGateway(view);
  drawRefused(view.refused);
  const list = byId('backends');
  const busiest = Math.max(1, ...view.backends.map((backend) => backend.recent.rate));
  const names = new Set(view.backends.map((backend) => backend.name));
  cards.forEach((parts, name) => {
    if (!names.has(name)) {
      parts.node.remove();
      cards.delete(name);
      histories.delete(name);
    }
  });
  const wanted = byId('find').value.trim().toLowerCase();
  view.backends.forEach((backend) => {
    let parts = cards.get(backend.name);
    if (!parts) {
      parts = createCard(backend.name);
      cards.set(backend.name, parts);
      list.append(parts.node);
    }
    drawBackend(parts, backend, busiest, view.at, view.faults);
    parts.node.hidden = !backend.name.includes(wanted);
  });
  arrange(list, [...view.backends].sort(orders[byId('order').value]).map((backend) => cards.get(backend.name).node));
  drawRecentEvents(view.happenings);
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
  figure('in-flight', `${gateway.inFlight} of ${gateway.maxInFlight}`, gateway.inFlight >= gateway.maxInFlight);
  figure('rate', `${number(backends.reduce((sum, backend) => sum + backend.recent.rate, 0))}/s`, false);
  figure('loop-delay', time(gateway.eventLoopDelayMs), gateway.overloaded);
  figure('memory', `${gateway.memoryPercent} %`, gateway.overloaded);
  figure('replicas', `${replicas}`, false);
  figure('phase', gateway.phase, gateway.phase !== 'serving');
  const { hash, operatorValues } = configuration;
  figure('configuration', operatorValues === 0 ? hash : `${hash}, ${operatorValues} changed`, false);
  const troubled = backends.filter((backend) => backend.trouble.score >= 40).length;
  document.title = troubled > 0 ? `(${troubled}) Weir` : 'Weir';
}

const KINDS = { 'breaker-opened': 'failed', 'breaker-half-opened': 'shed', 'breaker-closed': 'answered', 'breaker-forced': 'shed',
  'breaker-released': 'answered', 'instance-ejected': 'failed', 'instance-returned': 'answered', 'instance-drained': 'shed',
  'fault-started': 'failed', 'fault-ended': 'answered', 'limit-changed': 'caller', 'configuration-reloaded': 'caller', 'configuration-refused': 'failed' };
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
  duration.options[0].textContent = limits.hidden ? 'when it is released' : 'with the next reload';
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
  const message = byId('message');
  message.hidden = true;
  try {
    const response = await fetch(`${endpoints}/weir/${encodeURIComponent(name)}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', ...authorization() }, body: JSON.stringify(body) });
    if (!response.ok) {
      const problem = await response.json().catch(() => ({}));
      throw new Error(problem.detail ?? `status ${response.status}`);
    }
  } catch (error) {
    message.textContent = `${name} was not changed: ${error.message}`;
    message.hidden = false;
  }
}

byId('backends').addEventListener('click', (event) => {
  const button = event.target.closest('button[data-action]');
  if (button) {
    const { action, instance } = button.dataset;
    const done = button.classList.contains('drained') ? 'return' : 'drain';
    confirmChange(button.closest('.card').dataset.backend, action === 'instance' ? done : action, instance ?? null);
  }
});
byId('backends').addEventListener('keydown', (event) => {
  const cell = event.target.closest('.cell');
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (cell && step) {
    const cells = [...cell.closest('.cells').querySelectorAll('.cell')];
    const next = cells[(cells.indexOf(cell) + step + cells.length) % cells.length];
    cells.forEach((each) => each.setAttribute('tabindex', each === next ? 0 : -1));
    next.focus();
    event.preventDefault();
  }
});
['order', 'find'].forEach((id) => byId(id).addEventListener('input', () => {
  if (lastView) {
    draw(lastView);
  }
}));
byId('token').addEventListener('cancel', (event) => event.preventDefault());

run();
