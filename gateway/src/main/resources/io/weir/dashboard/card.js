// A backend's card: all its figures, its graphs, and the actions of an operator.

import { htmlElement, inReserve, isInView, levelOf, number, percent, setAttribute, setText, svgElement, takingCalls, time } from './elements.js';
import { area, createLimitPlot, drawLimitChanges, drawLimitPlot, HISTORY_SECONDS, limitReason } from './limit.js';

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
export function createCard(name) {
  const title = htmlElement('h2', { id: `backend-${name}`, title: name }, name);
  const badge = htmlElement('span', { class: 'badge' });
  const where = htmlElement('p', { class: 'where' });
  const circle = svgElement('circle', { cx: 38, cy: 38, r: 5 });
  const picture = svgElement('svg', { class: 'circle', viewBox: '0 0 76 76', role: 'img' });
  picture.append(circle);
  const ended = svgElement('path', { class: 'ended' });
  const bad = svgElement('path', { class: 'bad' });
  const spark = svgElement('svg', { class: 'spark', viewBox: `0 0 ${HISTORY_SECONDS - 1} 40`, preserveAspectRatio: 'none', role: 'img',
    'aria-label': 'Requests of the last two minutes' }, ended, bad);
  const plot = createLimitPlot();
  const limitNumber = htmlElement('b', {}, '–');
  const limitKind = htmlElement('span', {});
  const reason = htmlElement('p', { class: 'reason' });
  const rate = htmlElement('b', {}, '–');
  const share = htmlElement('span', { class: 'share' });
  const headline = htmlElement('p', { class: 'headline' }, htmlElement('span', {}, rate, ' req/s'), share);
  const bar = htmlElement('div', { class: 'bar', 'aria-hidden': 'true' });
  const outcomes = htmlElement('ul', { class: 'outcomes', 'aria-label': 'Outcomes in the last ten seconds' });
  const faults = htmlElement('p', { class: 'faults', role: 'status', hidden: '' });
  const openRoutes = htmlElement('p', { class: 'open-routes', role: 'status', hidden: '' });
  const changes = htmlElement('p', { class: 'changes', role: 'status', hidden: '' });
  const node = htmlElement('article', { class: 'card', 'aria-labelledby': title.id, 'data-backend': name },
    htmlElement('header', {}, title, badge), where, faults, openRoutes, changes,
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
    ['Streams', 'Open streams and WebSockets, and their limit'],
    ['Attempts', 'Attempts for each call of the last ten seconds']]);
  node.append(htmlElement('div', { class: 'picture limit' },
    htmlElement('p', { title: 'Calls that the backend may work on at once (line), and calls in it (area)' }, 'Limit', limitNumber, limitKind),
    plot.node), reason, plot.list);
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
    plot, limitNumber, limitKind, limitReason: reason, trial, faults, openRoutes, changes, open, closed, release };
}

/** The alert WeirAmplification fires above it. */
const MOST_ATTEMPTS = 1.2;

const COLOURS = { calm: 'var(--answered)', warn: 'var(--shed)', bad: 'var(--failed)' };

/** The colour of a share of trouble: calm at 0, warning at a tenth, bad from a half on. */
function colour(share) {
  const [from, to, part] = share < 0.1 ? [COLOURS.calm, COLOURS.warn, share / 0.1]
    : [COLOURS.warn, COLOURS.bad, Math.min(1, (share - 0.1) / 0.4)];
  return `color-mix(in oklab, ${from}, ${to} ${Math.round(100 * part)}%)`;
}

/** Draws the bar and the list of outcomes, if the counts have changed. */
function drawOutcomes(parts, counts, vocabulary) {
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
export function breakerText(now) {
  const { state, enforced, nextProbeMs, probes } = now.breaker;
  if (state !== 'open') {
    return state;
  }
  if (!enforced) {
    return 'open · not enforced';
  }
  return probes > 0 ? 'open · probing' : `open · probe in ${time(nextProbeMs)}`;
}

/** Draws the limit, its reason and its changes. */
function drawLimit(parts, { limit, law, instances, changes }, figures, at) {
  const end = changes.find(({ change }) => change === 'bulkhead.max-concurrent-calls')?.until;
  setText(parts.limitNumber, `${limit.inForce}`);
  setText(parts.limitKind, `(${limit.binds})`);
  setAttribute(parts.limitKind, 'title', limit.changedAt ? `auto, ${limit.min} to ${limit.max}` : 'a number in the configuration');
  setText(parts.limitReason, limitReason(limit, law?.suggestedLimit, at, instances, end));
  if (figures) {
    drawLimitChanges(parts.plot, figures);
  }
  const base = law && law.uncongestedMs > 0 ? law.uncongestedMs : null;
  [time(base), law ? number(law.activeCalls) : '–', law ? percent(law.waitingShare) : '–',
    limit.answersPerSecond === null ? '–' : number(limit.answersPerSecond),
    limit.utilisation === null ? '–' : percent(limit.utilisation)].forEach((text, i) => setText(parts.law[i], text));
  // A fixed limit has learnt nothing.
  parts.law.slice(3).forEach((value) => { value.parentNode.hidden = limit.changedAt === null; });
}

/**
 * Draws the texts of a card, and its graphs if it is in view.
 *
 * page: the figures of all backends: `busiest` rate, time `at`, `faults`, `histories`, `vocabulary`
 */
export function drawCard(parts, backend, page) {
  const { recent, now, trouble } = backend;
  const level = levelOf(trouble);
  setAttribute(parts.node, 'data-level', level);
  setAttribute(parts.node, 'data-trouble', trouble.word);
  setAttribute(parts.badge, 'class', `badge ${now.breaker.state}`);
  setText(parts.badge, breakerText(now));
  setAttribute(parts.badge, 'title', `Since ${new Date(now.breaker.since).toLocaleString()}: ${now.breaker.why}`);
  setText(parts.where, `${now.instances ? `${now.instances.length} instances` : now.uri} · deadline ${time(now.deadlineMs)}${trouble.score > 0 ? ` · ${trouble.word}` : ''}`);

  setAttribute(parts.circle, 'r', (5 + 32 * Math.sqrt(recent.rate / page.busiest)).toFixed(1));
  parts.circle.style.fill = recent.rate === 0 && level === 'calm' ? 'var(--line)' : colour(recent.troubleShare);
  setAttribute(parts.picture, 'aria-label', `${number(recent.rate)} requests per second, ${percent(recent.troubleShare)} shed or failed`);
  const figures = page.histories.get(backend.name);
  if (isInView(parts.node)) {
    drawCardGraphs(parts, figures);
  }
  setText(parts.rate, number(recent.rate));
  setText(parts.share, `${percent(recent.troubleShare)} trouble`);
  parts.share.classList.toggle('some', recent.troubleShare > 0);
  drawOutcomes(parts, recent.outcomes, page.vocabulary);
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
  drawAmplification(parts.rest[4], recent.amplification ?? 1);
  drawLimit(parts, now, figures, page.at);
  drawInstances(parts, now.instances);
  drawTrial(parts.trial, now.dryRun);
  drawFaults(parts.faults, page.faults.filter((fault) => fault.backend === backend.name));
  drawOpenRoutes(parts.openRoutes, now.openRoutes ?? []);
  drawChanges(parts.changes, now.changes);
  drawActions(parts, now.breaker);
}

/** Shows how many attempts a call makes, unless it is one. */
function drawAmplification(value, attempts) {
  const shown = attempts.toFixed(2);
  value.parentNode.hidden = shown === '1.00';
  setText(value, `${shown} a call`);
  value.classList.toggle('warn', attempts > MOST_ATTEMPTS);
}

/** Draws the graphs of a card. */
export function drawCardGraphs(parts, figures) {
  if (!figures) {
    return;
  }
  const most = Math.max(1, ...figures.ended);
  setAttribute(parts.ended, 'd', area(figures.ended, most));
  setAttribute(parts.bad, 'd', figures.trouble.some((count) => count > 0) ? area(figures.trouble, most) : '');
  setAttribute(parts.spark, 'aria-label', `Last two minutes, at most ${most} requests per second`);
  drawLimitPlot(parts.plot, figures);
}

/** More instances than these are drawn as small cells instead of lines. */
const MAX_INSTANCE_LINES = 8;

export const authority = (uri) => uri.replace(/^[a-z]+:\/\//, '');

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
    const others = [...states].filter(([state]) => state !== 'closed').map(([state, each]) => ` · ${each.length} ${state}`).join('');
    const reserve = inReserve(instances) > 0 ? ` · ${inReserve(instances)} in reserve` : '';
    setText(parts.instancesIn, `${takingCalls(instances)} of ${instances.length} take calls${reserve}${others}`);
  }
}

function drawInstance(cell, { uri, weight, backup, active, latencyMs, answered, failed, ejections, breaker }, isDense) {
  const [, word, load] = cell.children;
  setAttribute(cell, 'class', `cell ${breaker.state}`);
  if (!cell.hasAttribute('tabindex')) {
    cell.setAttribute('tabindex', -1);
  }
  setText(word, isDense && breaker.state === 'closed' ? `${active}` : breaker.state);
  const role = backup ? 'backup' : '';
  const alone = breaker.pushbackMs > 0 ? `left alone for ${time(breaker.pushbackMs)}` : '';
  setText(load, [role, `${active} in flight`, time(latencyMs), alone].filter((text) => text).join(' · '));
  setAttribute(cell, 'aria-label', [`${authority(uri)}: ${breaker.state}`, role, `${active} in flight`, `latency ${time(latencyMs)}`, alone]
    .filter((text) => text).join(', '));
  setAttribute(cell, 'title', `${uri}\n${breaker.state} since ${new Date(breaker.since).toLocaleString()}: ${breaker.why}\n`
    + `${active} in flight, usual latency ${time(latencyMs)}, weight ${weight}${backup ? ', a backup' : ''}${alone && `, ${alone}`}\n`
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

/** Names the routes that are refused alone, while others of the backend are answered. */
function drawOpenRoutes(node, openRoutes) {
  node.hidden = openRoutes.length === 0;
  setText(node, openRoutes.map(({ route, breaker }) => `Route ${route} is ${breaker.state}: ${breaker.why}.`).join(' '));
}

/** The changes by operators that are not of a limit, in words. */
export const CHANGES = {
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
