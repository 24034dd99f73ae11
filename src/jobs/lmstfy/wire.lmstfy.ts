import type { IncomingMessage } from 'node:http';
import { Injectable, type PipeTransform } from '@nestjs/common';
import { Config, type LmstfyConfig } from '../../config/config.js';
import { QueueError } from '../../domain/errors.js';
import { LEASE_EXPIRED } from '../../domain/job/extended-job.js';
import type { LeasedJob, NewJob, StoredJob } from '../../domain/job/job.js';
import {
  MAX_ATTRIBUTE_KEY,
  MAX_ATTRIBUTE_VALUE,
  MAX_ATTRIBUTES,
  MAX_CONSUME_QUEUES,
  MAX_LEASE_COUNT,
  MAX_TRIES,
  MAX_UINT32,
} from '../../domain/limits.js';
import { bodyLimit, readBody } from '../../http/request/body.js';
import { type Query, wholeNumber } from '../../http/request/head.js';
import type { RequestContext } from '../../http/request/request-context.js';
import { checkIdCount, publishOptionsOf, type RequestOptions } from '../publish-options.js';
import type { PeekedJob } from '../../engine/core/decode.js';
import { asciiJson, jsonList } from '../../contract/json/ascii-json.js';

const ATTRIBUTE_PREFIX = 'job-attr-';

/** Options of a job to publish. */
export interface PublishParameters {
  readonly delayMs: number;
  readonly ttlMs: number;
  readonly tries: number;
}

/** Options of a consume call. */
export interface ConsumeParameters {
  readonly ttrMs: number;
  readonly waitMs: number;
  readonly count: number;
  readonly queues: string[];
}

/** @throws {QueueError} `invalid_argument` for the first parameter that is wrong, in lmstfy's order and with its messages */
export function publishParameters(query: Query, defaults: LmstfyConfig): PublishParameters {
  const delayS = wholeNumber(query, 'delay', defaults.default_delay_s, MAX_UINT32);
  if (delayS === undefined) throw invalid('invalid delay');
  const ttlS = wholeNumber(query, 'ttl', defaults.default_ttl_s, MAX_UINT32);
  if (ttlS === undefined) throw invalid('invalid ttl');
  const tries = wholeNumber(query, 'tries', defaults.default_tries, MAX_TRIES);
  if (tries === undefined) throw invalid('invalid tries');
  if (tries === 0) throw invalid("tries shouldn't be zero");
  if (ttlS > 0 && ttlS < delayS) throw invalid('ttl is shorter than delay');
  return { delayMs: delayS * 1000, ttlMs: ttlS * 1000, tries };
}

/** @throws {QueueError} `invalid_argument` for the first parameter that is wrong, in lmstfy's order and with its messages */
export function consumeParameters(list: string, query: Query, defaults: LmstfyConfig): ConsumeParameters {
  const ttrS = wholeNumber(query, 'ttr', defaults.default_ttr_s, MAX_UINT32);
  if (ttrS === undefined) throw invalid('invalid ttr');
  const timeoutS = wholeNumber(query, 'timeout', defaults.default_timeout_s, MAX_UINT32);
  if (timeoutS === undefined) throw invalid('invalid timeout');
  const count = wholeNumber(query, 'count', 1, MAX_LEASE_COUNT);
  if (count === undefined || count === 0) throw invalid('invalid count');
  const queues = list.includes(',') ? distinct(list) : [list];
  if (queues.length === 0) throw invalid('invalid queue name(s)');
  // guard: consume-names-few-queues
  if (queues.length > MAX_CONSUME_QUEUES)
    throw new QueueError('invalid_argument', 'invalid queue name(s)', {
      detail: `invalid queue name(s): at most ${String(MAX_CONSUME_QUEUES)} queues in one call`,
    });
  return { ttrMs: ttrS * 1000, waitMs: timeoutS * 1000, count, queues };
}

/** A job to publish and its options. */
export interface PublishRequest {
  readonly job: NewJob;
  readonly options: RequestOptions | undefined;
}

/**
 * Reads the job of a publish in lmstfy's order of checks: parameters, headers, body. So the body of a request that is
 * rejected anyway is never asked for.
 *
 * @throws {QueueError} as `publishParameters`, `attributesOf`, `publishOptionsOf`, `checkIdCount` and `readBody`
 */
export function readJob(
  context: RequestContext,
  { limits, lmstfy }: Config,
  take: (request: PublishRequest) => void,
): void {
  const parameters = publishParameters(context.query, lmstfy);
  const attributes = attributesOf(context.request);
  const options = publishOptionsOf(context.request);
  checkIdCount(options, 1);
  readBody(context, bodyLimit(limits), (body) =>
    take({ job: newJob(body, parameters, attributes), options }),
  );
}

export function newJob(
  body: Buffer,
  { delayMs, ttlMs, tries }: PublishParameters,
  attributes: Record<string, string> | undefined,
): NewJob {
  return attributes === undefined
    ? { body, delayMs, ttlMs, tries }
    : { body, delayMs, ttlMs, tries, attributes };
}

/** `readJob` for a controller. If the body breaks off, the error is answered here and the handler never runs. */
@Injectable()
export class PublishRequestPipe implements PipeTransform<RequestContext, Promise<PublishRequest>> {
  constructor(private readonly config: Config) {}

  transform(context: RequestContext): Promise<PublishRequest> {
    return new Promise((resolve) => readJob(context, this.config, resolve));
  }
}

/**
 * Reads the attributes from the headers of a publish request; undefined if there are none or if `Enable-Job-Version:
 * YES` is missing. The first of equal names wins. Keys and values that are too long are cut, empty values are left out.
 *
 * @throws {QueueError} `invalid_argument`: more than 16 attributes
 */
export function attributesOf({ headers, rawHeaders }: IncomingMessage): Record<string, string> | undefined {
  const enabled = headers['enable-job-version'];
  if (typeof enabled !== 'string' || enabled.toUpperCase() !== 'YES') return undefined;
  // No prototype: a client may send a key named __proto__.
  const attributes = /* guard: attributes-have-no-prototype */ Object.create(null) as Record<string, string>;
  let count = 0;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    if (!name.startsWith(ATTRIBUTE_PREFIX)) continue;
    const key = name.slice(ATTRIBUTE_PREFIX.length, ATTRIBUTE_PREFIX.length + MAX_ATTRIBUTE_KEY);
    const value = cut(rawHeaders[i + 1] ?? '');
    if (value === '' || key in attributes) continue;
    attributes[key] = value;
    count += 1;
  }
  if (count > MAX_ATTRIBUTES) {
    throw new QueueError('invalid_argument', 'too many attributes, cannot exceed 16');
  }
  return count === 0 ? undefined : attributes;
}

/**
 * Node decodes header bytes as Latin-1 but clients send UTF-8. Cuts a value that is too long, at the start of a
 * character.
 */
function cut(value: string): string {
  const text = Buffer.from(value, 'latin1').toString('utf8');
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_ATTRIBUTE_VALUE) return text;
  let end = MAX_ATTRIBUTE_VALUE;
  // guard: attribute-cut-at-character
  while (isInsideCharacter(bytes[end])) end--;
  return bytes.toString('utf8', 0, end);
}

/** True for the second and later bytes of a character in UTF-8. */
function isInsideCharacter(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Splits a comma-separated list and removes duplicates. The first position of a name is its priority. */
function distinct(list: string): string[] {
  return [...new Set(list.split(',').filter((name) => name !== ''))];
}

function invalid(message: string): QueueError {
  return new QueueError('invalid_argument', message);
}

/** Writes lmstfy's JSON, keys in alphabetical order. Ids and names were validated: they need no escaping. */
export function publishedJson(id: string): string {
  return `{"job_id":"${id}","msg":"published"}`;
}

export function publishedManyJson(ids: readonly string[]): string {
  return `{"job_ids":["${ids.join('","')}"],"msg":"published"}`;
}

/** Writes one leased job as an object, or several as a list. */
export function leasedJson(namespace: string, jobs: readonly LeasedJob[], asList: boolean): string {
  const [first] = jobs;
  if (!asList && first !== undefined) return jobJson(namespace, first, '"msg":"new job",', first.triesLeft);
  return jsonList(jobs, (job) => jobJson(namespace, job, '"msg":"new job",', job.triesLeft));
}

/** Writes a peeked job. */
export function peekedJson(namespace: string, job: StoredJob): string {
  return jobJson(namespace, job, '', job.triesLeft);
}

/**
 * Headers for what lmstfy's body cannot carry: a job's state, its number of attempts, and why it is dead.
 *
 * @returns names and values in turn
 */
export function lifeHeaders({ state, attempts, failureGroup = LEASE_EXPIRED }: PeekedJob): string[] {
  const headers = ['X-Job-State', state, 'X-Job-Attempts', String(attempts)];
  return state === 'dead'
    ? [...headers, 'X-Job-Dead-Reason', /* guard: dead-reason-is-a-header-value */ encodeURI(failureGroup)]
    : headers;
}

function jobJson(namespace: string, job: StoredJob, msg: string, tries: number): string {
  return (
    `{"attributes":${attributesJson(job.attributes)},"data":"${job.body.toString('base64')}",` +
    `"elapsed_ms":${String(job.elapsedMs)},"job_id":"${job.id}",${msg}"namespace":"${namespace}",` +
    `"queue":"${job.queue}","remain_tries":${String(tries)},"ttl":${String(secondsLeft(job.ttlLeftMs))}}`
  );
}

/** Rounded as Redis rounds its TTL, except that 0 always means that the job never expires. */
function secondsLeft(ttlLeftMs: number): number {
  return ttlLeftMs === 0 ? 0 : Math.max(1, Math.round(ttlLeftMs / 1000));
}

function attributesJson(attributes: StoredJob['attributes']): string {
  if (attributes === null) return 'null';
  const fields = Object.keys(attributes)
    .sort()
    .map((key) => `${asciiJson(key)}:${asciiJson(attributes[key])}`);
  return `{${fields.join(',')}}`;
}
