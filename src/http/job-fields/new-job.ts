import type { NewRichJob, UniqueKey } from '../../domain/rich-job.js';
import type { Plain } from '../fields/field.js';
import { given } from '../fields/given.js';
import { Problems, readObject } from '../fields/read.js';
import { isObject } from '../fields/kinds.js';
import { JsonText } from '../json-text.js';
import { retryPolicyOf } from '../retry-policy.v1.js';
import {
  type DataFields,
  type OptionFields,
  PublishFields,
  PublishManyFields,
  type UniqueFields,
} from './fields.js';

/** The data of a job that has none. */
export const NULL = Buffer.from('null');
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?: *;.*)?$/i;
const PLAIN_JSON = 'application/json';
const BYTES = 'application/octet-stream';

/** True for a content type that says JSON. */
export function isJsonType(contentType: string): boolean {
  return JSON_TYPE.test(contentType);
}

/** What a publish asks for. */
export interface PublishRequest {
  readonly jobs: readonly NewRichJob[];
  /** It came alone, not in a list. */
  readonly isOne: boolean;
}

/**
 * Reads the body of a publish: a job, or an object with a list of them.
 *
 * @param maxBytes the longest data, as stored
 * @throws {InputError} naming all that is wrong
 */
export function publishRequestOf(body: unknown, maxBytes: number): PublishRequest {
  const problems = new Problems();
  const isOne = !(isObject(body) && Object.hasOwn(body, 'jobs'));
  const list = isOne
    ? [readObject(PublishFields, body, '', problems)]
    : readObject(PublishManyFields, body, '', problems).jobs;
  problems.settle();
  const at = (i: number): string => (isOne ? '' : `jobs[${String(i)}].`);
  const jobs = list.map((fields, i) => richJobOf(fields, at(i), maxBytes, problems));
  checkIds(jobs, at, problems);
  problems.settle();
  return { jobs, isOne };
}

/**
 * A job of fields that are right one by one.
 *
 * @param at its path with a dot behind, or nothing
 * @param problems hears what is wrong between them
 */
export function richJobOf(
  fields: PublishFields,
  at: string,
  maxBytes: number,
  problems: Problems,
): NewRichJob {
  const { queue, id, delay_ms, run_at, ttl_ms } = fields;
  if (delay_ms !== undefined && run_at !== undefined)
    problems.add(`${at}run_at`, 'must be left out where there is delay_ms');
  if (ttl_ms !== undefined && ttl_ms > 0 && ttl_ms < (delay_ms ?? 0))
    problems.add(`${at}ttl_ms`, 'must be 0, or at least delay_ms');
  const options = optionsOf(fields, at, maxBytes, problems);
  return given<NewRichJob>({
    queue,
    id,
    ...options,
    body: options.body ?? NULL,
    delayMs: delay_ms,
    // Before 1970 is over as well as any time before now.
    dueMs: run_at === undefined ? undefined : Math.max(Date.parse(run_at), 0),
  });
}

/** What jobs may ask for, wherever they come from: what is left out is left out here too. Parameters as of `richJobOf`. */
export function optionsOf(
  fields: OptionFields,
  at: string,
  maxBytes: number,
  problems: Problems,
): Partial<Omit<NewRichJob, 'queue' | 'id' | 'delayMs' | 'dueMs'>> {
  const { ttl_ms, tries, ttr_ms, priority, type, tags, attributes } = fields;
  const { depends_on, on_dependency_failure, retry, unique, concurrency_key, retention_ms, history } = fields;
  return given<Partial<NewRichJob>>({
    ...dataOf(fields, at, maxBytes, problems),
    ttlMs: ttl_ms,
    tries,
    ttrMs: ttr_ms,
    priority,
    type,
    tags,
    attributes,
    dependsOn: depends_on,
    onDependencyFailure: on_dependency_failure,
    retry: retry && retryPolicyOf(retry, `${at}retry.`, problems),
    unique: unique && uniqueOf(unique),
    concurrencyKey: concurrency_key,
    retentionMs: retention_ms,
    history,
  });
}

/** Data to be stored. */
export interface Data {
  readonly body: Buffer;
  /** Left out: JSON. */
  readonly contentType?: string;
}

/** How the fields of data are called. */
interface DataNames {
  readonly json: string;
  readonly bytes: string;
  readonly type: string;
}

const DATA: DataNames = { json: 'data', bytes: 'data_base64', type: 'content_type' };
const RESULT: DataNames = { json: 'result', bytes: 'result_base64', type: 'result_type' };

/** The data of a request; undefined if it has none. Parameters as of `richJobOf`. */
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

/** The result of a request, likewise. */
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
      problems.add(`${at}${names.type}`, `must be left out where there is no ${names.json}`);
    return undefined;
  }
  if (json !== undefined && bytes !== undefined) {
    problems.add(`${at}${names.bytes}`, `must be left out where there is ${names.json}`);
  }
  if (json !== undefined && type !== undefined && !isJsonType(type)) {
    problems.add(`${at}${names.type}`, `must be a kind of JSON where there is ${names.json}, or be left out`);
  }
  const name = `${at}${bytes === undefined ? names.json : names.bytes}`;
  const body = bytes === undefined ? jsonText(json) : Buffer.from(bytes, 'base64');
  if (body === undefined) problems.add(name, 'is nested too deeply');
  else if (body.length > maxBytes) problems.add(name, `must be at most ${String(maxBytes)} bytes as stored`);
  return {
    body: body ?? Buffer.alloc(0),
    ...(bytes === undefined ? jsonType(type) : { contentType: type ?? BYTES }),
  };
}

/** What is to be kept of the type of JSON: nothing, if it says no more than that. */
function jsonType(type: string | undefined): Pick<Data, 'contentType'> {
  return type === undefined || type.toLowerCase() === PLAIN_JSON ? {} : { contentType: type };
}

/** A value as it is stored. @returns undefined for what is nested more deeply than the engine can follow */
export function jsonText(value: unknown): Buffer | undefined {
  if (value instanceof JsonText) return Buffer.from(value.text);
  try {
    return Buffer.from(JSON.stringify(value));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function uniqueOf({ key, mode, window_ms }: UniqueFields): UniqueKey {
  return window_ms === undefined ? { key, mode } : { key, mode, windowMs: window_ms };
}

function checkIds(jobs: readonly NewRichJob[], at: (i: number) => string, problems: Problems): void {
  const known = new Set<string>();
  jobs.forEach(({ id }, i) => {
    if (id === undefined) return;
    if (known.has(id)) problems.add(`${at(i)}id`, 'must not be that of another job of the call');
    known.add(id);
  });
}
