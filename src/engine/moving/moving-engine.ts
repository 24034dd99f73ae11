import { performance } from 'node:perf_hooks';
import type {
  DeadLetterCalls,
  Engine,
  EngineCalls,
  EventCalls,
  ExplainCalls,
  OperationCalls,
  PurgeCalls,
  SettingCalls,
  VariableCalls,
} from '../engine.js';
import { Queues } from '../queues/queues.js';
import type { SettingKey } from '../queues/known-settings.js';
import type { StatisticsReading } from '../stats/statistics.js';
import {
  as,
  both,
  bothIfUp,
  brought,
  eachWhereItIs,
  follow,
  isFound,
  marked,
  type Marks,
  type Move,
  oldFirst,
  refused,
  sum,
  sumByName,
  toNew,
  union,
  whereItIs,
} from './marks.js';
import { oldIsAway } from './move-errors.js';
import { isStoredInOld, movingJobs, movingSettle, refuseTaken } from './moving-jobs.js';
import { MovingLease } from './moving-lease.js';
import { movingRecurring, movingSessions, movingStoredQueues, movingTargets } from './moving-records.js';
import { OldIdempotencyRecords } from './old-idempotency-records.js';
import { type MoverOfCalls, NO_MOVER } from './record-mover.js';

/**
 * The queues of a pool while it moves: publishes go to the new pool, consumers drain the old one first, and a job is
 * settled in the pool that has it. While the old pool is unavailable, publishing continues and consumers get the jobs of
 * the new one. While the new one is unavailable, consumers still get those of the old one. Everything else needs both.
 *
 * @param old the pool that is drained
 * @param next the pool that replaces it; it may be moving too
 * @param mover moves what jobs do not take with them; left out: it stays
 */
export function movingEngine(old: Engine, next: Engine, mover: MoverOfCalls = NO_MOVER): Engine {
  const move = { old, next, mover };
  const records = new OldIdempotencyRecords(old);
  const settle = movingSettle(move);
  const shown = {
    targets: movingTargets(move),
    sessions: movingSessions(move, settle),
    recurring: movingRecurring(move),
    stats: marked<StatisticsReading>(old.stats, next.stats, {
      read: bothIfUp(old, (tally, ofOld) => {
        tally.merge(ofOld);
        return tally;
      }),
      stillDead: bothIfUp(old, sum),
      queuesOf: bothIfUp(old, union),
      today: toNew,
    }),
  };
  return {
    get isUp() {
      return next.isUp;
    },
    ...marked<EngineCalls>(old, next, callMarks(old, next, records)),
    jobs: movingJobs(move, records),
    settle,
    queues: new Queues(movingStoredQueues(move), shown),
    explain: marked<ExplainCalls>(old.explain, next.explain, {
      job: whereItIs((reasons) => reasons !== null),
      // That of the old pool while it has the queue: its jobs go first.
      queue: both((ofNext, ofOld) => (ofOld.exists ? ofOld : ofNext)),
      recurring: whereItIs((reasons) => reasons !== null),
    }),
    operations: marked<OperationCalls>(old.operations, next.operations, {
      start: refused('an operation'),
      find: whereItIs(isFound),
      list: both((ofNext, ofOld) => [...ofNext, ...ofOld]),
      stop: refused('a stop'),
      undo: refused('an undo'),
    }),
    deadLetter: marked<DeadLetterCalls>(old.deadLetter, next.deadLetter, {
      // That of the old pool if it has dead jobs.
      head: both((ofNext, ofOld) => ({ id: ofOld.id ?? ofNext.id, size: ofOld.size + ofNext.size })),
      respawn: oldFirst(),
      delete: oldFirst(),
      listDead: refused(),
      respawnSelected: refused(),
      deleteSelected: refused(),
    }),
    ...shown,
    events: marked<EventCalls>(old.events, next.events, { subscribe: refused() }),
    settings: movingSettings(move),
    variables: movingVariables(move),
    purge: movingPurge(move),
  };
}

function callMarks(old: Engine, next: Engine, records: OldIdempotencyRecords): Marks<EngineCalls> {
  const leasing = new MovingLease(old, next);
  return {
    // To the new pool, unless an earlier attempt stored it in the old one. A given id must be free in both.
    publish: as(async (namespace, queue, job, options) => {
      const request = { kind: 'publish', queue, jobs: [job] } as const;
      const before = await records.idsOf(namespace, request, /* guard: migrating-key-known */ options);
      if (before?.[0] !== undefined) return before[0];
      // guard: retry-is-known-in-the-old-pool
      if (await isStoredInOld(old, namespace, options)) return old.publish(namespace, queue, job, options);
      await refuseTaken(old, namespace, [job], options);
      return next.publish(namespace, queue, job, options);
    }),
    publishMany: as(async (namespace, queue, jobs, options) => {
      const before = await records.idsOf(namespace, { kind: 'publishMany', queue, jobs }, options);
      // guard: migrating-key-known-many
      if (before) return before;
      const pool = (await isStoredInOld(old, namespace, options)) ? old : next;
      return pool.publishMany(namespace, queue, jobs, options);
    }),
    // Atomic if the old job is in the new pool. Otherwise the new job is stored before the old one is removed: for a
    // moment there are both, and never none.
    republish: as(async (namespace, queue, oldId, job, options) => {
      if (!old.isUp) throw oldIsAway();
      const request = { kind: 'republish', queue, jobs: [job], replaces: oldId } as const;
      const before = await records.idsOf(namespace, request, options);
      if (before?.[0] !== undefined) return before[0];
      if (await isStoredInOld(old, namespace, options))
        return old.republish(namespace, queue, oldId, job, options);
      // guard: republish-stores-first
      const id = await next.republish(namespace, queue, oldId, job, options);
      await old.ack(namespace, queue, oldId);
      return id;
    }),
    lease: as((namespace, request) => leasing.lease(namespace, request)),
    undo: as((namespace, jobs) => leasing.undo(namespace, jobs)),
    begin: as((namespace, job) => leasing.begin(namespace, job)),
    ack: whereItIs(Boolean),
    ackMany: eachWhereItIs(
      () => 'not_found',
      (result) => result === 'not_found',
    ),
    namespaces: bothIfUp(old, union),
    pumpNow: both((ofNext, ofOld) => (ofNext > 0 && ofOld > 0 ? Math.min(ofNext, ofOld) : ofNext || ofOld)),
    tidyNow: both(sum),
  };
}

/** Settings are changed in both pools: the jobs of the old one need them, too. */
function movingSettings({ old, next, mover }: Move): SettingCalls {
  return marked<SettingCalls>(old.settings, next.settings, {
    defaults: toNew,
    chosen: brought(mover, toNew),
    set: (ofOld, ofNext) => async (namespace, key, value) => {
      await ofNext(namespace, key, value);
      await follow(
        async () => (await next.settings.chosen(namespace))[key as SettingKey],
        (now) => (now === undefined ? old.settings.unset(namespace, key) : ofOld(namespace, key, now)),
      );
    },
    unset: (ofOld, ofNext) => async (namespace, key) => {
      // The old pool first: what is gone there is not copied again.
      const existed = await ofOld(namespace, key);
      return (await ofNext(namespace, key)) || existed;
    },
  });
}

/** Variables are changed in both pools: so it does not matter when they are copied. */
function movingVariables({ old, next, mover }: Move): VariableCalls {
  return marked<VariableCalls>(old.variables, next.variables, {
    list: brought(mover, toNew),
    get: brought(mover, toNew),
    set: (ofOld, ofNext) => async (namespace, name, json) => {
      await ofNext(namespace, name, json);
      await follow(
        async () => (await next.variables.list(namespace)).get(name),
        (now) => (now === undefined ? old.variables.delete(namespace, name) : ofOld(namespace, name, now)),
      );
    },
    delete: (ofOld, ofNext) => async (namespace, name) => {
      // The old pool first: what is gone there is not copied again.
      const existed = await ofOld(namespace, name);
      return (await ofNext(namespace, name)) || existed;
    },
  });
}

function movingPurge({ old, next, mover }: Move): PurgeCalls {
  return marked<PurgeCalls>(old.purge, next.purge, {
    // A queue that is in both pools counts twice.
    census: both(sumByName),
    // The old pool first: it gets no new jobs. Moves that are under way end before: what arrived later would be left.
    run: brought(mover, (ofOld, ofNext) => async (namespace, budgetMs = Number.POSITIVE_INFINITY) => {
      const beganMs = performance.now();
      const one = await ofOld(namespace, budgetMs);
      if (!one.isDone && !one.isInUse) return one;
      const other = await ofNext(namespace, budgetMs - (performance.now() - beganMs));
      return {
        jobs: one.jobs + other.jobs,
        queues: one.queues + other.queues,
        keys: one.keys + other.keys,
        isDone: one.isDone && other.isDone,
        isInUse: one.isInUse || other.isInUse,
      };
    }),
  });
}
