import type { LeasedJob, StoredJob } from '../domain/job.js';
import type { PeekedJob } from '../engine/decode.js';
import { asciiJson } from '../http/answer.js';

/** lmstfy's JSON, keys in alphabetical order. Ids and names were checked: they need no escaping. */
export function publishedJson(id: string): string {
  return `{"job_id":"${id}","msg":"published"}`;
}

export function publishedManyJson(ids: readonly string[]): string {
  return `{"job_ids":["${ids.join('","')}"],"msg":"published"}`;
}

/** One leased job as an object, or a list of them. */
export function leasedJson(namespace: string, jobs: readonly LeasedJob[], asList: boolean): string {
  const [first] = jobs;
  if (!asList && first !== undefined) return jobJson(namespace, first, '"msg":"new job",', first.triesLeft);
  return `[${jobs.map((job) => jobJson(namespace, job, '"msg":"new job",', job.triesLeft)).join(',')}]`;
}

/** A job that was looked at. */
export function peekedJson(namespace: string, job: StoredJob): string {
  return jobJson(namespace, job, '', job.triesLeft);
}

/** What lmstfy's body has no place for: the state of a job, how often it was given out, and why it is dead. Header names and values. */
export function lifeHeaders({ state, attempts }: PeekedJob): string[] {
  const headers = ['X-Job-State', state, 'X-Job-Attempts', String(attempts)];
  // There is one way to the dead letter: nobody acknowledged the job within the last lease that it had tries for.
  return state === 'dead' ? [...headers, 'X-Job-Dead-Reason', 'lease_expired'] : headers;
}

export function sizeJson(namespace: string, queue: string, size: number): string {
  return `{"namespace":"${namespace}","queue":"${queue}","size":${String(size)}}`;
}

function jobJson(namespace: string, job: StoredJob, msg: string, tries: number): string {
  return (
    `{"attributes":${attributesJson(job.attributes)},"data":"${job.body.toString('base64')}",` +
    `"elapsed_ms":${String(job.elapsedMs)},"job_id":"${job.id}",${msg}"namespace":"${namespace}",` +
    `"queue":"${job.queue}","remain_tries":${String(tries)},"ttl":${String(secondsLeft(job.ttlLeftMs))}}`
  );
}

/** Rounded as Redis rounds its TTL; but 0 means that the job never expires, and nothing else. */
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
