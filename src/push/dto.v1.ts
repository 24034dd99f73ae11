import { MAX_CURSOR, MAX_LABEL, MAX_LEASE_QUEUES, MAX_MESSAGE, MAX_UINT32 } from '../domain/limits.js';
import { optional, required } from '../contract/fields/derived.js';
import { Nullable, Optional, declare } from '../contract/fields/field.js';
import {
  Flag,
  Formed,
  isObject,
  Label,
  Labels,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueNames,
  Text,
  TextsByName,
  Whole,
} from '../contract/fields/kinds.js';
import { SECRET_RULE } from './send/signature.js';
import { ACKS, type Action, ACTIONS, BODIES, METHODS, SIGNATURES } from './target.js';

const MOST_ITEMS = 1_000;
const MAX_URL = 2_048;
const MIN_TIMEOUT_MS = 1_000;
const MAX_TIMEOUT_MS = 600_000;
const MAX_RETRY_AFTER_MS = 86_400_000;
/** How long an old secret can be kept, in milliseconds: thirty days. */
const MAX_KEEP_OLD_MS = 2_592_000_000;
const DAY_MS = 86_400_000;
const MOST_HEADERS = 20;
const MAX_HEADER = 4_096;
const MOST_STATUSES = 50;
const MOST_ORIGINS = 50;
const MAX_ORIGIN = 255;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const STATUS = /^(?:[1-5]xx|[1-5]\d\d)$/;
const SECRET = /^whsec_[A-Za-z0-9+/=]+$/;

/** An object of actions by status or class. */
function ActionsByStatus(about: string): PropertyDecorator {
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

export class BreakerAnswer {
  @OneOf(
    'State of the circuit breaker. `closed`: jobs are sent. `open`: none. `half_open`: one, as a trial. `off`: there is none.',
    ['closed', 'open', 'half_open', 'off'],
  )
  state!: string;
  @Nullable() @Moment('When the next trial is sent; null if it is closed.') open_until!: string | null;
  @Whole('How often it opened without a success in between.', 0, MAX_UINT32) openings!: number;
}

/** The settings of a breaker, all of them. */
export class BreakerSettingsAnswer extends required(BreakerFields) {}

export class TargetBreakerAnswer extends BreakerAnswer {
  @Nullable()
  @Part('When the breakers of the target open; null = it has none.', () => BreakerSettingsAnswer)
  settings!: BreakerSettingsAnswer | null;
}

export class OriginBreakerAnswer extends BreakerAnswer {
  @Label('The origin.', { max: MAX_ORIGIN }) origin!: string;
}

export class TargetAnswer {
  @Label('Its name.', { max: MAX_LABEL }) name!: string;
  @Text('The URL of the requests.', { max: MAX_URL }) url!: string;
  @Labels('Origins of the URLs that jobs may name.', { max: MOST_ORIGINS }, { max: MAX_ORIGIN })
  origins!: readonly string[];
  @OneOf('The method.', METHODS) method!: string;
  @Labels('The names of its headers. Their values are not shown.', { max: MOST_HEADERS }, { max: MAX_LABEL })
  header_names!: readonly string[];
  @Whole('The time limit of a request.', MIN_TIMEOUT_MS, MAX_TIMEOUT_MS) timeout_ms!: number;
  @OneOf('The body of a request.', BODIES) body!: string;
  @OneOf('Whether a 202 acknowledges the job (`response`), or the target does so later (`later`).', ACKS)
  ack!: string;
  @OneOf('How requests are signed.', SIGNATURES) sign!: string;
  @ActionsByStatus('Outcomes by status that override the default.')
  on_status!: Readonly<Record<string, Action>>;
  @Whole('The longest delay that a `Retry-After` can cause.', 0, MAX_RETRY_AFTER_MS)
  max_retry_after_ms!: number;
  @QueueNames('The queues that are pushed to it.', { min: 0, max: MAX_LEASE_QUEUES })
  queues!: readonly string[];
  @Part('Its circuit breaker.', () => TargetBreakerAnswer) breaker!: TargetBreakerAnswer;
  @Parts('The open breakers of its origins.', () => OriginBreakerAnswer, MOST_ITEMS, 0)
  origin_breakers!: readonly OriginBreakerAnswer[];
  @Nullable() @Moment('Since when it is paused; null = not paused.') paused_at!: string | null;
  @Nullable()
  @OneOf('`operator`: by a call. `gone`: it answered 410. null = not paused.', ['operator', 'gone'])
  pause_reason!: string | null;
  @Nullable() @Moment('Until when requests are also signed with the old secret.') old_secret_until!:
    | string
    | null;
  @Moment('When it was created.') created_at!: string;
  @Moment('When it was changed last.') updated_at!: string;
  @Optional()
  @Label('Its secret, if this call generated or set it. Never shown again.', { max: MAX_LABEL })
  secret?: string;
}

export class TargetsAnswer {
  @Parts('The targets of this page, by name.', () => TargetAnswer, MOST_ITEMS)
  items!: readonly TargetAnswer[];
  @Nullable()
  @Label('The cursor of the next page; null on the last one.', { max: MAX_CURSOR })
  next_cursor!: string | null;
}

export class TestAnswer {
  @Nullable() @Whole('The status of the answer; null = there was none.', 100, 999) status!: number | null;
  @Nullable()
  @OneOf('Why there was no answer; null = there was one.', [
    'timeout',
    'dns',
    'tls',
    'connect',
    'blocked',
    'protocol',
    'aborted',
  ])
  problem!: string | null;
  @Nullable() @Text('The problem in words.', { max: MAX_MESSAGE }) message!: string | null;
  @Whole('How long it took.', 0, MAX_UINT32) took_ms!: number;
  @Text('The beginning of the answer, 1 KiB at most, as UTF-8.', { min: 0, max: MAX_MESSAGE }) body!: string;
  @OneOf('The outcome that a job would have.', [...ACTIONS, 'keep']) action!: string;
  @Flag('True: the request was signed.') signed!: boolean;
}
