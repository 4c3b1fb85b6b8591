// The table of all gateways, which this page's gateway has asked; trouble first.

import { byId, htmlElement, levelOf, number, setText } from './elements.js';

/** More backends in trouble than these are only counted. */
const MAX_NAMED = 4;
const NOT_REACHED = 101;

const worst = (backends) => backends.reduce((one, other) => (other.score > one.score ? other : one), { score: 0, trouble: 'calm' });
const sum = (backends, figure) => backends.reduce((all, backend) => all + backend[figure], 0);

/** The backends in trouble by name, the others by their number. */
function backendsText(backends) {
  const troubled = backends.filter(({ score }) => score > 0).sort((one, other) => other.score - one.score);
  const named = troubled.slice(0, MAX_NAMED).map(({ name, trouble }) => `${name}: ${trouble}`);
  const more = troubled.length - named.length;
  const calm = backends.length - troubled.length;
  return [...named, ...(more > 0 ? [`${more} more in trouble`] : []), ...(calm > 0 ? [`${calm} calm`] : [])].join(', ');
}

const backendTitle = ({ name, state, trouble, limit, inFlight, answersPerSecond }) =>
  `${name}: ${state}, ${trouble}, ${inFlight} of ${limit} in flight, ${number(answersPerSecond)} answers/s`;

function configurationText({ hash, operatorValues }, own) {
  return [hash, ...(hash === own ? [] : ['differs']), ...(operatorValues > 0 ? [`${operatorValues} changed`] : [])].join(', ');
}

const cell = (name, text, title) => htmlElement('td', { class: name, ...(title && { title }) }, text);

function row(gateway, own) {
  const { address, self, problem } = gateway;
  const head = htmlElement('th', { scope: 'row', class: 'name' }, self ? `${address ?? ''} this gateway`.trim() : address);
  if (problem) {
    return htmlElement('tr', { 'data-level': 'bad' }, head, cell('state', htmlElement('span', { class: 'pill' }, 'not reached')),
      htmlElement('td', { class: 'problem', colspan: 6 }, problem));
  }
  const { backends, configuration, version, startedAt, phase } = gateway;
  const trouble = phase === 'serving' ? worst(backends).trouble : phase;
  const differs = configuration.hash !== own;
  const level = levelOf(worst(backends));
  return htmlElement('tr', { 'data-level': level === 'calm' && (differs || phase !== 'serving') ? 'warn' : level }, head,
    cell('state', htmlElement('span', { class: 'pill' }, trouble)),
    cell('backends-of', backendsText(backends), backends.map(backendTitle).join('\n')),
    cell('calls', number(sum(backends, 'inFlight'))),
    cell('rate', number(sum(backends, 'answersPerSecond'))),
    cell(differs ? 'hash some' : 'hash', configurationText(configuration, own)),
    cell('version', version),
    cell('since', new Date(startedAt).toLocaleString()));
}

function rank({ problem, backends, configuration }, own) {
  return problem ? NOT_REACHED : worst(backends).score + (configuration.hash === own ? 0 : 0.5);
}

/** Draws the answer of /actuator/weirfleet; hides the table if there is one gateway. */
export function drawFleet({ gateways, configurationDiffers }) {
  const own = gateways.find(({ self }) => self).configuration.hash;
  const missing = gateways.filter(({ problem }) => problem).length;
  byId('fleet').hidden = gateways.length < 2;
  setText(byId('fleet-note'), [`${gateways.length} gateways`, ...(missing > 0 ? [`${missing} not reached`] : []),
    ...(configurationDiffers ? ['their configurations differ'] : [])].join(', '));
  const sorted = gateways.toSorted((one, other) => rank(other, own) - rank(one, own)
    || String(one.address).localeCompare(String(other.address), 'en', { numeric: true }));
  byId('fleet-rows').replaceChildren(...sorted.map((gateway) => row(gateway, own)));
}

/** Says why the gateways are not known; keeps the last rows. */
export function drawFleetProblem(problem) {
  byId('fleet').hidden = false;
  setText(byId('fleet-note'), `The state of the gateways is not known: ${problem}`);
}

export const hasFleet = () => !byId('fleet').hidden;
