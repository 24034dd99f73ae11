import { isJson, rawMembers } from './raw-json.js';
import type { Queue } from './types.js';

/* The settings of a queue as a form: names, bounds and meanings are those of `PATCH /v1/:namespace/queues/:queue`. */

export interface Setting {
  readonly name:
    | 'max_running'
    | 'max_running_per_key'
    | 'rate'
    | 'rate_per_key'
    | 'max_kept'
    | 'lease_grace_ms'
    | 'expired'
    | 'index_tags'
    | 'fair'
    | 'order'
    | 'on_dead'
    | 'defaults'
    | 'redact';
  readonly label: string;
  readonly kind: 'whole' | 'rate' | 'choice' | 'flag' | 'fairness' | 'json' | 'paths';
  /** Only the role `admin` may change it. */
  readonly isForAdmins?: true;
  readonly hint: string;
  readonly from?: number;
  readonly to?: number;
  readonly choices?: readonly string[];
}

const MOST = 1_000_000_000;
const MOST_PATHS = 32;
const DAY_MS = 86_400_000;

export const SETTINGS: readonly Setting[] = [
  {
    name: 'max_running',
    label: 'Concurrency',
    kind: 'whole',
    from: 1,
    to: MOST,
    hint: 'leased at once; empty = no limit',
  },
  {
    name: 'max_running_per_key',
    label: 'Concurrency per key',
    kind: 'whole',
    from: 1,
    to: MOST,
    hint: 'of one concurrency key; empty = no limit',
  },
  {
    name: 'rate',
    label: 'Rate',
    kind: 'rate',
    hint: 'jobs per seconds, such as 100/1 or 10/60; a burst behind it: 100/1 burst 20',
  },
  { name: 'rate_per_key', label: 'Rate per key', kind: 'rate', hint: 'the same for each concurrency key' },
  {
    name: 'max_kept',
    label: 'Kept jobs',
    kind: 'whole',
    from: 0,
    to: MOST,
    hint: 'done and cancelled ones; empty = no limit',
  },
  {
    name: 'lease_grace_ms',
    label: 'Lease grace, ms',
    kind: 'whole',
    from: 0,
    to: DAY_MS * 366,
    hint: 'delay of the next attempt after a lease expired',
  },
  {
    name: 'expired',
    label: 'After an expired lease',
    kind: 'choice',
    choices: ['back', 'front'],
    hint: 'place in the queue',
  },
  { name: 'index_tags', label: 'Index tags', kind: 'flag', hint: 'off: lists by tag do not find new jobs' },
  {
    name: 'fair',
    label: 'Fair keys',
    kind: 'fairness',
    hint: 'on: served in turns; or weights: {"weights":{"big":3},"default":1}',
  },
  {
    name: 'order',
    label: 'Order per key',
    kind: 'choice',
    choices: ['', 'strict'],
    hint: 'strict: a job of a concurrency key waits until all earlier ones have ended; none: it does not',
  },
  {
    name: 'on_dead',
    label: 'After a dead job',
    kind: 'choice',
    choices: ['continue', 'block'],
    hint: 'in a strict order; block: its key waits until it is respawned or deleted',
  },
  {
    name: 'defaults',
    label: 'Defaults',
    kind: 'json',
    hint: 'options of publishes, as JSON: {"tries":5,"ttr_ms":60000}',
  },
  {
    name: 'redact',
    label: 'Redacted data',
    kind: 'paths',
    isForAdmins: true,
    hint: 'JSON paths whose values only the role admin sees: ["$.card.number","$..email"]',
  },
];

const RATE = /^(\d+)\s*\/\s*(\d+(?:\.\d+)?)(?:\s+burst\s+(\d+))?$/;

/** The value of a setting as text of its field. @param raw the text of its JSON */
export function fieldOf({ kind, name }: Setting, queue: Queue, raw: string | undefined): string {
  const value = queue[name];
  if (kind === 'flag') return value === false ? 'off' : 'on';
  if (kind === 'fairness' && (typeof value === 'boolean' || value === undefined))
    return value === true ? 'on' : 'off';
  if (value === null || value === undefined) return '';
  if (kind === 'rate') {
    const { rate, period_ms, burst = 1 } = value as NonNullable<Queue['rate']>;
    return `${rate}/${period_ms / 1_000}${burst === 1 ? '' : ` burst ${burst}`}`;
  }
  if (kind === 'fairness') return raw ?? 'on';
  if (kind === 'json') return raw === '{}' || raw === undefined ? '' : raw;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A field as JSON. @throws {Error} what is wrong with it */
function jsonOf({ label, kind, from = 0, to = MOST, choices = [] }: Setting, text: string): string {
  const value = text.trim();
  if (kind === 'flag') return value === 'off' ? 'false' : 'true';
  if (value === '') return 'null';
  if (kind === 'choice') {
    if (!choices.includes(value)) throw new Error(`${label} must be one of ${choices.join(', ')}.`);
    return JSON.stringify(value);
  }
  if (kind === 'whole') {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < from || number > to)
      throw new Error(`${label} must be a whole number from ${from} to ${to}, or empty.`);
    return value;
  }
  if (kind === 'rate') return rateOf(label, value);
  if (kind === 'fairness') return fairnessOf(label, value);
  if (kind === 'paths') return pathsOf(label, value);
  if (rawMembers(value).size === 0 || !isJson(value))
    throw new Error(`${label} must be a JSON object, such as {"tries":5}.`);
  return value;
}

/** The server knows which weights are right, and names a wrong one. */
function fairnessOf(label: string, text: string): string {
  if (text === 'on' || text === 'off') return String(text === 'on');
  if (rawMembers(text).size > 0 && isJson(text)) return text;
  throw new Error(`${label} must be on, off, or a JSON object, such as {"weights":{"big":3}}.`);
}

/** The server knows which paths are right, and names a wrong one. */
function pathsOf(label: string, text: string): string {
  const paths: unknown = isJson(text) ? JSON.parse(text) : null;
  const isRight = Array.isArray(paths) && paths.length > 0 && paths.length <= MOST_PATHS;
  if (!isRight || !paths.every((one) => typeof one === 'string' && one.startsWith('$')))
    throw new Error(
      `${label} must be a list of at most ${MOST_PATHS} JSON paths, such as ["$.card"], or empty.`,
    );
  return text;
}

function rateOf(label: string, value: string): string {
  const [, rate, seconds, burst] = RATE.exec(value) ?? [];
  if (rate === undefined || Number(rate) < 1 || Number(seconds) <= 0)
    throw new Error(`${label} must be jobs per seconds, such as 100/1 or 10/60, or empty.`);
  const period = Math.round(Number(seconds) * 1_000);
  if (period < 1 || Number(rate) > period * 10)
    throw new Error(`${label} must be at most ten jobs per millisecond.`);
  return `{"rate":${rate},"period_ms":${period}${burst === undefined ? '' : `,"burst":${burst}`}}`;
}

/**
 * The fields that differ from what they were, by name, as JSON.
 *
 * @throws {Error} a field is wrong, or none has changed
 */
export function changesOf(
  fields: ReadonlyMap<string, string>,
  before: ReadonlyMap<string, string>,
): Map<string, string> {
  const changes = new Map<string, string>();
  for (const setting of SETTINGS) {
    const text = fields.get(setting.name);
    // A field that the account may not change is not sent.
    if (text !== undefined && text !== before.get(setting.name))
      changes.set(setting.name, jsonOf(setting, text));
  }
  if (changes.size === 0) throw new Error('No setting has changed.');
  return changes;
}
