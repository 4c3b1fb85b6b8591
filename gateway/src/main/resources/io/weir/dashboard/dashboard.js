// Draws what /actuator/weirstream tells, once a second; see the package io.weir.dashboard.
// Nothing is ever parsed as HTML: every text is a text node.

const endpoints = document.documentElement.dataset.endpoints;
const SECONDS = 120;
const SILENCE_MS = 5_000;
const RETRY_LEAST_MS = 500;
const RETRY_MOST_MS = 4_000;

const byId = (id) => document.getElementById(id);
let token = sessionStorage.getItem('weir-token') ?? '';
let vocabulary = {};
let shown = null;
const past = new Map();
const cards = new Map();

// ---------------------------------------------------------------- the stream

class Unauthorized extends Error {}

const authorization = () => (token ? { Authorization: `Bearer ${token}` } : {});

/** Reads events until the stream ends. */
async function read() {
  const abort = new AbortController();
  let watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
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
      watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
      pending += value;
      for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n')) {
        take(pending.slice(0, end));
        pending = pending.slice(end + 2);
      }
    }
  } finally {
    clearTimeout(watchdog);
    abort.abort();
  }
}

function take(event) {
  const data = event.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
  if (!data) {
    return;
  }
  const view = JSON.parse(data);
  if (view.vocabulary) {
    vocabulary = view.vocabulary;
    past.clear();
    Object.entries(view.history).forEach(([name, figures]) => past.set(name, figures));
  } else {
    view.backends.forEach(remember);
  }
  connected();
  draw(view);
}

function remember(backend) {
  const figures = past.get(backend.name) ?? { ended: Array(SECONDS).fill(0), trouble: Array(SECONDS).fill(0) };
  figures.ended.push(backend.recent.lastSecond);
  figures.trouble.push(backend.recent.lastSecondTrouble);
  figures.ended.splice(0, figures.ended.length - SECONDS);
  figures.trouble.splice(0, figures.trouble.length - SECONDS);
  past.set(backend.name, figures);
}

async function stream() {
  let wait = RETRY_LEAST_MS;
  for (;;) {
    const before = shown;
    try {
      await read();
    } catch (error) {
      if (error instanceof Unauthorized) {
        lost('Token needed');
        await askForToken();
        continue;
      }
    }
    lost('Connection lost, trying again…');
    wait = before === shown ? Math.min(RETRY_MOST_MS, wait * 2) : RETRY_LEAST_MS;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

function connected() {
  const state = byId('connection');
  if (state.dataset.state !== 'live') {
    state.dataset.state = 'live';
    state.textContent = 'Live';
    document.body.classList.remove('stale');
  }
}

function lost(text) {
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

// ---------------------------------------------------------------- small things

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children);
  return element;
}

function draw2d(name, attributes = {}) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  return element;
}

/** Writes only what differs: what stands still is not laid out again. */
function write(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

function attribute(node, name, value) {
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

// ---------------------------------------------------------------- a backend's card

/** A list of terms; gives back where their values are written. */
function terms(parent, label, names) {
  const list = make('dl', { class: 'rows', 'aria-label': label });
  const values = names.map(([term, title]) => {
    const value = make('dd', {}, '–');
    list.append(make('div', title ? { title } : {}, make('dt', {}, term), value));
    return value;
  });
  parent.append(list);
  return values;
}

function gauge(parent, label) {
  const meter = make('meter', { min: 0, 'aria-label': label });
  const text = make('span', {}, '–');
  parent.append(make('div', { class: 'gauge' }, make('span', {}, label), meter, text));
  return (value, most, words) => {
    attribute(meter, 'max', Math.max(1, most));
    attribute(meter, 'high', Math.max(1, most) * 0.8);
    attribute(meter, 'optimum', 0);
    attribute(meter, 'value', value);
    write(text, words);
  };
}

function card(name) {
  const title = make('h2', { id: `backend-${name}` }, name);
  const badge = make('span', { class: 'badge' });
  const where = make('p', { class: 'where' });
  const circle = draw2d('circle', { cx: 38, cy: 38, r: 5 });
  const picture = draw2d('svg', { class: 'circle', viewBox: '0 0 76 76', role: 'img' });
  picture.append(circle);
  const ended = draw2d('path', { class: 'ended' });
  const bad = draw2d('path', { class: 'bad' });
  const spark = draw2d('svg', { class: 'spark', viewBox: `0 0 ${SECONDS - 1} 40`, preserveAspectRatio: 'none', role: 'img' });
  spark.append(ended, bad);
  const rate = make('b', {}, '–');
  const share = make('span', { class: 'share' });
  const headline = make('p', { class: 'headline' }, make('span', {}, rate, ' req/s'), share);
  const bar = make('div', { class: 'bar', 'aria-hidden': 'true' });
  const outcomes = make('ul', { class: 'outcomes', 'aria-label': 'Outcomes of the last ten seconds' });
  const node = make('article', { class: 'card', 'aria-labelledby': title.id, 'data-backend': name },
    make('header', {}, title, badge), where,
    make('div', { class: 'picture' }, picture, make('div', {}, headline, spark)), bar, outcomes);
  const percentiles = terms(node, 'Time of an exchange', [
    ['50 %', 'Half of the exchanges took no longer'], ['90 %'], ['99 %'], ['99.5 %']]);
  const permits = gauge(node, 'Permits');
  const queue = gauge(node, 'Queue');
  const pool = gauge(node, 'Pool');
  const rest = terms(node, 'Waiting and budget', [
    ['Queue wait', 'Mean time that calls waited for a permit'],
    ['Budget left', 'Mean budget that calls had left when they got their permit'],
    ['Overdue', 'Calls under way that are slow already'],
    ['Streams', 'Streams and WebSockets, of their limit']]);
  const law = terms(node, "Little's law", [
    ['L measured', 'Arrival rate times time in the backend: calls there at once'],
    ['Limit', 'Concurrent calls'], ['Suggested', 'What the limit would have to be'],
    ['Waiting', 'Share of the response time that is spent waiting']]);
  const trial = make('p', { class: 'trial', hidden: '' });
  const open = make('button', { type: 'button', 'data-action': 'open', 'aria-label': `Force the breaker of ${name} open` }, 'Force open');
  const closed = make('button', { type: 'button', 'data-action': 'closed', 'aria-label': `Force the breaker of ${name} closed` }, 'Force closed');
  const release = make('button', { type: 'button', 'data-action': 'released', 'aria-label': `Release the breaker of ${name}` }, 'Release');
  const limit = make('button', { type: 'button', 'data-action': 'limit', 'aria-label': `Change the limit of ${name}` }, 'Limit…');
  node.append(trial, make('div', { class: 'actions' }, open, closed, release, limit));
  return { node, badge, where, picture, circle, spark, ended, bad, rate, share, bar, outcomes, percentiles, permits, queue, pool, rest, law,
    trial, open, closed, release };
}

const COLOURS = { calm: 'var(--answered)', warn: 'var(--shed)', bad: 'var(--failed)' };

/** From calm over a warning at a tenth to bad at a half. */
function colour(share) {
  const [from, to, part] = share < 0.1 ? [COLOURS.calm, COLOURS.warn, share / 0.1]
    : [COLOURS.warn, COLOURS.bad, Math.min(1, (share - 0.1) / 0.4)];
  return `color-mix(in oklab, ${from}, ${to} ${Math.round(100 * part)}%)`;
}

const area = (figures, most) => `M0,40${figures.map((value, i) => `L${i},${(40 - 38 * value / most).toFixed(1)}`).join('')}L${figures.length - 1},40Z`;

function drawOutcomes(parts, counts) {
  const key = JSON.stringify(counts);
  if (parts.drawn === key) {
    return;
  }
  parts.drawn = key;
  const entries = Object.entries(counts).sort((one, other) => other[1] - one[1]);
  parts.outcomes.replaceChildren(...entries.map(([word, count]) =>
    make('li', { class: vocabulary[word] ?? '', title: vocabulary[word] ?? '' }, `${word} `, make('b', {}, number(count)))));
  if (entries.length === 0) {
    parts.outcomes.replaceChildren(make('li', { class: 'quiet' }, 'nothing ended in the last ten seconds'));
  }
  parts.bar.replaceChildren(...entries.map(([word, count]) => {
    const piece = make('i', { class: vocabulary[word] ?? '' });
    piece.style.flexGrow = count;
    return piece;
  }));
}

function breaker(now) {
  const { state, nextProbeMs, probes } = now.breaker;
  if (state !== 'open') {
    return state;
  }
  return probes > 0 ? 'open · probing' : `open · probe in ${time(nextProbeMs)}`;
}

function drawBackend(parts, backend, busiest) {
  const { recent, now, trouble } = backend;
  const level = trouble.score >= 40 ? 'bad' : trouble.score > 0 ? 'warn' : 'calm';
  attribute(parts.node, 'data-level', level);
  attribute(parts.node, 'data-trouble', trouble.word);
  attribute(parts.badge, 'class', `badge ${now.breaker.state}`);
  write(parts.badge, breaker(now));
  write(parts.where, `${now.uri} · deadline ${time(now.deadlineMs)}${trouble.score > 0 ? ` · ${trouble.word}` : ''}`);

  attribute(parts.circle, 'r', (5 + 32 * Math.sqrt(recent.rate / busiest)).toFixed(1));
  parts.circle.style.fill = recent.rate === 0 && level === 'calm' ? 'var(--line)' : colour(recent.troubleShare);
  attribute(parts.picture, 'aria-label', `${number(recent.rate)} requests a second, ${percent(recent.troubleShare)} shed or failed`);
  const figures = past.get(backend.name);
  if (figures) {
    const most = Math.max(1, ...figures.ended);
    attribute(parts.ended, 'd', area(figures.ended, most));
    attribute(parts.bad, 'd', figures.trouble.some((count) => count > 0) ? area(figures.trouble, most) : '');
    attribute(parts.spark, 'aria-label', `Two minutes, at most ${most} requests in a second`);
  }
  write(parts.rate, number(recent.rate));
  write(parts.share, `${percent(recent.troubleShare)} trouble`);
  parts.share.classList.toggle('some', recent.troubleShare > 0);
  drawOutcomes(parts, recent.outcomes);
  [recent.times?.p50Ms, recent.times?.p90Ms, recent.times?.p99Ms, recent.times?.p995Ms]
    .forEach((ms, i) => write(parts.percentiles[i], time(ms)));
  const { calls, streams, pool, law } = now;
  parts.permits(calls.active, calls.limit, `${calls.active} of ${calls.limit}`);
  parts.queue(calls.waiting, calls.queueCapacity, `${calls.waiting} of ${calls.queueCapacity}`);
  parts.pool(pool.acquired, pool.limit, `${pool.acquired} in use, ${pool.idle} idle`);
  write(parts.rest[0], time(law?.waitingMs));
  write(parts.rest[1], time(recent.budgetLeftMs));
  write(parts.rest[2], `${now.breaker.overdue}`);
  parts.rest[2].classList.toggle('warn', now.breaker.overdue > 0);
  write(parts.rest[3], `${streams.active} of ${streams.limit}`);
  write(parts.law[0], law ? number(law.activeCalls) : '–');
  write(parts.law[1], `${calls.limit}`);
  write(parts.law[2], law && law.suggestedLimit > 0 ? `${law.suggestedLimit}` : '–');
  write(parts.law[3], law ? percent(law.waitingShare) : '–');
  drawTrial(parts.trial, now.dryRun);
  drawActions(parts, now.breaker);
}

/** Who has just pressed one that is not to be had any more goes on at the next that is, not at the top of the page. */
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
    const what = [['bulkhead', trial.bulkhead], ['breaker', trial.circuitBreaker], ['deadline', trial.deadline]]
      .filter(([, tried]) => tried).map(([word]) => word).join(', ');
    const would = Object.entries(trial.wouldRefuse).map(([word, count]) => `${word} ${number(count)}`).join(', ');
    write(node, `Dry run: ${what}. Would have refused: ${would || 'none'}.`);
  }
}

// ---------------------------------------------------------------- the page

const orders = {
  trouble: (one, other) => other.trouble.score - one.trouble.score || one.name.localeCompare(other.name),
  traffic: (one, other) => other.recent.rate - one.recent.rate || one.name.localeCompare(other.name),
  name: (one, other) => one.name.localeCompare(other.name),
};

function draw(view) {
  shown = view;
  drawGateway(view);
  drawRefused(view.refused);
  const list = byId('backends');
  const busiest = Math.max(1, ...view.backends.map((backend) => backend.recent.rate));
  const names = new Set(view.backends.map((backend) => backend.name));
  cards.forEach((parts, name) => {
    if (!names.has(name)) {
      parts.node.remove();
      cards.delete(name);
      past.delete(name);
    }
  });
  const wanted = byId('find').value.trim().toLowerCase();
  view.backends.forEach((backend) => {
    let parts = cards.get(backend.name);
    if (!parts) {
      parts = card(backend.name);
      cards.set(backend.name, parts);
      list.append(parts.node);
    }
    drawBackend(parts, backend, busiest);
    parts.node.hidden = !backend.name.includes(wanted);
  });
  arrange(list, [...view.backends].sort(orders[byId('order').value]).map((backend) => cards.get(backend.name).node));
  drawHappenings(view.happenings);
}

/** Moves what is not in its place, and takes the focus from nobody. */
function arrange(list, nodes) {
  if (!list.moveBefore && list.contains(document.activeElement) && document.activeElement !== list) {
    return;
  }
  nodes.forEach((node, i) => {
    const there = list.children[i];
    if (there !== node) {
      if (list.moveBefore) {
        list.moveBefore(node, there);
      } else {
        list.insertBefore(node, there);
      }
    }
  });
}

function drawGateway({ gateway, backends, replicas }) {
  const figure = (id, text, bad) => {
    write(byId(id), text);
    byId(id).classList.toggle('bad', bad);
  };
  figure('in-flight', `${gateway.inFlight} of ${gateway.maxInFlight}`, gateway.inFlight >= gateway.maxInFlight);
  figure('rate', `${number(backends.reduce((sum, backend) => sum + backend.recent.rate, 0))}/s`, false);
  figure('loop-delay', time(gateway.eventLoopDelayMs), gateway.overloaded);
  figure('memory', `${gateway.memoryPercent} %`, gateway.overloaded);
  figure('replicas', `${replicas}`, false);
  figure('phase', gateway.phase, gateway.phase !== 'serving');
  const troubled = backends.filter((backend) => backend.trouble.score >= 40).length;
  document.title = troubled > 0 ? `(${troubled}) Weir` : 'Weir';
}

const KINDS = { 'breaker-opened': 'failed', 'breaker-half-opened': 'shed', 'breaker-closed': 'answered', 'breaker-forced': 'shed',
  'breaker-released': 'answered', 'limit-changed': 'caller', 'configuration-reloaded': 'caller', 'configuration-refused': 'failed' };
let newest = '';

function drawHappenings(happenings) {
  const list = byId('happenings');
  byId('nothing').hidden = happenings.length > 0;
  const latest = happenings.length > 0 ? `${happenings[0].at}/${happenings[0].number}` : '';
  if (latest === newest) {
    return;
  }
  newest = latest;
  const there = new Set([...list.children].map((node) => node.dataset.key));
  const fresh = happenings.filter((each) => !there.has(`${each.at}/${each.number}`)).map((each) => make('li', {
    class: KINDS[each.kind] ?? '', 'data-key': `${each.at}/${each.number}`, 'data-kind': each.kind },
  make('time', { datetime: new Date(each.at).toISOString() }, new Date(each.at).toLocaleTimeString()), ' ',
  make('b', {}, each.backend ?? 'gateway'), make('br'), each.text, each.by ? make('small', {}, ` by ${each.by}`) : ''));
  list.prepend(...fresh);
  const keys = new Set(happenings.map((each) => `${each.at}/${each.number}`));
  [...list.children].filter((node) => !keys.has(node.dataset.key)).forEach((node) => node.remove());
}

let refusal = null;

/** Written once, and shown when it is whole: what is written anew is read out anew. */
function drawRefused(refused) {
  const key = refused && `${refused.at}/${refused.problems.join('\n')}`;
  if (key === refusal) {
    return;
  }
  refusal = key;
  if (refused) {
    byId('refused-by').textContent = `${new Date(refused.at).toLocaleString()}, by ${refused.by}`;
    byId('refused-problems').replaceChildren(...refused.problems.map((problem) => make('li', {}, problem)));
  }
  byId('refused').hidden = !refused;
}

// ---------------------------------------------------------------- what operators do

const QUESTIONS = {
  open: (name) => [`Force the breaker of ${name} open?`, 'Every call to it is refused, until the breaker is released.', 'Force open'],
  closed: (name) => [`Force the breaker of ${name} closed?`, 'Every call to it is let through and the breaker cannot open, until it is released.', 'Force closed'],
  released: (name) => [`Release the breaker of ${name}?`, 'It is closed, has forgotten what it counted, and decides by itself again.', 'Release'],
  limit: (name) => [`Change the limit of ${name}?`, 'It holds from the next request on, until the configuration is reloaded. Calls under way keep their permits.', 'Change'],
};

function ask(name, action) {
  const dialog = byId('ask');
  const [title, text, yes] = QUESTIONS[action](name);
  byId('ask-title').textContent = title;
  byId('ask-text').textContent = text;
  byId('ask-yes').textContent = yes;
  const limits = byId('ask-limits');
  limits.hidden = action !== 'limit';
  const { calls } = shown.backends.find((backend) => backend.name === name).now;
  byId('ask-calls').value = calls.limit;
  byId('ask-queue').value = calls.queueCapacity;
  [byId('ask-calls'), byId('ask-queue')].forEach((input) => { input.disabled = limits.hidden; });
  dialog.returnValue = 'cancel';
  dialog.addEventListener('close', () => {
    if (dialog.returnValue !== 'yes') {
      return;
    }
    change(name, action === 'limit'
      ? { 'max-concurrent-calls': byId('ask-calls').valueAsNumber, 'queue-capacity': byId('ask-queue').valueAsNumber }
      : { breaker: action });
  }, { once: true });
  dialog.showModal();
  (limits.hidden ? byId('ask-no') : byId('ask-calls')).focus();
}

async function change(name, body) {
  const message = byId('message');
  message.hidden = true;
  try {
    const response = await fetch(`${endpoints}/weir/${encodeURIComponent(name)}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', ...authorization() }, body: JSON.stringify(body) });
    if (!response.ok) {
      const problem = await response.json().catch(() => ({}));
      throw new Error(problem.detail ?? `the gateway answered ${response.status}`);
    }
  } catch (error) {
    message.textContent = `${name} was not changed: ${error.message}`;
    message.hidden = false;
  }
}

byId('backends').addEventListener('click', (event) => {
  const button = event.target.closest('button[data-action]');
  if (button) {
    ask(button.closest('.card').dataset.backend, button.dataset.action);
  }
});
['order', 'find'].forEach((id) => byId(id).addEventListener('input', () => {
  if (shown) {
    draw(shown);
  }
}));
byId('token').addEventListener('cancel', (event) => event.preventDefault());

stream();
