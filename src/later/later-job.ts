import { goString, readFields, type Values } from './go-json.js';

/** The data of a job, as it is stored: JSON under these names. Times are Unix seconds. */
const STORED = {
  topic: 'text',
  execute_time: 'integer',
  max_retry: 'integer',
  callback: 'text',
  content: 'text',
  creat_time: 'integer',
} as const;

export type LaterJob = Values<typeof STORED>;

/** The data of a job of later. */
export function bodyOf({ topic, execute_time, max_retry, callback, content, creat_time }: LaterJob): Buffer {
  const text = (value: string): string => JSON.stringify(value);
  return Buffer.from(
    `{"topic":${text(topic)},"execute_time":${String(execute_time)},"max_retry":${String(max_retry)},` +
      `"callback":${text(callback)},"content":${text(content)},"creat_time":${String(creat_time)}}`,
  );
}

/** Null if another producer has published something else to the queue. */
export function laterJobOf(body: Buffer): LaterJob | null {
  return readFields(body, STORED);
}

/** The answer of `/query`. */
export function queryAnswer(id: string, job: LaterJob, failures: number): string {
  return (
    `{"id":${goString(id)},"topic":${goString(job.topic)},"execute_time":${String(job.execute_time)},` +
    `"max_retry":${String(job.max_retry)},"has_retry":${String(failures)},"callback":${goString(job.callback)},` +
    `"content":${goString(job.content)},"creat_time":${String(job.creat_time)}}`
  );
}

/** The body of a callback. */
export function callbackBody(id: string, { topic, content }: LaterJob): Buffer {
  return Buffer.from(`{"id":${goString(id)},"topic":${goString(topic)},"content":${goString(content)}}`);
}
