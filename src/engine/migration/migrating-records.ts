import { notFound, QueueError } from '../../domain/errors.js';
import type { JobState } from '../../domain/job/states.js';
import type { ListPage, WorkerFacts } from '../../domain/job/job-lists.js';
import type { NativeJobs } from '../native-jobs.js';
import type { RecurringPage } from '../recurring/recurring.js';
import type { MoverOfCalls } from './record-mover.js';
import type { ServedRecords } from '../served-records.js';

/** What both stores of a move have. */
interface Both {
  readonly old: ServedRecords;
  readonly next: ServedRecords;
  readonly mover: MoverOfCalls;
  readonly oldIsUp: () => boolean;
  /** Operations on leases in either store. */
  readonly native: NativeJobs;
}

/**
 * Settings of queues, targets, recurring jobs and workers while their pool moves. What a call reads or changes is moved
 * first. Recurring jobs and workers are in the new store alone from then on; settings of queues and targets are changed in
 * both, as jobs of both are leased by them.
 */
export class MigratingRecords implements ServedRecords {
  readonly targets: ServedRecords['targets'];
  readonly controls: ServedRecords['controls'];
  readonly queuePurger: ServedRecords['queuePurger'];
  readonly recurrings: ServedRecords['recurrings'];
  readonly workers: ServedRecords['workers'];

  constructor(both: Both) {
    this.targets = targetsOf(both);
    this.controls = controlsOf(both);
    this.queuePurger = queuePurgerOf(both);
    this.recurrings = recurringsOf(both);
    this.workers = workersOf(both);
  }
}

function targetsOf({ old, next, mover, oldIsUp }: Both): ServedRecords['targets'] {
  return {
    read: async (namespace) => {
      await mover.bring(namespace);
      return next.targets.read(namespace);
    },
    ofQueues: async (namespace, queues) => {
      await mover.bring(namespace);
      return next.targets.ofQueues(namespace, queues);
    },
    push: async (namespace, queue, target) => {
      await mover.bring(namespace);
      await next.targets.push(namespace, queue, target);
      // guard: queue-is-pushed-in-both-stores
      await old.targets.push(namespace, queue, target);
    },
    now: () => next.targets.now(),
    change: async (namespace, name, decide) => {
      if (!oldIsUp()) throw away();
      await mover.bring(namespace);
      const changes: ReturnType<typeof decide>[] = [];
      await next.targets.change(namespace, name, (text) => {
        const change = decide(text);
        changes.push(change);
        return change;
      });
      const change = changes.at(-1) ?? null;
      if (change === null) return;
      const { value, closes } = change;
      // Each store has breakers of its own.
      const { breakers } = await old.targets.read(namespace);
      const own = [...breakers.keys()].filter((one) => one === name || one.startsWith(`${name} `));
      const same = { value, ...(closes && { closes: new Map(own.map((one) => [one, {}])) }) };
      // guard: target-changes-in-both-stores
      await old.targets.change(namespace, name, () => same);
    },
  };
}

function controlsOf({ old, next, mover, oldIsUp }: Both): ServedRecords['controls'] {
  const isIn = async (records: ServedRecords, namespace: string, queue: string): Promise<boolean> =>
    (await records.controls.settings(namespace, [queue]))[0] !== null;
  /** Calls both stores for a queue that is there; one that is in neither is not found. */
  const where = async (
    namespace: string,
    queue: string,
    call: (controls: ServedRecords['controls']) => Promise<unknown>,
  ): Promise<void> => {
    if (!oldIsUp()) throw away();
    await mover.bring(namespace);
    const [inOld, inNext] = [await isIn(old, namespace, queue), await isIn(next, namespace, queue)];
    if (!inOld && !inNext) throw notFound('queue', queue);
    if (inOld) await call(old.controls);
    if (inNext) await call(next.controls);
  };
  /** Makes the queue in the new store; the old one has it if it has jobs of it. */
  const make = async (
    namespace: string,
    queue: string,
    call: (controls: ServedRecords['controls']) => Promise<boolean>,
  ): Promise<boolean> => {
    if (!oldIsUp()) throw away();
    await mover.bring(namespace);
    const wasInOld = await isIn(old, namespace, queue);
    const isCreated = await call(next.controls);
    if (wasInOld) await call(old.controls);
    return isCreated && !wasInOld;
  };
  return {
    settings: async (namespace, queues) => {
      await mover.bring(namespace);
      const found = await next.controls.settings(namespace, queues);
      if (!oldIsUp() || !found.includes(null)) return found;
      const before = await old.controls.settings(namespace, queues);
      return found.map((one, i) => one ?? before[i] ?? null);
    },
    change: (namespace, queue, change) =>
      make(namespace, queue, (controls) => controls.change(namespace, queue, change)),
    pause: (namespace, queue) => make(namespace, queue, (controls) => controls.pause(namespace, queue)),
    resume: (namespace, queue) => where(namespace, queue, (controls) => controls.resume(namespace, queue)),
    drain: (namespace, queue) => where(namespace, queue, (controls) => controls.drain(namespace, queue)),
    forget: (namespace, queue) => where(namespace, queue, (controls) => controls.forget(namespace, queue)),
  };
}

function queuePurgerOf({ old, next }: Both): ServedRecords['queuePurger'] {
  const sum = (one: Partial<Record<JobState, number>>, other: Partial<Record<JobState, number>>) => {
    const both = { ...one };
    for (const [state, count] of Object.entries(other))
      both[state as JobState] = (both[state as JobState] ?? 0) + count;
    return both;
  };
  return {
    count: async (namespace, queue, states) =>
      sum(
        await old.queuePurger.count(namespace, queue, states),
        await next.queuePurger.count(namespace, queue, states),
      ),
    purge: async (namespace, queue, states, patienceMs) => {
      const beganMs = performance.now();
      const one = await old.queuePurger.purge(namespace, queue, states, patienceMs);
      if (!one.isComplete) return one;
      const leftMs = patienceMs === undefined ? undefined : patienceMs - (performance.now() - beganMs);
      const other = await next.queuePurger.purge(namespace, queue, states, leftMs);
      return { removed: sum(one.removed, other.removed), isComplete: other.isComplete };
    },
  };
}

/** A recurring job whose overlap keeps it in the old store until its job has ended is read and changed there. */
function recurringsOf({ old, next, mover, oldIsUp }: Both): ServedRecords['recurrings'] {
  const placeOf = async (namespace: string, id: string): Promise<ServedRecords['recurrings']> => {
    if (!oldIsUp()) return next.recurrings;
    const result = await mover.moveRecurring(namespace, id);
    return result === 'stays' ? old.recurrings : next.recurrings;
  };
  const at =
    <A extends unknown[], R>(call: (records: ServedRecords['recurrings'], ...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const [namespace, id] = args as unknown as [string, string];
      return call(await placeOf(namespace, id), ...args);
    };
  return {
    set: async (namespace, recurring) => {
      const { id } = recurring;
      const place = id === undefined ? next.recurrings : await placeOf(namespace, id);
      return place.set(namespace, recurring);
    },
    change: at((records, ...args: Parameters<ServedRecords['recurrings']['change']>) =>
      records.change(...args),
    ),
    pause: at((records, ...args: Parameters<ServedRecords['recurrings']['pause']>) => records.pause(...args)),
    resume: at((records, ...args: Parameters<ServedRecords['recurrings']['resume']>) =>
      records.resume(...args),
    ),
    run: at((records, ...args: Parameters<ServedRecords['recurrings']['run']>) => records.run(...args)),
    next: at((records, ...args: Parameters<ServedRecords['recurrings']['next']>) => records.next(...args)),
    find: at((records, ...args: Parameters<ServedRecords['recurrings']['find']>) => records.find(...args)),
    get: at((records, ...args: Parameters<ServedRecords['recurrings']['get']>) => records.get(...args)),
    remove: at((records, ...args: Parameters<ServedRecords['recurrings']['remove']>) =>
      records.remove(...args),
    ),
    nextOf: (recurring, count) => next.recurrings.nextOf(recurring, count),
    preview: (schedule, count) => next.recurrings.preview(schedule, count),
    countByQueue: async (namespace) => {
      await mover.bring(namespace);
      const counts = new Map(await next.recurrings.countByQueue(namespace));
      if (oldIsUp())
        for (const [queue, count] of await old.recurrings.countByQueue(namespace))
          counts.set(queue, (counts.get(queue) ?? 0) + count);
      return counts;
    },
    list: async (namespace, limit, after, queue) => {
      await mover.bring(namespace);
      const page = await next.recurrings.list(namespace, limit, after, queue);
      return oldIsUp()
        ? merged(page, await old.recurrings.list(namespace, limit, after, queue), limit)
        : page;
    },
  };
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

function workersOf({ old, next, mover, oldIsUp, native }: Both): ServedRecords['workers'] {
  /** Jobs that a worker has in the old store are its own, too. */
  const withOld = async (namespace: string, worker: WorkerFacts): Promise<WorkerFacts> => {
    const before = oldIsUp() ? await old.workers.find(namespace, worker.name) : null;
    if (before === null) return worker;
    return { ...worker, leased: worker.leased + before.leased, stalled: worker.stalled + before.stalled };
  };
  return {
    list: async (...args): Promise<ListPage<WorkerFacts>> => {
      const [namespace] = args;
      await mover.bring(namespace);
      const { items, cursor } = await next.workers.list(...args);
      return { items: await Promise.all(items.map((worker) => withOld(namespace, worker))), cursor };
    },
    find: async (...args) => {
      const [namespace] = args;
      await mover.bring(namespace);
      const worker = await next.workers.find(...args);
      return worker && withOld(namespace, worker);
    },
    deregister: async (...args) => {
      const [namespace] = args;
      await mover.bring(namespace);
      // The new store has its session, which says who may do that.
      const wasThere = await next.workers.deregister(...args);
      if (wasThere && oldIsUp()) await old.workers.deregister(...args);
      return wasThere;
    },
    endWaits: async (...args) => {
      await next.workers.endWaits(...args);
      if (oldIsUp()) await old.workers.endWaits(...args);
    },
    heartbeat: async (namespace, id, heartbeat) => {
      // What is asked of a session (quiet, stop) comes with it.
      if (oldIsUp()) await mover.moveSession(namespace, id);
      const { leases, ttrMs, jobsAtHand = leases.length } = heartbeat;
      const recorded = await next.workers.heartbeat(namespace, id, { ...heartbeat, jobsAtHand, leases: [] });
      return { ...recorded, jobs: await native.heartbeatMany(namespace, leases, ttrMs) };
    },
    quiet: async (...args) => {
      const [namespace, id] = args;
      if (oldIsUp()) await mover.moveSession(namespace, id);
      return next.workers.quiet(...args);
    },
    stop: async (...args) => {
      const [namespace, id] = args;
      if (oldIsUp()) await mover.moveSession(namespace, id);
      return next.workers.stop(...args);
    },
    awaitedQueues: (namespace) => next.workers.awaitedQueues(namespace),
    stalledByQueue: async (namespace) => {
      const stalled = new Map(await next.workers.stalledByQueue(namespace));
      if (oldIsUp())
        for (const [queue, count] of await old.workers.stalledByQueue(namespace))
          stalled.set(queue, (stalled.get(queue) ?? 0) + count);
      return stalled;
    },
  };
}

function away(): QueueError {
  return new QueueError('pool_unavailable', 'the pool that is drained is not available');
}
