import { BYTES, isJsonType, PLAIN_JSON } from '../../domain/content-type.js';
import type { NewExtendedJob, NewJobOptions } from './extended-job.js';
import { momentOf } from '../../domain/moment.js';
import { PUSH_URL_RULE, pushUrlOf, withPushUrl } from '../../domain/push-url.js';
import { omit } from '../fields/derived.js';
import type { Plain } from '../fields/field.js';
import { InputError, Problems } from '../fields/problems.js';
import { readObject } from '../fields/read.js';
import { isObject } from '../fields/kinds.js';
import { toInside } from '../fields/wire.js';
import { jsonOf } from '../json/deep-json.js';
import { JsonText } from '../json/json-text.js';
import { retryPolicyOf } from './retry-policy.js';
import { type DataFields, JobOptions, PublishFields, PublishManyFields } from './options.js';

/** The data of a job that has none. */
export const NULL = Buffer.from('null');

const LIST_RULE = 'must be an object: one job, or several as {"jobs": [...]}';

/** Jobs of a publish request. */
export interface PublishRequest {
  readonly jobs: readonly NewExtendedJob[];
  /** True if the body is one job, not a list. */
  readonly isOne: boolean;
}

/**
 * Reads the body of a publish: a job, or an object with a list of them.
 *
 * @param maxBytes maximum size of the data, as stored
 * @throws {InputError} naming all problems
 */
export function publishRequestOf(body: unknown, maxBytes: number): PublishRequest {
  const problems = new Problems();
  const isOne = !(isObject(body) && Object.hasOwn(body, 'jobs'));
  if (Array.isArray(body)) throw new InputError([{ field: '', rule: LIST_RULE }]);
  const list = isOne
    ? [readObject(PublishFields, body, '', problems)]
    : readObject(PublishManyFields, body, '', problems).jobs;
  problems.settle();
  const at = (i: number): string => (isOne ? '' : `jobs[${String(i)}].`);
  const jobs = list.map((fields, i) => extendedJobOf(fields, at(i), maxBytes, problems));
  checkIds(jobs, at, problems);
  problems.settle();
  return { jobs, isOne };
}

/**
 * Builds a job from fields that are valid one by one.
 *
 * @param at its path with a dot at the end, or nothing
 * @param problems collects contradictions between them
 */
export function extendedJobOf(
  fields: PublishFields,
  at: string,
  maxBytes: number,
  problems: Problems,
): NewExtendedJob {
  const { queue, id, delay_ms, run_at, ttl_ms } = fields;
  if (delay_ms !== undefined && run_at !== undefined)
    problems.add(`${at}run_at`, 'must not be set together with delay_ms');
  if (ttl_ms !== undefined && ttl_ms > 0 && ttl_ms < (delay_ms ?? 0))
    problems.add(`${at}ttl_ms`, 'must be 0, or at least delay_ms');
  const job: Writable<NewExtendedJob> = { queue, body: NULL, ...optionsOf(fields, at, maxBytes, problems) };
  if (id !== undefined) job.id = id;
  if (delay_ms !== undefined) job.delayMs = delay_ms;
  // Times before 1970 have the same effect as any time in the past.
  if (run_at !== undefined) job.dueMs = Math.max(momentOf(run_at), 0);
  return job;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Options that a job has as they are given; those with a reader of their own are not among them. */
const PlainOptions = omit(JobOptions, ['data', 'data_base64', 'content_type', 'push', 'retry']);

/** Builds the options of a job; omitted fields stay omitted. Parameters as of `extendedJobOf`. */
export function optionsOf(
  fields: JobOptions,
  at: string,
  maxBytes: number,
  problems: Problems,
): NewJobOptions {
  const options: Writable<NewJobOptions> = {
    ...toInside(PlainOptions, fields),
    ...dataOf(fields, at, maxBytes, problems),
  };
  if (fields.retry !== undefined) options.retry = retryPolicyOf(fields.retry, `${at}retry.`, problems);
  if (fields.push !== undefined) {
    const url = pushUrlOf(fields.push.url);
    if (url === null) problems.add(`${at}push.url`, PUSH_URL_RULE);
    // The key lets `max_running_per_key` of the queue hold for each origin, on all servers together.
    else Object.assign(options, withPushUrl(url, options));
  }
  return options;
}

/** Data to store. */
export interface Data {
  readonly body: Buffer;
  /** Omitted: JSON. */
  readonly contentType?: string;
}

/** Names of the data fields. */
interface DataNames {
  readonly json: string;
  readonly bytes: string;
  readonly type: string;
}

const DATA: DataNames = { json: 'data', bytes: 'data_base64', type: 'content_type' };
const RESULT: DataNames = { json: 'result', bytes: 'result_base64', type: 'result_type' };

/** Reads the data of a request; undefined if it has none. Parameters as of `extendedJobOf`. */
export function dataOf(
  { data, data_base64, content_type }: Plain<DataFields>,
  at: string,
  maxBytes: number,
  problems: Problems,
): Data | undefined {
  return bytesOf(DATA, { json: data, bytes: data_base64, type: content_type }, { at, maxBytes, problems });
}

/** The fields of a result. */
interface ResultFields {
  readonly result?: unknown;
  readonly result_base64?: string | undefined;
  readonly result_type?: string | undefined;
}

/** Reads the result of a request, likewise. */
export function resultOf(
  { result, result_base64, result_type }: ResultFields,
  at: string,
  maxBytes: number,
  problems: Problems,
): Data | undefined {
  return bytesOf(
    RESULT,
    { json: result, bytes: result_base64, type: result_type },
    { at, maxBytes, problems },
  );
}

function bytesOf(
  names: DataNames,
  values: { readonly json: unknown; readonly bytes: string | undefined; readonly type: string | undefined },
  { at, maxBytes, problems }: { readonly at: string; readonly maxBytes: number; readonly problems: Problems },
): Data | undefined {
  const { json, bytes, type } = values;
  if (json === undefined && bytes === undefined) {
    if (type !== undefined)
      problems.add(`${at}${names.type}`, `is allowed only with ${names.json} or ${names.bytes}`);
    return undefined;
  }
  if (json !== undefined && bytes !== undefined) {
    problems.add(`${at}${names.bytes}`, `must not be set together with ${names.json}`);
  }
  if (json !== undefined && type !== undefined && !isJsonType(type)) {
    problems.add(`${at}${names.type}`, `must be a JSON type if ${names.json} is set; or omit it`);
  }
  const name = `${at}${bytes === undefined ? names.json : names.bytes}`;
  const body = bytes === undefined ? jsonText(json) : Buffer.from(bytes, 'base64');
  if (body.length > maxBytes) problems.add(name, tooLong(maxBytes));
  return {
    body,
    ...(bytes === undefined ? jsonType(type) : { contentType: type ?? BYTES }),
  };
}

/** The rule of data, results and progress. */
export function tooLong(maxBytes: number): string {
  return `must be at most ${String(maxBytes)} bytes as stored (limits.max_body_bytes)`;
}

/** The content type to store for JSON: none for plain `application/json`. */
function jsonType(type: string | undefined): Pick<Data, 'contentType'> {
  return type === undefined || type.toLowerCase() === PLAIN_JSON ? {} : { contentType: type };
}

/** Encodes a value as it is stored. */
export function jsonText(value: unknown): Buffer {
  return value instanceof JsonText ? value.bytes : Buffer.from(jsonOf(value));
}

function checkIds(jobs: readonly NewExtendedJob[], at: (i: number) => string, problems: Problems): void {
  const known = new Set<string>();
  jobs.forEach(({ id }, i) => {
    if (id === undefined) return;
    if (known.has(id)) problems.add(`${at(i)}id`, 'must not be the id of another job of the call');
    known.add(id);
  });
}
