import type { NewExtendedJob } from '../../contract/job/extended-job.js';
import type { ResultRights } from '../../domain/unique-rights.js';
import { fieldsOfJob } from './stored-options.js';

/** An expiry has 48 bits in the header; a longer time is practically unlimited. In milliseconds. */
export const LONGEST_MS = 2 ** 46;

/** A publish under a chosen id that may take the place of the job that has it. */
export interface InPlace {
  /** Refused if there is a job with the id, whatever its state. */
  readonly isOnlyNew?: boolean;
  /** A job in another queue than the new one is not replaced: it counts as one that may not be. */
  readonly isOwnQueueOnly?: boolean;
}

/**
 * Encodes a job's options as lua/commands/extended/publish.lua reads them: its arguments, and in `x` the fields of the job's
 * hash.
 *
 * @param replaces the id of the job that it replaces, over lmstfy's API: that decides what becomes of an expired lease
 */
export function optionsText(job: NewExtendedJob, replaces?: string, inPlace?: InPlace): string {
  return JSON.stringify({
    queue: job.queue,
    delay_ms: Math.min(job.delayMs ?? 0, LONGEST_MS),
    due_ms: job.dueMs,
    ttl_ms: job.ttlMs === undefined ? undefined : Math.min(job.ttlMs, LONGEST_MS),
    tries: job.tries,
    priority: job.priority,
    minted: job.id === undefined ? true : undefined,
    replaces,
    unique: job.unique && {
      mode: job.unique.mode,
      window_ms: Math.min(job.unique.windowMs ?? 0, LONGEST_MS),
      own_queue: job.unique.isOwnQueueOnly,
      no_push: job.unique.withoutPush,
    },
    refuse_missing: job.onMissingDependency === 'refuse' ? true : undefined,
    put: inPlace && { only_new: inPlace.isOnlyNew, own_queue: inPlace.isOwnQueueOnly },
    x: { ...fieldsOfJob(job), results_of: patternsText(job) },
  });
}

/** Queue patterns as lua/modules/jobs/dependency_results.lua reads them; undefined = all queues. */
export function patternsText({ resultsOf }: ResultRights): string | undefined {
  return resultsOf?.map((pattern) => `${pattern}\n`).join('');
}
