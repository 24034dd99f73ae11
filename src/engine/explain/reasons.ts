import type { JobDetails } from '../../contract/job/extended-job.js';
import type { Recurring } from '../../contract/job/recurring.js';
import type { QueueSettings, TypeSeen } from '../../contract/queue-settings.js';
import type { JobState } from '../../domain/job/states.js';
import type { LoopStatus } from '../../domain/loop.js';

/* What Redis, and the process that answers, know of a job, a queue or a recurring job. Times are Unix ms. */

/** A lease request that named a queue. */
export interface LeaseRequestSeen {
  readonly queue: string;
  /** Unix ms; at most ten seconds older than the newest one. */
  readonly atMs: number;
  /** The worker that the last one with a name was from; null = none gave a name. */
  readonly worker: string | null;
}

/** How many jobs of a queue are in each state. */
export interface CountsSeen {
  readonly ready: number;
  readonly scheduled: number;
  readonly blocked: number;
  readonly held: number;
  readonly leased: number;
  /** When the first of the scheduled ones is due; null = not known. */
  readonly nextDueMs: number | null;
}

/** The push target of a queue. */
export interface TargetSeen {
  readonly name: string;
  /** False: there is no target of this name. */
  readonly exists: boolean;
  readonly pausedAtMs: number | null;
  readonly pauseReason: string | null;
  /** Its circuit breaker, or that of an origin, while it is open. */
  readonly breaker: BreakerSeen | null;
}

export interface BreakerSeen {
  readonly openUntilMs: number;
  /** What the request was answered that opened it; null = not known. */
  readonly lastAnswer: string | null;
}

/** What decides whether a queue gives jobs. */
export interface QueueReasons {
  readonly nowMs: number;
  readonly queue: string;
  readonly exists: boolean;
  /** True while Redis has used all of its `maxmemory`. */
  readonly isStoreFull: boolean;
  readonly settings: QueueSettings;
  readonly counts: CountsSeen;
  /** When the rate limit allows the next job; null = it allows one now, or there is none. */
  readonly rateAtMs: number | null;
  /** How many jobs were leased lately, and in how many milliseconds. */
  readonly pace: { readonly leased: number; readonly withinMs: number };
  /** The last lease request that named it; null = none is known. */
  readonly lastRequest: LeaseRequestSeen | null;
  /** True while a lease request waits for its jobs. */
  readonly isAwaited: boolean;
  /** The newest lease requests of the namespace, one for each queue. */
  readonly requests: readonly LeaseRequestSeen[];
  /** Null = its jobs are not pushed. */
  readonly target: TargetSeen | null;
  /** True from the first lease by type on. */
  readonly isByType: boolean;
  /** Of the types with ready jobs those whose jobs come first. Read of a queue, not of its jobs. */
  readonly types: readonly TypeSeen[];
  /** True if more types than these have ready jobs. */
  readonly hasMoreTypes: boolean;
  /** Ready jobs of fair keys that are paused. Read of a queue, not of its jobs. */
  readonly readyOfPausedKeys: number;
}

/** A job that another one waits for. */
export interface DependencySeen {
  readonly id: string;
  /** Null: no such job is known. */
  readonly state: JobState | null;
  readonly queue: string | null;
}

/** A job that has a slot of a concurrency key. */
export interface HolderSeen {
  readonly id: string;
  /** Null: no such job is known. */
  readonly state: JobState | null;
  readonly worker: string | null;
  /** Since when it is leased. */
  readonly leasedAtMs: number | null;
}

/** Jobs before a ready one. */
export interface FrontSeen {
  /** Of a priority that goes first. */
  readonly urgent: number;
  /** Of its own priority. */
  readonly older: number;
  /** False: there may be more. */
  readonly isExact: boolean;
  /** True: of its type only; those of other types do not delay it. */
  readonly isOfType: boolean;
}

/** What decides when a job runs. */
export interface JobReasons {
  readonly nowMs: number;
  readonly job: JobDetails;
  readonly queue: QueueReasons;
  /** Since when it is leased, or its handler has begun; null = it is not leased, or that is not stored. */
  readonly leasedAtMs: number | null;
  /** When its run ends by `max_run_ms`; null = it has no limit, or is not leased. */
  readonly runEndsAtMs: number | null;
  /** Jobs before a ready one. */
  readonly front: FrontSeen | null;
  /** In a fair queue: its fair key, null = it has none, and how many keys have an earlier turn. Null: not in a fair queue. */
  readonly turn: { readonly key: string | null; readonly keysBefore: number } | null;
  /** When a lease request took jobs of its type last, Unix ms; null = none is known. */
  readonly typeRequestMs: number | null;
  /** True while a lease request waits for jobs of its type. */
  readonly isTypeAwaited: boolean;
  /** When a lease request for some types of its queue was made last; null = none is known. One that waits is made now. */
  readonly typedRequestMs: number | null;
  /** The slots of its concurrency key: how many are taken, and some of the jobs that have them. */
  readonly slots: { readonly taken: number; readonly holders: readonly HolderSeen[] } | null;
  /** How many held jobs of its concurrency key come before it. */
  readonly heldBefore: number;
  /** When the rate limit of its key allows the next job; null = now. */
  readonly keyRateAtMs: number | null;
  /** Some of the jobs that it waits for, and of those that have failed. */
  readonly dependencies: readonly DependencySeen[];
  /** Some of the dead jobs that it waits for, also through others, the nearest first. */
  readonly deadDependencies: readonly { readonly id: string; readonly queue: string }[];
  /** True if one of them has failed, so that it never becomes ready by itself. */
  readonly isStuck: boolean;
  /** How many of those, and of the failed ones, are left out: the caller may not see their queues. */
  readonly hiddenDependencies: number;
  /** The origin of its push for which it is held, `''` = that of the target's own URL; null = it is not held for one. */
  readonly origin: { readonly url: string; readonly breaker: BreakerSeen } | null;
  /** The session of the worker that has its lease; null = it has none. */
  readonly session: { readonly heartbeatAtMs: number; readonly ttrMs: number } | null;
  /** The loops of the answering process that return jobs whose lease has ended; by the clock of its machine. */
  readonly loops: readonly LoopStatus[];
}

/** How a tracked job ended that is gone. */
export interface JobEnd {
  readonly id: string;
  readonly queue: string;
  readonly nowMs: number;
  readonly goneAtMs: number;
  readonly outcome: 'done' | 'cancelled' | 'expired' | 'replaced' | 'deleted';
}

/** What decides when a recurring job makes its next job. */
export interface RecurringReasons {
  readonly nowMs: number;
  readonly recurring: Recurring;
  /** The queue that it makes jobs for. */
  readonly queue: QueueReasons;
}

/** What the process that answers knows of itself. */
export interface ServerReasons {
  readonly namespace: string;
  /** True if it pushes jobs to targets. */
  readonly isPushing: boolean;
  /** True while the pool of the namespace moves to another Redis. */
  readonly isMoving: boolean;
}

/** True for what is known of a job that is gone. */
export function isEnd(found: JobReasons | JobEnd): found is JobEnd {
  return 'outcome' in found;
}
