import { MAX_CURSOR, MAX_LABEL, MAX_LEASE_QUEUES, MAX_MESSAGE, MAX_UINT32 } from '../domain/limits.js';
import { required } from '../contract/fields/derived.js';
import { Nullable, Optional } from '../contract/fields/field.js';
import {
  Flag,
  Label,
  Labels,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueNames,
  Text,
  Whole,
} from '../contract/fields/kinds.js';
import {
  ACKS,
  type Action,
  ACTIONS,
  ActionsByStatus,
  BODIES,
  BreakerFields,
  MAX_ORIGIN,
  MAX_RETRY_AFTER_MS,
  MAX_TIMEOUT_MS,
  MAX_URL,
  METHODS,
  MIN_TIMEOUT_MS,
  MOST_HEADERS,
  MOST_ORIGINS,
  SIGNATURES,
} from '../contract/targets.js';

const MOST_ITEMS = 1_000;

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
