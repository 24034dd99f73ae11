import { join, pick } from '../contract/fields/derived.js';
import type { Plain } from '../contract/fields/field.js';
import { GoInteger, GoText, readStruct, structJson } from './go-json.js';

/* Fields of later's API, by the names of its wire. */

export class IdFields {
  @GoText('The id of a job.') id!: string;
}

/** The data of a job, as it is stored: JSON with these fields, in this order. */
class JobFields {
  @GoText('Names the kind of job.') topic!: string;
  @GoInteger('When it is called, Unix seconds.') execute_time!: bigint;
  @GoInteger('How often it is called again after a failure.') max_retry!: bigint;
  @GoText('The URL that is called.') callback!: string;
  @GoText('What the call contains.') content!: string;
  @GoInteger('When it was created, Unix seconds.') creat_time!: bigint;
}

export type LaterJob = Plain<JobFields>;

/** What `/create` takes. */
export class CreateFields extends pick(JobFields, ['topic', 'callback', 'content']) {
  @GoInteger('Time until it is called, in seconds.') delay!: bigint;
  @GoInteger('How often it is called again after a failure.') retry!: bigint;
}

class Retries {
  @GoInteger('How often it has failed.') has_retry!: bigint;
}

const QueryAnswer = join(
  join(join(IdFields, pick(JobFields, ['topic', 'execute_time', 'max_retry'])), Retries),
  pick(JobFields, ['callback', 'content', 'creat_time']),
);
const CallbackFields = join(IdFields, pick(JobFields, ['topic', 'content']));

/** The data of a job of later. */
export function bodyOf(job: LaterJob): Buffer {
  return Buffer.from(structJson(JobFields, job, JSON.stringify));
}

/** Null if another producer has published something else to the queue. */
export function laterJobOf(body: Buffer): LaterJob | null {
  return readStruct(body, JobFields);
}

/** The answer of `/create`. */
export function createAnswer(id: string): string {
  return structJson(IdFields, { id });
}

/** The answer of `/query`. */
export function queryAnswer(id: string, job: LaterJob, failures: number): string {
  return structJson(QueryAnswer, { ...job, id, has_retry: BigInt(failures) });
}

/** The body of a callback. */
export function callbackBody(id: string, job: LaterJob): Buffer {
  return Buffer.from(structJson(CallbackFields, { ...job, id }));
}
