import { Nullable } from './fields/field.js';
import { AnyJson, Label, Moment, OneOf, Parts } from './fields/kinds.js';
import type { Inside } from './fields/wire.js';

/** Why a job, a queue or a recurring job waits. The first one that holds is the cause: src/engine/explain has their order. */
export const CAUSES = [
  'backoff',
  'behind',
  'blocked',
  'breaker_open',
  'cancel_requested',
  'cancelled',
  'concurrency_key',
  'dead',
  'debounce',
  'deleted',
  'done',
  'draining',
  'empty',
  'expired',
  'fair_turn',
  'flowing',
  'key_paused',
  'lease_ended',
  'lease_silent',
  'leased',
  'max_running',
  'no_handler',
  'no_worker',
  'no_worker_for_type',
  'order',
  'paused',
  'pool_moving',
  'push_off',
  'rate',
  'replaced',
  'scheduled',
  'store_full',
  'store_unavailable',
  'target_missing',
  'target_paused',
  'type_paused',
] as const;
export type CauseName = (typeof CAUSES)[number];

/** Longest sentence, and longest call of a remedy, in characters. */
export const MAX_SENTENCE = 2_000;
const MANY = 100;

export class RemedyAnswer {
  @Label('What it does.', { max: MAX_SENTENCE }) about!: string;
  @Label('The call: method, path, and the body if it has one.', { max: MAX_SENTENCE }) call!: string;
  @Nullable()
  @Label('The same on the command line; null = it has no command for it.', { max: MAX_SENTENCE })
  command!: string | null;
}

export class AlsoAnswer {
  @OneOf('Its name.', CAUSES) cause!: string;
  @Label('One sentence.', { max: MAX_SENTENCE }) message!: string;
}

/** Why a job does not run, or why a queue gives no jobs. */
export class ExplanationAnswer {
  @OneOf('The cause.', CAUSES) cause!: string;
  @Label('One sentence that names it.', { max: MAX_SENTENCE }) message!: string;
  @AnyJson('What the sentence is made from: ids, times and numbers; they depend on the cause.')
  facts!: unknown;
  @Nullable() @Moment('Since when; null = not known.') since!: string | null;
  @Nullable() @Moment('When it ends or is tried again; null = nothing is planned.') next_at!: string | null;
  @Parts('What one can do.', () => RemedyAnswer, MANY) remedies!: readonly RemedyAnswer[];
  @Parts('What holds too, and would be next.', () => AlsoAnswer, MANY) also!: readonly AlsoAnswer[];
}

/** The same as the server has it: `nextAtMs`, Unix ms. */
export type Explanation = Inside<ExplanationAnswer>;
export type Remedy = Inside<RemedyAnswer>;

/** One reason why a job or a queue waits. Times are Unix ms. */
export interface Cause {
  readonly cause: CauseName;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly sinceMs: number | null;
  readonly nextAtMs: number | null;
  readonly remedies: readonly Remedy[];
}
