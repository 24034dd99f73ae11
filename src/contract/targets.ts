import { optional } from './fields/derived.js';
import { declare, Nullable, Optional } from './fields/field.js';
import { Formed, isObject, Labels, OneOf, Part, Text, TextsByName, Whole } from './fields/kinds.js';

/* Targets of HTTP push in requests. */

/** What becomes of a job by the status of an answer. */
export const ACTIONS = ['ack', 'retry', 'release', 'fail'] as const;
export type Action = (typeof ACTIONS)[number];
export const METHODS = ['POST', 'PUT', 'PATCH'] as const;
/** `raw`: the bytes of the job. `job`: a JSON object with the job's fields. */
export const BODIES = ['raw', 'job'] as const;
/** Whether a 202 acknowledges a job, or the target does it later. */
export const ACKS = ['response', 'later'] as const;
export const SIGNATURES = ['standard', 'none'] as const;

/** Bytes of a secret, as Standard Webhooks recommends. */
export const MIN_SECRET_BYTES = 24;
export const MAX_SECRET_BYTES = 64;
export const SECRET_RULE = `must be whsec_ and ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes in base64`;

export const MAX_URL = 2_048;
export const MIN_TIMEOUT_MS = 1_000;
export const MAX_TIMEOUT_MS = 600_000;
export const MAX_RETRY_AFTER_MS = 86_400_000;
/** How long an old secret can be kept, in milliseconds: thirty days. */
const MAX_KEEP_OLD_MS = 2_592_000_000;
const DAY_MS = 86_400_000;
export const MOST_HEADERS = 20;
const MAX_HEADER = 4_096;
const MOST_STATUSES = 50;
export const MOST_ORIGINS = 50;
export const MAX_ORIGIN = 255;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const STATUS = /^(?:[1-5]xx|[1-5]\d\d)$/;
const SECRET = /^whsec_[A-Za-z0-9+/=]+$/;

/** An object of actions by status or class. */
export function ActionsByStatus(about: string): PropertyDecorator {
  const schema = {
    type: 'object',
    maxProperties: MOST_STATUSES,
    propertyNames: { pattern: STATUS.source },
    additionalProperties: { type: 'string', enum: ACTIONS },
    examples: [{ '404': 'fail', '4xx': 'retry' }],
  };
  const rule = `must be an object of at most ${MOST_STATUSES} statuses such as 404 or 4xx, each with one of ${ACTIONS.join(', ')}`;
  return declare({ schema, about }, rule, (value) => {
    if (!isObject(value)) return false;
    const entries = Object.entries(value);
    return (
      entries.length <= MOST_STATUSES &&
      entries.every(([status, action]) => STATUS.test(status) && ACTIONS.some((one) => one === action))
    );
  });
}

const MAX_FAILURES = 1_000;
const MAX_REQUESTS = 10_000;
const MIN_OPEN_MS = 1_000;
const MAX_OPEN_MS = 86_400_000;

export class BreakerFields {
  @Optional()
  @Whole('Requests in a row without an answer that open it; default 5.', 1, MAX_FAILURES)
  failures?: number;
  @Optional()
  @Whole(
    'It opens also if this share of the requests of the last minute failed, in percent; default 50.',
    1,
    100,
  )
  failure_percent?: number;
  @Optional()
  @Whole('For `failure_percent`: the least requests of the last minute; default 10.', 1, MAX_REQUESTS)
  min_requests?: number;
  @Optional()
  @Whole(
    'How long it is open before a trial; doubled after each trial that fails; default 30,000.',
    MIN_OPEN_MS,
    MAX_OPEN_MS,
  )
  open_ms?: number;
  @Optional()
  @Whole('The longest time that it is open; default 300,000.', MIN_OPEN_MS, MAX_OPEN_MS)
  max_open_ms?: number;
}

export class TargetFields {
  @Text('The URL of the requests: https, or http if the server allows it. Without user name and password.', {
    max: MAX_URL,
  })
  url!: string;
  @Optional()
  @Labels(
    'Origins, as `https://api.example`, of the URLs that jobs may name. Requests to them have the headers of the target, and are signed with its secret.',
    { max: MOST_ORIGINS },
    { max: MAX_ORIGIN },
  )
  origins?: string[];
  @Optional() @OneOf('The method; default POST.', METHODS) method?: (typeof METHODS)[number];
  @Optional()
  @TextsByName('Headers of each request. Their values are never shown again.', {
    ...{
      count: MOST_HEADERS,
      name: HEADER_NAME,
      nameRule: 'the characters of a header name',
      max: MAX_HEADER,
    },
  })
  headers?: Record<string, string>;
  @Optional()
  @Whole(
    'The time limit of a request, from the connection to the last byte of the answer; default 30,000.',
    MIN_TIMEOUT_MS,
    MAX_TIMEOUT_MS,
  )
  timeout_ms?: number;
  @Optional()
  @OneOf('`raw` (default): the payload. `job`: a JSON object with the fields of the job.', BODIES)
  body?: (typeof BODIES)[number];
  @Optional()
  @OneOf(
    '`response` (default): any 2xx acknowledges the job, a 202 too. `later`: after a 202 the lease continues, and the target acknowledges by a call to the URL in `Pumphouse-Ack-Url`.',
    ACKS,
  )
  ack?: (typeof ACKS)[number];
  @Optional()
  @OneOf('`standard` (default): by Standard Webhooks. `none`: requests are not signed.', SIGNATURES)
  sign?: (typeof SIGNATURES)[number];
  @Optional()
  @ActionsByStatus('The outcome by status (`404`) or class (`4xx`), overriding the default.')
  on_status?: Record<string, Action>;
  @Optional()
  @Whole('The longest delay that a `Retry-After` can cause; default an hour.', 0, MAX_RETRY_AFTER_MS)
  max_retry_after_ms?: number;
  @Optional()
  @Nullable()
  @Part(
    'When its circuit breakers open; null = it has none. A change keeps the fields that it leaves out.',
    () => BreakerFields,
  )
  breaker?: BreakerFields | null;
  @Optional()
  @Formed(
    'The secret that requests are signed with; default: generated. Never shown again.',
    SECRET,
    SECRET_RULE,
  )
  secret?: string;
}

/** The fields of a target that change. */
export class TargetChangeFields extends optional(TargetFields) {}

export class RotateFields {
  @Optional()
  @Whole(
    'How long requests are also signed with the old secret; default a day, 0 = not at all.',
    0,
    MAX_KEEP_OLD_MS,
  )
  keep_old_ms: number = DAY_MS;
  @Optional()
  @Formed('The new secret; default: generated.', SECRET, SECRET_RULE)
  secret?: string;
}
