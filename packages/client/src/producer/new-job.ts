import { below, toBase64, toWire } from '../wire.js';
import { dataJson } from './data-json.js';

export type RetryPolicy = (
  | { readonly kind: 'none' }
  | { readonly kind: 'fixed'; readonly delayMs: number }
  | { readonly kind: 'linear'; readonly delayMs: number; readonly maxMs?: number }
  | {
      readonly kind: 'exponential';
      readonly delayMs: number;
      /** 2 if it is left out. */
      readonly factor?: number | undefined;
      readonly maxMs?: number | undefined;
      /** The part of the delay that is random, 0 … 1. */
      readonly jitter?: number | undefined;
    }
  | { readonly kind: 'list'; readonly delaysMs: readonly number[] }
) & {
  /** Failure groups that go to the dead letter at once. */
  readonly nonRetryable?: readonly string[] | undefined;
};

export interface UniqueKey {
  readonly key: string;
  /** `existing` if it is left out. */
  readonly mode?: 'reject' | 'existing' | 'replace' | 'debounce' | undefined;
  readonly windowMs?: number | undefined;
}

/** Options of a job; what is left out is the queue's default. */
export interface JobOptions {
  /** An id of your choice. */
  readonly id?: string | undefined;
  readonly delayMs?: number | undefined;
  /** When it can be leased, instead of `delayMs`. */
  readonly runAt?: Date | string | undefined;
  /** How long it may exist; 0 = for ever. */
  readonly ttlMs?: number | undefined;
  /** How often it may be leased; 5 if neither the job nor its queue says. */
  readonly tries?: number | undefined;
  /** Shortest delay before the next attempt after a lease of it has expired. */
  readonly leaseGraceMs?: number | undefined;
  /** How long a lease of it lasts. Workers of this library say so themselves (`WorkerOptions.ttrMs`). */
  readonly ttrMs?: number | undefined;
  /** How long a lease of it lasts in all, whatever the heartbeats; then it fails with the group `max_run_exceeded`. */
  readonly maxRunMs?: number | undefined;
  /** -128 … 127; lower runs sooner. */
  readonly priority?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly attributes?: Readonly<Record<string, string>> | undefined;
  /** Ids of jobs that must be done first. */
  readonly dependsOn?: readonly string[] | undefined;
  /** `refuse`: an id in `dependsOn` that no job has is the error `missing_dependency`. `ignore`, or left out: it counts as done. */
  readonly onMissingDependency?: 'ignore' | 'refuse' | undefined;
  readonly onDependencyFailure?: 'block' | 'ignore' | 'fail' | 'cancel' | undefined;
  readonly retry?: RetryPolicy | undefined;
  readonly unique?: UniqueKey | undefined;
  readonly concurrencyKey?: string | undefined;
  /** In a fair queue, keys are served in turns. Without one, its concurrency key counts. */
  readonly fairKey?: string | undefined;
  /** The URL that a server pushes it to, instead of that of the target; needs the permission `push`. */
  readonly push?: { readonly url: string } | undefined;
  /** How long it is kept with its result when it is done. */
  readonly retentionMs?: number | undefined;
  /** Its timeline is recorded from the start. */
  readonly history?: boolean | undefined;
  /** What its data is; see `JobPayload.contentType`. */
  readonly contentType?: string | undefined;
}

/** The payload of a job: one of `data` and `json`, or none for null. */
export interface JobPayload {
  /** A value that becomes JSON; bytes (`Uint8Array`); or text, if `contentType` is not a kind of JSON. */
  readonly data?: unknown;
  /** JSON text, stored as it is written: for numbers that JavaScript would round. */
  readonly json?: string | undefined;
  /** What `data` is; `application/octet-stream` for bytes and `application/json` for the rest, if it is left out. */
  readonly contentType?: string | undefined;
}

/** A job to be published. */
export interface NewJob extends JobOptions, JobPayload {
  readonly queue: string;
  readonly type?: string | undefined;
}

const JSON_TYPE = /^application\/(?:[^;]+\+)?json(?:;|$)/i;

/** True for a content type of JSON. */
export function isJsonType(contentType: string): boolean {
  return JSON_TYPE.test(contentType);
}

/** The JSON of a job, as the API takes it. @param at its path, as of `toWire` */
export function newJobJson(job: NewJob, at = ''): string {
  const { data, json, contentType, ...options } = job;
  return objectWith(toWire(options, at) as object, payloadMembers({ data, json, contentType }, at));
}

/**
 * Members of the API that state a payload: JSON text behind `"data":`, or base64.
 *
 * @param at the path of what has the payload, as of `toWire`
 * @throws {TypeError} the data does not fit its content type, or is no JSON
 */
export function payloadMembers(
  payload: { [K in keyof JobPayload]: JobPayload[K] | undefined },
  at = '',
): string {
  const { data, json, contentType } = payload;
  const typeMember = contentType === undefined ? '' : `,"content_type":${JSON.stringify(contentType)}`;
  if (json !== undefined) {
    if (data !== undefined) throw new TypeError('give one of `data` and `json`');
    // Text that is no JSON could add members of its own.
    JSON.parse(json);
    return `"data":${json}${typeMember}`;
  }
  if (data instanceof Uint8Array) return `"data_base64":"${toBase64(data)}"${typeMember}`;
  if (contentType !== undefined && !isJsonType(contentType)) {
    if (typeof data !== 'string')
      throw new TypeError(`data of the type ${contentType} must be bytes or text`);
    return `"data_base64":"${toBase64(new TextEncoder().encode(data))}"${typeMember}`;
  }
  return data === undefined ? '' : `"data":${dataJson(data, below(at, 'data'))}${typeMember}`;
}

/** The JSON of an object, with more members, which are JSON text. */
export function objectWith(object: object, members: string): string {
  const text = JSON.stringify(object);
  if (members === '') return text;
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}${members}}`;
}
