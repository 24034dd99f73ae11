import { MAX_LABEL, MAX_LEASE_QUEUES, MAX_MESSAGE, MAX_UINT32 } from '../domain/limits.js';
import { Nullable, Optional, declare } from '../http/fields/field.js';
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
} from '../http/fields/kinds.js';
import { SECRET_RULE } from './signature.js';
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
  const rule = `must be an object of at most ${MOST_STATUSES} statuses as 404 or 4xx, each with one of ${ACTIONS.join(', ')}`;
  return declare({ schema, about }, rule, (value) => {
    if (!isObject(value)) return false;
    const entries = Object.entries(value);
    return (
      entries.length <= MOST_STATUSES &&
      entries.every(([status, action]) => STATUS.test(status) && ACTIONS.some((one) => one === action))
    );
  });
}

export class TargetChangeFields {
  @Optional()
  @Text('Where requests go: https, or http if the server allows it. No name or password in it.', {
    max: MAX_URL,
  })
  url?: string;
  @Optional()
  @Labels(
    'Origins, as `https://api.example`, of the URLs that jobs may name. The headers and the secret of the target are for them too.',
    { max: MOST_ORIGINS },
    { max: MAX_ORIGIN },
  )
  origins?: string[];
  @Optional() @OneOf('The method; POST if it is left out.', METHODS) method?: (typeof METHODS)[number];
  @Optional()
  @TextsByName('Headers of each request. Never shown again.', {
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
    'How long a request may take, from the connection to the last byte of the answer; 30,000 if it is left out.',
    MIN_TIMEOUT_MS,
    MAX_TIMEOUT_MS,
  )
  timeout_ms?: number;
  @Optional()
  @OneOf(
    '`raw`, as if it is left out: the bytes of the job. `job`: a JSON object with the fields of the job.',
    BODIES,
  )
  body?: (typeof BODIES)[number];
  @Optional()
  @OneOf(
    '`response`, as if it is left out: a 202 acknowledges as any 2xx. `later`: after a 202 the lease goes on, and the target calls the URL of `Pumphouse-Ack-Url`.',
    ACKS,
  )
  ack?: (typeof ACKS)[number];
  @Optional()
  @OneOf(
    '`standard`, as if it is left out: by Standard Webhooks. `none`: requests are not signed.',
    SIGNATURES,
  )
  sign?: (typeof SIGNATURES)[number];
  @Optional()
  @ActionsByStatus(
    'What becomes of the job, by status (`404`) or class (`4xx`), where the usual is not wanted.',
  )
  on_status?: Record<string, Action>;
  @Optional()
  @Whole(
    'The longest delay that a `Retry-After` can cause; an hour if it is left out.',
    0,
    MAX_RETRY_AFTER_MS,
  )
  max_retry_after_ms?: number;
  @Optional()
  @Formed(
    'The secret that requests are signed with. The server makes one if there is none. Never shown again.',
    SECRET,
    SECRET_RULE,
  )
  secret?: string;
}

export class TargetFields extends TargetChangeFields {
  @Text('Where requests go: https, or http if the server allows it. No name or password in it.', {
    max: MAX_URL,
  })
  declare url: string;
}

export class RotateFields {
  @Optional()
  @Whole(
    'How long requests are signed with the old secret too; 0 = no longer. A day if it is left out.',
    0,
    MAX_KEEP_OLD_MS,
  )
  keep_old_ms: number = DAY_MS;
  @Optional()
  @Formed('The new secret; the server makes one if it is left out.', SECRET, SECRET_RULE)
  secret?: string;
}

export class BreakerAnswer {
  @OneOf('`closed`: jobs are sent. `open`: none is. `half_open`: one is, to see.', [
    'closed',
    'open',
    'half_open',
  ])
  state!: string;
  @Nullable() @Moment('When it is tried again; null if it is closed.') open_until!: string | null;
  @Whole('How often it opened in a row.', 0, MAX_UINT32) openings!: number;
}

export class OriginBreakerAnswer extends BreakerAnswer {
  @Label('The origin.', { max: MAX_ORIGIN }) origin!: string;
}

export class TargetAnswer {
  @Label('Its name.', { max: MAX_LABEL }) name!: string;
  @Text('Where requests go.', { max: MAX_URL }) url!: string;
  @Labels('Origins of the URLs that jobs may name.', { max: MOST_ORIGINS }, { max: MAX_ORIGIN })
  origins!: readonly string[];
  @OneOf('The method.', METHODS) method!: string;
  @Labels('The names of its headers. Their values are not shown.', { max: MOST_HEADERS }, { max: MAX_LABEL })
  header_names!: readonly string[];
  @Whole('How long a request may take.', MIN_TIMEOUT_MS, MAX_TIMEOUT_MS) timeout_ms!: number;
  @OneOf('What is sent.', BODIES) body!: string;
  @OneOf('Whether a 202 acknowledges, or the target does it later.', ACKS) ack!: string;
  @OneOf('How requests are signed.', SIGNATURES) sign!: string;
  @ActionsByStatus('What becomes of the job by status, where it is not the usual.')
  on_status!: Readonly<Record<string, Action>>;
  @Whole('The longest delay that a `Retry-After` can cause.', 0, MAX_RETRY_AFTER_MS)
  max_retry_after_ms!: number;
  @QueueNames('The queues that are pushed to it.', { min: 0, max: MAX_LEASE_QUEUES })
  queues!: readonly string[];
  @Part('Whether it is left alone because it fails.', () => BreakerAnswer) breaker!: BreakerAnswer;
  @Parts(
    'Those of its origins that are left alone because they fail.',
    () => OriginBreakerAnswer,
    MOST_ITEMS,
    0,
  )
  origin_breakers!: readonly OriginBreakerAnswer[];
  @Nullable() @Moment('No job is sent to it since then; null = they are.') paused_at!: string | null;
  @Nullable()
  @OneOf('`operator`: by a call. `gone`: it answered 410. Null: it is not paused.', ['operator', 'gone'])
  pause_reason!: string | null;
  @Nullable() @Moment('Until when requests are signed with the old secret too.') old_secret_until!:
    string | null;
  @Moment('When it was stored first.') created_at!: string;
  @Moment('When it was changed last.') updated_at!: string;
  @Optional()
  @Label('Its secret, where this call has made or set it. Never shown again.', { max: MAX_LABEL })
  secret?: string;
}

export class TargetsAnswer {
  @Parts('All targets of the namespace, by name.', () => TargetAnswer, MOST_ITEMS)
  items!: readonly TargetAnswer[];
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
  @OneOf('What would become of a job.', [...ACTIONS, 'keep']) action!: string;
  @Flag('True: the request was signed.') signed!: boolean;
}
