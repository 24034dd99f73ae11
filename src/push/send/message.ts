import { BYTES, PLAIN_JSON } from '../../domain/content-type.js';
import { depthOfData } from '../../contract/json/stored-json.js';
import type { LeasedJob } from '../../domain/job/job.js';
import { MAX_TRIES } from '../../domain/limits.js';
import { join, pick } from '../../contract/fields/derived.js';
import { Whole } from '../../contract/fields/kinds.js';
import { toWire } from '../../contract/fields/wire.js';
import { JobAnswer } from '../../contract/job/answers.js';
import { answerData } from '../../contract/job/data-answer.js';
import { jsonOfTexts } from '../../contract/json/json-text.js';
import { signatureOf } from './signature.js';
import type { Target, TargetSecrets } from '../../engine/queues/stored-targets.js';

/** What is sent for a job. */
export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Characters that a header value may have. */
const VISIBLE = /^[\x20-\x7e]+$/;
/** W3C Trace Context. */
const TRACE_PARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const USER_AGENT = 'Pumphouse';

/** Builds the request of a job, signed at `nowMs`. @param ackUrl acknowledges the job later */
export function messageOf(
  job: LeasedJob,
  target: Pick<Target, 'body' | 'sign' | 'oldSecretUntilMs'>,
  secrets: TargetSecrets,
  nowMs: number,
  ackUrl?: string,
): Message {
  const isWhole = target.body === 'job';
  const body = isWhole ? Buffer.from(jsonOfTexts(envelopeOf(job))) : job.body;
  const trace = job.attributes?.['traceparent'];
  return {
    body,
    headers: {
      'content-type': isWhole ? PLAIN_JSON : contentTypeOf(job),
      'user-agent': USER_AGENT,
      'idempotency-key': job.id,
      'pumphouse-queue': job.queue,
      'pumphouse-attempt': String(job.attempts),
      'pumphouse-tries-left': String(job.triesLeft),
      ...(trace !== undefined && TRACE_PARENT.test(trace) ? { traceparent: trace } : {}),
      ...(ackUrl === undefined ? {} : { 'pumphouse-ack-url': ackUrl }),
      ...signatureHeaders(job.id, body, target, secrets, nowMs),
      ...secrets.headers,
    },
  };
}

/** The headers of Standard Webhooks; without the signature, if the target wants none. */
export function signatureHeaders(
  id: string,
  body: Buffer,
  { sign, oldSecretUntilMs }: Pick<Target, 'sign' | 'oldSecretUntilMs'>,
  { secret, oldSecret }: TargetSecrets,
  nowMs: number,
): Record<string, string> {
  const timestampS = Math.floor(nowMs / 1_000);
  const named = { 'webhook-id': id, 'webhook-timestamp': String(timestampS) };
  if (sign === 'none') return named;
  const hasOld = oldSecret !== null && oldSecretUntilMs !== null && oldSecretUntilMs > nowMs;
  const secrets = hasOld ? [secret, oldSecret] : [secret];
  return { ...named, 'webhook-signature': signatureOf(secrets, id, timestampS, body) };
}

/** lmstfy's clients publish any bytes without a type. */
function contentTypeOf({ body, extended }: LeasedJob): string {
  const stored = extended?.contentType ?? null;
  if (stored !== null) return VISIBLE.test(stored) ? stored : BYTES;
  return depthOfData(body, null) !== undefined ? PLAIN_JSON : BYTES;
}

class AttemptFields {
  @Whole('The number of the attempt.', 1, MAX_TRIES) attempt!: number;
}

const Head = pick(JobAnswer, ['id', 'queue', 'type', 'tags', 'attributes']);
const Rest = pick(JobAnswer, [
  ...(['tries', 'tries_left', 'published_at', 'expires_at'] as const),
  ...(['data', 'data_base64', 'content_type'] as const),
]);
/** The body `job`, in the order in which it is signed. */
const Envelope = join(join(Head, AttemptFields), Rest);

function envelopeOf(job: LeasedJob): object {
  const { attempts: attempt, body, extended } = job;
  return toWire(Envelope, {
    ...{ ...job, attempt, type: extended?.type ?? null, tags: extended?.tags ?? [] },
    ...answerData(body, extended?.contentType ?? null, Infinity),
  });
}
