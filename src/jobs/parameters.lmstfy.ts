import type { LmstfyConfig } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import { MAX_RESERVE_COUNT, MAX_TRIES, MAX_UINT32 } from '../domain/limits.js';
import { type Query, wholeNumber } from '../http/query.js';

/** How a published job is to be treated. */
export interface PublishParameters {
  readonly delayMs: number;
  readonly ttlMs: number;
  readonly tries: number;
}

/** What a consume call asks for. */
export interface ConsumeParameters {
  readonly ttrMs: number;
  readonly waitMs: number;
  readonly count: number;
  readonly queues: string[];
}

/** @throws {QueueError} `invalid_argument`, for the first parameter that is wrong, in lmstfy's order and words */
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

/** @throws {QueueError} `invalid_argument`, for the first parameter that is wrong, in lmstfy's order and words */
export function consumeParameters(list: string, query: Query, defaults: LmstfyConfig): ConsumeParameters {
  const ttrS = wholeNumber(query, 'ttr', defaults.default_ttr_s, MAX_UINT32);
  if (ttrS === undefined) throw invalid('invalid ttr');
  const timeoutS = wholeNumber(query, 'timeout', defaults.default_timeout_s, MAX_UINT32);
  if (timeoutS === undefined) throw invalid('invalid timeout');
  const count = wholeNumber(query, 'count', 1, MAX_RESERVE_COUNT);
  if (count === undefined || count === 0) throw invalid('invalid count');
  const queues = list.includes(',') ? distinct(list) : [list];
  if (queues.length === 0) throw invalid('invalid queue name(s)');
  return { ttrMs: ttrS * 1000, waitMs: timeoutS * 1000, count, queues };
}

/** The names of a comma-separated list, each once: the first place of a name is its priority. */
function distinct(list: string): string[] {
  return [...new Set(list.split(',').filter((name) => name !== ''))];
}

function invalid(message: string): QueueError {
  return new QueueError('invalid_argument', message);
}
