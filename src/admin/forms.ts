import type { Limit } from '../domain/caller.js';
import { QueueError } from '../domain/errors.js';
import { MOST_OF_QUOTA, QUOTA_NAMES, type QuotaName } from '../domain/job/quotas.js';
import { LimiterDto } from './dto.js';

/** A request's parameters by name. */
export type Fields = Readonly<Record<string, string | undefined>>;

export const FORM_TYPE = 'application/x-www-form-urlencoded';

/** True if a content type is that of a form. */
export function isForm(contentType: string | undefined): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === FORM_TYPE;
}

/** Reads a form; the first of equal names wins. Empty if the body is no form. */
export function readForm(contentType: string | undefined, body: unknown): Fields {
  if (!isForm(contentType) || typeof body !== 'string') return {};
  // No prototype: clients choose the field names.
  const fields = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(body)) fields[name] ??= value;
  return fields;
}

/** The names that a form has more than once. */
export function repeatedIn(contentType: string | undefined, body: unknown): string[] {
  if (!isForm(contentType) || typeof body !== 'string') return [];
  const names = [...new URLSearchParams(body).keys()];
  return names.filter((name, i) => names.indexOf(name) < i);
}

/** Calls whose body is JSON: they read nothing else but the pool. All others read a form, or the query. */
const [LIMIT, QUOTAS] = [/\/limit$/, /\/quotas$/];

/**
 * The fields of a request that its handler reads: the audit log has no others, as they have no effect.
 *
 * @param call its method and route
 */
export function fieldsReadBy(
  call: string,
  {
    query,
    contentType,
    body,
  }: { readonly query: Fields; readonly contentType: string | undefined; readonly body: unknown },
): Readonly<Record<string, unknown>> {
  // guard: audit-has-what-is-read
  if (LIMIT.test(call)) {
    const { interval, read, write } = lowerCased(objectIn(body) ?? {});
    return { interval, read, write };
  }
  const { pool, ...others } = query;
  if (QUOTAS.test(call)) return { pool, ...objectIn(body) };
  const fields = { ...others, ...(call.includes('/token/') ? readForm(contentType, body) : {}) };
  // The pool of a token is that of its prefix.
  return call.includes('/:token') ? { ...fields, pool: undefined } : { pool, ...fields };
}

/**
 * Reads a limit's JSON.
 *
 * @throws {QueueError} `invalid_argument`: not an object of integers
 */
export function readLimit(body: unknown): LimiterDto {
  const form = parse(typeof body === 'string' ? body : '');
  const { interval, read, write } = form;
  return new LimiterDto(wholeNumber(interval), wholeNumber(read), wholeNumber(write));
}

/**
 * Reads the quotas of a namespace: `{"max_jobs_per_queue":1000}`; null = the default again.
 *
 * @throws {QueueError} `invalid_argument`
 */
export function readQuotas(body: unknown): Partial<Record<QuotaName, number | null>> {
  const given = objectIn(body);
  if (given === null) throw wrongQuota('the body must be a JSON object');
  if (Object.keys(given).length === 0) throw wrongQuota(`name one of ${QUOTA_NAMES.join(', ')}`);
  for (const [name, value] of Object.entries(given)) {
    if (!isQuota(name))
      throw wrongQuota(`there is no quota ${name.slice(0, 40)}: name one of ${QUOTA_NAMES.join(', ')}`);
    const most = MOST_OF_QUOTA[name];
    const isNumber = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most;
    if (value !== null && !isNumber) {
      throw wrongQuota(
        `${name} must be a whole number from 0 to ${String(most)}; 0 = no limit, null = the default`,
      );
    }
  }
  return given;
}

/** The object that a JSON text is; null for anything else. */
export function objectIn(text: unknown): object | null {
  if (typeof text !== 'string') return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function isQuota(name: string): name is QuotaName {
  return QUOTA_NAMES.some((one) => one === name);
}

function wrongQuota(rule: string): QueueError {
  return new QueueError('invalid_argument', `invalid quotas: ${rule}`);
}

/** Converts a limit from lmstfy's format. */
export function toLimit({ read, write, interval }: LimiterDto): Limit {
  return { read, write, intervalS: interval };
}

/** Converts a limit to lmstfy's format. */
export function toLimiterDto({ read, write, intervalS }: Limit): LimiterDto {
  return new LimiterDto(intervalS, read, write);
}

function parse(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new QueueError('invalid_argument', 'invalid limiter', { cause: error });
  }
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw invalid();
  return lowerCased(value);
}

/** lmstfy's decoder ignores the case of field names. */
function lowerCased(given: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).map(([name, field]) => [name.toLowerCase(), field]));
}

function wholeNumber(value: unknown): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw invalid();
  return value;
}

function invalid(): QueueError {
  return new QueueError('invalid_argument', 'invalid limiter');
}
