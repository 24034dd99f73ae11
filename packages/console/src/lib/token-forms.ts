import { queryOf, type Call } from './lines.js';
import { type Place, poolArgs } from './place.js';

/* The forms of tokens and quotas: what their fields mean, as calls of the admin port. */

type Fields = ReadonlyMap<string, string>;

/** A limit of requests in a window, as the admin port has it: `read` counts leases, `write` publishes, 0 = no limit. */
export interface Limiter {
  readonly read: number;
  readonly write: number;
  /** Seconds. */
  readonly interval: number;
}

const textOf = (fields: Fields, name: string): string => (fields.get(name) ?? '').trim();
const MOST_S = 1_000_000_000;

/** A whole number, or null for an empty field. @throws {Error} it is none */
function wholeOf(fields: Fields, name: string, label: string, from: number): number | null {
  const text = textOf(fields, name);
  if (text === '') return null;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < from || !Number.isSafeInteger(number))
    throw new Error(`${label} must be a whole number from ${from}, or empty.`);
  return number;
}

/** The limit of a form; null = none. @throws {Error} what is wrong */
export function limiterOf(fields: Fields): Limiter | null {
  const read = wholeOf(fields, 'read', 'Leases', 1) ?? 0;
  const write = wholeOf(fields, 'write', 'Publishes', 1) ?? 0;
  if (read === 0 && write === 0) return null;
  const interval = wholeOf(fields, 'interval', 'The window', 1) ?? 1;
  if (interval > MOST_S) throw new Error(`The window must be at most ${MOST_S} seconds.`);
  return { read, write, interval };
}

/** A limit as a sentence of its row. */
export function limiterText({ read, write, interval }: Limiter): string {
  const parts = [read > 0 ? `${read} leases` : '', write > 0 ? `${write} publishes` : ''].filter(Boolean);
  return `${parts.join(', ')} in ${interval} s`;
}

/** The path of a token on the admin port. @param token with the name of its pool, unless that is the default pool */
export function pathOfToken(namespace: string, token: string, more = ''): string {
  return `/token/${encodeURIComponent(namespace)}/${encodeURIComponent(token)}${more}`;
}

/** The call that sets or removes the limit of a token. @throws {Error} a field is wrong */
export function limitCall(namespace: string, token: string, fields: Fields): Call {
  const limiter = limiterOf(fields);
  const path = pathOfToken(namespace, token, '/limit');
  return limiter === null
    ? { method: 'DELETE', path }
    : { method: 'PUT', path, body: JSON.stringify(limiter) };
}

/** The same as arguments of `pumphouse`. */
export function limitArgs(namespace: string, token: string, fields: Fields): string[] {
  const limiter = limiterOf(fields);
  if (limiter === null) return ['limit', 'rm', namespace, token];
  const { read, write, interval } = limiter;
  const counts = ['--consume', String(read), '--publish', String(write), '--interval', String(interval)];
  return ['limit', 'set', namespace, token, ...counts];
}

const SPAN = /^\d+[smhd]$/;

/** The call that replaces a token. @throws {Error} a field is wrong */
export function rotateCall(namespace: string, token: string, fields: Fields): Call {
  const query = queryOf(rotation(fields));
  return { method: 'POST', path: pathOfToken(namespace, token, `/rotate${query}`) };
}

/** The same as arguments of `pumphouse`. */
export function rotateArgs(namespace: string, token: string, fields: Fields): string[] {
  const given = Object.entries(rotation(fields)).filter(([, value]) => value !== '');
  return ['token', 'rotate', namespace, token, ...given.flatMap(([name, value]) => [`--${name}`, value])];
}

function rotation(fields: Fields): { readonly grace: string; readonly expires: string } {
  const grace = textOf(fields, 'grace');
  if (grace !== '' && !SPAN.test(grace))
    throw new Error('The old token goes on for a time such as 15m, 1h or 2d, or empty.');
  return { grace, expires: textOf(fields, 'expires') };
}

/** A quota of a namespace: its value, and that of the configuration; 0 = no limit. */
export interface Quota {
  readonly value: number;
  readonly default: number;
}
export type Quotas = Readonly<Record<string, Quota>>;

/** The quotas that differ from what they were; null = the default again. @throws {Error} a field is wrong, or none has changed */
export function quotaChanges(fields: Fields, quotas: Quotas): Record<string, number | null> {
  const changes = Object.entries(quotas).flatMap(([name, quota]) => {
    const value = wholeOf(fields, name, name.replaceAll('_', ' '), 0);
    return String(value ?? '') === quotaField(quota) ? [] : [[name, value] as const];
  });
  if (changes.length === 0) throw new Error('No quota has changed.');
  return Object.fromEntries(changes);
}

/** The text of a quota in its field: empty = the default. */
export function quotaField({ value, default: usual }: Quota): string {
  return value === usual ? '' : String(value);
}

/** The same as arguments of `pumphouse`. */
export function quotaArgs(place: Place, changes: Readonly<Record<string, number | null>>): string[] {
  const flags = Object.entries(changes).flatMap(([name, value]) => [
    `--${name.replaceAll('_', '-')}`,
    String(value ?? 'default'),
  ]);
  return ['quota', 'set', place.namespace, ...poolArgs(place), ...flags];
}
