import type { FairKey } from '../../contract/queue-settings.js';
import type { FairKeysSeen } from '../queues/fair-keys.js';
import { performance } from 'node:perf_hooks';
import { notFound, QueueError } from '../../domain/errors.js';
import type { QueueCounts } from '../../domain/job/job.js';
import type { WorkerFacts } from '../../contract/workers.js';
import type { Engine, RecurringCalls, SessionCalls, SettleCalls, TargetCalls } from '../engine.js';
import type { StoredQueues } from '../queues/queues.js';
import type { TargetChange } from '../queues/targets.js';
import type { RecurringPage } from '../recurring/recurring.js';
import {
  both,
  bothIfUp,
  brought,
  type Call,
  follow,
  isFound,
  type Mark,
  marked,
  type Move,
  sum,
  sumByKey,
  sumByName,
  toNew,
  union,
} from './marks.js';
import { isFull, newIsAway, oldIsAway } from './move-errors.js';

/** A call on a queue. */
type QueueCall<A extends unknown[], R> = Call<[namespace: string, queue: string, ...rest: A], R>;
/** A call on a recurring job, or a session. */
type IdCall<A extends unknown[], R> = Call<[namespace: string, id: string, ...rest: A], R>;

/**
 * Queues and their settings. What a call reads or changes is moved first; settings are changed in both pools, as jobs of
 * both are leased by them.
 */
export function movingStoredQueues({ old, next, mover }: Move): StoredQueues {
  const isIn = async ({ queues }: Engine, namespace: string, queue: string): Promise<boolean> =>
    (await queues.stored.settings(namespace, [queue]))[0] !== null;
  /** A call that fails for a pool that is away must not have removed half of the jobs. */
  const assertBothUp = (): void => {
    if (!old.isUp) throw oldIsAway();
    if (!next.isUp) throw newIsAway();
  };
  /** The pools that have the queue. */
  const inBoth = (): Mark<QueueCall<[], void>> => (ofOld, ofNext) => async (namespace, queue) => {
    if (!old.isUp) throw oldIsAway();
    await mover.bring(namespace);
    const [inOld, inNext] = [await isIn(old, namespace, queue), await isIn(next, namespace, queue)];
    if (!inOld && !inNext) throw notFound('queue', queue);
    if (inOld) await ofOld(namespace, queue);
    if (inNext) await ofNext(namespace, queue);
  };
  /** Both pools, which make the queue: jobs of the old pool may still go on to one that it does not have. */
  const made =
    <A extends unknown[]>(): Mark<QueueCall<A, boolean>> =>
    (ofOld, ofNext) =>
    async (namespace, queue, ...rest) => {
      if (!old.isUp) throw oldIsAway();
      await mover.bring(namespace);
      const wasInOld = await isIn(old, namespace, queue);
      // The old pool first: a setting that is reset there is not copied again.
      // guard: setting-is-reset-in-the-old-store-first
      await /* guard: queue-is-made-in-both-stores */ ofOld(namespace, queue, ...rest).catch(
        (error: unknown) => {
          if (wasInOld || !(/* guard: old-store-refuses-no-new-queue */ isOfStore(error))) throw error;
        },
      );
      const isCreated = await ofNext(namespace, queue, ...rest);
      return isCreated && !wasInOld;
    };
  return marked<StoredQueues>(old.queues.stored, next.queues.stored, {
    names: bothIfUp(old, union),
    counts: both((ofNext, ofOld) => ofNext.map((counts, i) => sumOfCounts(counts, ofOld[i]))),
    size: both(sum),
    // The next job for a consumer: of the old pool if it has any.
    peek: (ofOld, ofNext) => async (namespace, queue) =>
      (old.isUp ? await ofOld(namespace, queue) : null) ?? ofNext(namespace, queue),
    destroy: (ofOld, ofNext) => async (namespace, queue) => {
      // guard: destroy-needs-both-stores
      assertBothUp();
      return (await ofOld(namespace, queue)) + (await ofNext(namespace, queue));
    },
    settings: brought(mover, (ofOld, ofNext) => async (namespace, queues) => {
      const found = await ofNext(namespace, queues);
      if (!old.isUp || found.every(isFound)) return found;
      const before = await ofOld(namespace, queues);
      return found.map((one, i) => one ?? before[i] ?? null);
    }),
    change: made(),
    pause: made(),
    resume: inBoth(),
    drain: inBoth(),
    forget: inBoth(),
    count: both(sumByName),
    largest: (ofOld, ofNext) => async (namespace, queue, limit) => {
      const seen = await Promise.all(
        [...(old.isUp ? [ofOld] : []), ofNext].map((of) => of(namespace, queue, limit)),
      );
      return keysOfBoth(seen, limit);
    },
    purge: (ofOld, ofNext) => async (namespace, queue, states, patienceMs) => {
      const beganMs = performance.now();
      // guard: queue-purge-needs-both-stores
      assertBothUp();
      const one = await ofOld(namespace, queue, states, patienceMs);
      if (!one.isComplete) return one;
      const leftMs = patienceMs === undefined ? undefined : patienceMs - (performance.now() - beganMs);
      const other = await ofNext(namespace, queue, states, leftMs);
      return { removed: sumByName(one.removed, other.removed), isComplete: other.isComplete };
    },
  });
}

/**
 * Refusals of the old pool that are its own: it has no room, or a queue that is not in it is not fair there. Then it
 * makes no queue for its jobs. The new pool refuses what is wrong with a request.
 */
const OF_STORE: ReadonlySet<string> = new Set([
  'store_full',
  'disk_full',
  'too_many_queues',
  'format_too_old',
  'invalid_argument',
]);

/** True if a store refuses a queue that it does not have. */
function isOfStore(error: unknown): boolean {
  return error instanceof QueueError && OF_STORE.has(error.code);
}

/** A key that is in both pools has the jobs of both. */
function keysOfBoth(seen: readonly FairKeysSeen[], limit: number): FairKeysSeen {
  const byKey = new Map<string, FairKey>();
  for (const one of seen.flatMap(({ keys }) => keys)) {
    const other = byKey.get(one.key);
    const times = [one, ...(other ? [other] : [])].flatMap(({ oldestPublishedAtMs: ms }) => ms ?? []);
    byKey.set(one.key, {
      ...one,
      ready: one.ready + (other?.ready ?? 0),
      oldestPublishedAtMs: times.length > 0 ? Math.min(...times) : null,
    });
  }
  const keys = [...byKey.values()].toSorted((one, other) => other.ready - one.ready).slice(0, limit);
  return { keys, isComplete: seen.every(({ isComplete }) => isComplete) };
}

/** The age is that of the oldest ready job of either pool. */
function sumOfCounts(one: QueueCounts, other: QueueCounts | undefined): QueueCounts {
  if (!other) return one;
  const { oldestReadyAgeMs, oldestReadyAtMs } = other.oldestReadyAgeMs > one.oldestReadyAgeMs ? other : one;
  const { queue, ...counts } = one;
  const { queue: _same, ...others } = other;
  return { queue, ...sumByName(counts, others), oldestReadyAgeMs, oldestReadyAtMs };
}

/** Targets, which are changed in both pools, as both are pushed. */
export function movingTargets({ old, next, mover }: Move): TargetCalls {
  return marked<TargetCalls>(old.targets, next.targets, {
    now: toNew,
    read: brought(
      mover,
      bothIfUp(old, (stored, ofOld) => ({
        ...stored,
        // Each pool has breakers of its own.
        breakers: /* guard: breakers-of-both-stores */ new Map([...ofOld.breakers, ...stored.breakers]),
      })),
    ),
    ofQueues: brought(mover, toNew),
    push: brought(mover, (ofOld, ofNext) => async (namespace, queue, target) => {
      if (!old.isUp) throw oldIsAway();
      // What is gone in the old pool is not copied again.
      // guard: push-ends-in-the-old-store-first
      if (target === null) await ofOld(namespace, queue, null);
      await ofNext(namespace, queue, target);
      // guard: queue-is-pushed-in-both-stores
      await follow(
        async () => (await next.targets.ofQueues(namespace, [queue]))[0] ?? null,
        (now) => ofOld(namespace, queue, now),
      );
    }),
    change: (ofOld, ofNext) => async (namespace, name, decide) => {
      if (!old.isUp) throw oldIsAway();
      await mover.bring(namespace);
      const textIn = async ({ targets }: Engine): Promise<string | null> =>
        (await targets.read(namespace)).targets.get(name) ?? null;
      const setInOld = async (value: string | null, closes: TargetChange['closes']): Promise<void> => {
        const { breakers } = await old.targets.read(namespace);
        const own = new Map([...breakers.keys()].filter((one) => closes?.has(one)).map((one) => [one, {}]));
        await ofOld(namespace, name, (text) =>
          text === value && own.size === 0 ? null : { value, closes: own },
        );
      };
      const first = decide(await textIn(next));
      // guard: target-ends-in-the-old-store-first
      if (first?.value === null) await setInOld(null, first.closes);
      const changes: (TargetChange | null)[] = [];
      await ofNext(namespace, name, (text) => {
        const change = decide(text);
        changes.push(change);
        return change;
      });
      // guard: target-changes-in-both-stores
      await follow(
        () => textIn(next),
        (text) => setInOld(text, changes.at(-1)?.closes),
      );
    },
  });
}

/**
 * Recurring jobs, which are in the new pool once they have moved. One whose overlap keeps it in the old pool until its
 * job has ended is read and changed there.
 */
export function movingRecurring({ old, next, mover }: Move): RecurringCalls {
  const staysInOld = async (namespace: string, id: string): Promise<boolean> => {
    if (old.isUp) return (await mover.moveRecurring(namespace, id)) === 'stays';
    // What is not here may be there, and would take the place of what this call stores when that pool is back.
    // guard: absent-recurring-job-may-be-in-the-old-store
    if ((await next.recurring.find(namespace, id)) === null) throw oldIsAway();
    return false;
  };
  /** The same for a call that only reads: one that cannot move now, as a store is full, is where it is. */
  const isReadInOld = (namespace: string, id: string): Promise<boolean> =>
    staysInOld(namespace, id).catch(async (error: unknown) => {
      if (/* guard: stuck-recurring-job-is-read */ !isFull(error)) throw error;
      return (await next.recurring.find(namespace, id)) === null;
    });
  const whereRecurringIs =
    <A extends unknown[], R>(isInOld = staysInOld): Mark<IdCall<A, R>> =>
    (ofOld, ofNext) =>
    async (namespace, id, ...rest) =>
      ((await isInOld(namespace, id)) ? ofOld : ofNext)(namespace, id, ...rest);
  return marked<RecurringCalls>(old.recurring, next.recurring, {
    set:
      (ofOld, ofNext) =>
      async (namespace, recurring, ...rest) => {
        const { id } = recurring;
        const isOld = id !== undefined && (await staysInOld(namespace, id));
        return (isOld ? ofOld : ofNext)(namespace, recurring, ...rest);
      },
    change: whereRecurringIs(),
    pause: whereRecurringIs(),
    resume: whereRecurringIs(),
    run: whereRecurringIs(),
    next: whereRecurringIs(isReadInOld),
    find: whereRecurringIs(isReadInOld),
    get: whereRecurringIs(isReadInOld),
    remove: whereRecurringIs(),
    nextOf: toNew,
    preview: toNew,
    countByQueue: brought(mover, bothIfUp(old, sumByKey)),
    list: brought(
      mover,
      bothIfUp(old, (page, other, [, limit]) => merged(page, other, limit)),
    ),
  });
}

/** One page of two, by id: what comes after the end of either is left to the next page. */
function merged(one: RecurringPage, other: RecurringPage, limit: number): RecurringPage {
  const ends = [one.after, other.after].filter((after) => after !== null);
  const [end] = ends.sort();
  const known = new Set(one.items.map(({ id }) => id));
  const all = [...one.items, ...other.items.filter(({ id }) => !known.has(id))]
    .filter(({ id }) => end === undefined || id <= end)
    .sort((left, right) => (left.id < right.id ? -1 : 1));
  const items = all.slice(0, limit);
  const last = items.at(-1)?.id ?? null;
  return { items, after: all.length > limit ? last : (end ?? null) };
}

/** Worker sessions, which are in the new pool once they have moved. @param settle operations on leases in either pool */
export function movingSessions({ old, next, mover }: Move, settle: SettleCalls): SessionCalls {
  /** Jobs that a worker has in the old pool are its own, too. */
  const withOld = async (namespace: string, worker: WorkerFacts): Promise<WorkerFacts> => {
    const before = old.isUp ? await old.sessions.find(namespace, worker.name) : null;
    if (before === null) return worker;
    return { ...worker, leased: worker.leased + before.leased, stalled: worker.stalled + before.stalled };
  };
  /** The new pool, after the session has moved with what is asked of it (quiet, stop). */
  const afterMove =
    <A extends unknown[], R>(): Mark<IdCall<A, R>> =>
    (_ofOld, ofNext) =>
    async (namespace, id, ...rest) => {
      if (old.isUp) await mover.moveSession(namespace, id);
      return ofNext(namespace, id, ...rest);
    };
  return marked<SessionCalls>(old.sessions, next.sessions, {
    list: brought(mover, (_ofOld, ofNext) => async (namespace, page) => {
      const { items, cursor } = await ofNext(namespace, page);
      return { items: await Promise.all(items.map((worker) => withOld(namespace, worker))), cursor };
    }),
    find: brought(mover, (_ofOld, ofNext) => async (namespace, name) => {
      const worker = await ofNext(namespace, name);
      return worker && withOld(namespace, worker);
    }),
    deregister: brought(mover, (ofOld, ofNext) => async (namespace, name, ...rest) => {
      // The new pool has its session, which says who may do that.
      if (old.isUp) await mover.moveSession(namespace, name);
      const wasThere = await ofNext(namespace, name, ...rest);
      if (wasThere && old.isUp) await ofOld(namespace, name, ...rest);
      return wasThere;
    }),
    endWaits: bothIfUp(old, () => undefined),
    heartbeat: (_ofOld, ofNext) => async (namespace, id, heartbeat) => {
      // What is asked of the session comes with it.
      if (old.isUp) await mover.moveSession(namespace, id);
      const { leases, ttrMs, jobsAtHand = leases.length } = heartbeat;
      const recorded = await ofNext(namespace, id, { ...heartbeat, jobsAtHand, leases: [] });
      return { ...recorded, jobs: await settle.heartbeatMany(namespace, leases, ttrMs) };
    },
    quiet: afterMove(),
    stop: afterMove(),
    awaitedQueues: toNew,
    stalledByQueue: bothIfUp(old, sumByKey),
    sessionsByQueue: bothIfUp(old, sumByKey),
  });
}
