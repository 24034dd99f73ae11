import { QueueError } from '../../domain/errors.js';
import { asError, isAway, poolMoving } from './move-errors.js';
import type { Engine } from '../engine.js';
import type { MoverOfCalls } from './record-mover.js';

/** A move between two pools. */
export interface Move {
  /** The pool that is drained. */
  readonly old: Engine;
  /** The pool that replaces it. */
  readonly next: Engine;
  readonly mover: MoverOfCalls;
}

/**
 * What a call does while its pool moves, made from the same call of the old and of the new pool: `toNew`, `whereItIs`,
 * `both` or `refused`, or what its file says.
 */
export type Mark<F> = (old: F, next: F) => F;
/** A mark for each call of an engine, or of a part of it: a new call does not compile until it has one. */
export type Marks<T> = { readonly [K in keyof T]: Mark<T[K]> };

type Method = (...args: never[]) => unknown;
/** A call of an engine. */
export type Call<A extends unknown[], R> = (...args: A) => Promise<R>;

/** The calls of `T` over two pools, by the table of their marks. */
export function marked<T extends object>(old: T, next: T, table: Marks<T>): T {
  const of = <K extends keyof T>(pool: T, name: K): T[K] =>
    typeof pool[name] === 'function' ? ((pool[name] as Method).bind(pool) as T[K]) : pool[name];
  const names = Object.keys(table) as (keyof T)[];
  return Object.fromEntries(names.map((name) => [name, table[name](of(old, name), of(next, name))])) as T;
}

/** The new pool only. */
export function toNew<F>(_old: F, next: F): F {
  return next;
}

/**
 * The pool that has the job, the new one first. Without `isThere` the job is not in a pool that answers `job_not_found`.
 * A job that is found wins over an error of the other pool.
 *
 * @throws {QueueError} `job_not_found`: it is in neither
 */
export function whereItIs<A extends unknown[], R>(
  isThere?: (result: NoInfer<R>) => boolean,
): Mark<Call<A, R>> {
  if (isThere)
    return (old, next) =>
      (...args) =>
        inEither(
          () => next(...args),
          () => old(...args),
          isThere,
        );
  return (old, next) =>
    async (...args) => {
      const answer = await inEither(
        () => orMissing(next(...args)),
        () => orMissing(old(...args)),
        /* guard: old-pool-knows-other-jobs */ (one) => 'found' in one,
      );
      if ('missing' in answer) throw answer.missing;
      return answer.found;
    };
}

/**
 * For each job of a list the pool that has it.
 *
 * @param missing the result of a job that is not found
 * @param isMissing true for such a result
 */
export function eachWhereItIs<T, A extends unknown[], R>(
  missing: (item: NoInfer<T>) => NoInfer<R>,
  isMissing: (result: NoInfer<R>) => boolean,
): Mark<Call<[namespace: string, items: readonly T[], ...rest: A], R[]>> {
  return (old, next) =>
    async (namespace, items, ...rest) => {
      let failure: unknown;
      const results = await next(namespace, items, ...rest).catch((error: unknown) => {
        failure = awayOrThrow(error);
        return items.map(missing);
      });
      const others = items.filter((_one, i) => results.slice(i, i + 1).some(isMissing));
      if (others.length === 0) return results;
      const found = await old(namespace, others, ...rest);
      // A job that is not found may be in the pool that does not answer.
      // guard: migrating-unavailable-not-gone
      if (failure !== undefined && found.some(isMissing)) throw asError(failure);
      const answers = found.values();
      return results.map((result) => (isMissing(result) ? (answers.next().value ?? result) : result));
    };
}

/** Both pools. @param merge makes the result from that of the new and that of the old pool */
export function both<A extends unknown[], R>(
  merge: (next: NoInfer<R>, old: NoInfer<R>, args: NoInfer<A>) => NoInfer<R>,
): Mark<Call<A, R>> {
  return (old, next) =>
    async (...args) => {
      const [ofOld, ofNext] = await Promise.all([old(...args), next(...args)]);
      return merge(ofNext, ofOld, args);
    };
}

/** Both pools; the new one alone while the old one is not available. @param merge as for `both` */
export function bothIfUp<A extends unknown[], R>(
  pool: { readonly isUp: boolean },
  merge: (next: NoInfer<R>, old: NoInfer<R>, args: NoInfer<A>) => NoInfer<R>,
): Mark<Call<A, R>> {
  return (old, next) =>
    async (...args) => {
      const ofNext = await next(...args);
      return pool.isUp ? merge(ofNext, await old(...args), args) : ofNext;
    };
}

/** Both pools, for up to `limit` jobs together: those of the old pool first. */
export function oldFirst<A extends unknown[]>(): Mark<
  Call<[namespace: string, queue: string, limit: number, ...rest: A], number>
> {
  return (old, next) =>
    async (namespace, queue, limit, ...rest) => {
      const done = await old(namespace, queue, limit, ...rest);
      return done < limit ? done + (await next(namespace, queue, limit - done, ...rest)) : done;
    };
}

/** As `mark` says, after the records of the namespace have moved. */
export function brought<A extends unknown[], R>(
  mover: MoverOfCalls,
  mark: Mark<Call<[namespace: string, ...rest: A], R>>,
): Mark<Call<[namespace: string, ...rest: A], R>> {
  return (old, next) => {
    const call = mark(old, next);
    return async (namespace, ...rest) => {
      await mover.bring(namespace);
      return call(namespace, ...rest);
    };
  };
}

/** As `mark` says, unless `check` throws. */
export function checked<A extends unknown[], R>(
  check: (...args: A) => void,
  mark: Mark<Call<A, R>>,
): Mark<Call<A, R>> {
  return (old, next) => {
    const call = mark(old, next);
    return async (...args) => {
      check(...args);
      return call(...args);
    };
  };
}

/** Neither pool until the move has ended. @param what is refused. @throws {QueueError} `pool_moving` */
export function refused<A extends unknown[], R>(what = 'this call'): Mark<Call<A, R>> {
  return () => () => Promise.reject(poolMoving(what));
}

/** As this function does it. */
export function as<F>(call: F): Mark<F> {
  return () => call;
}

/**
 * Makes the old pool have what the new one has. Two changes at once may reach the two pools in different orders: so the
 * new one is read again after each write, until it has not changed meanwhile.
 *
 * @param read of the new pool
 * @param write to the old pool
 */
export async function follow<T>(
  read: () => Promise<T>,
  write: (value: T) => Promise<unknown>,
): Promise<void> {
  for (let value = await read(); ;) {
    await write(value);
    const now = await read();
    // guard: old-pool-has-the-last-change
    if (now === value) return;
    value = now;
  }
}

/** True for a result that is not null. */
export function isFound(result: unknown): boolean {
  return result !== null;
}

/** Adds numbers. */
export function sum(one: number, other: number): number {
  return one + other;
}

/** Adds numbers that have the same name. */
export function sumByName<T extends object>(one: T, other: T): T {
  const total = { ...one } as Record<string, number>;
  for (const [name, count] of Object.entries(other) as [string, number][])
    total[name] = (total[name] ?? 0) + count;
  return total as T;
}

/** The same for maps. */
export function sumByKey(
  one: ReadonlyMap<string, number>,
  other: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const total = new Map(one);
  for (const [name, count] of other) total.set(name, (total.get(name) ?? 0) + count);
  return total;
}

/** All names of both, sorted. */
export function union(one: readonly string[], other: readonly string[]): string[] {
  return [...new Set([...one, ...other])].sort();
}

/** Asks one pool, then the other. A result that is found wins over an error of the other pool. */
async function inEither<R>(
  one: () => Promise<R>,
  other: () => Promise<R>,
  isThere: (result: R) => boolean,
): Promise<R> {
  let failure: unknown;
  const first = await one().catch((error: unknown) => {
    failure = awayOrThrow(error);
    return undefined;
  });
  if (first !== undefined && isThere(first)) return first;
  const second = await /* guard: second-fetch-is-of-the-other-pool */ other();
  if (!isThere(second) && failure !== undefined) throw asError(failure);
  return second;
}

function orMissing<R>(call: Promise<R>): Promise<{ readonly found: R } | { readonly missing: QueueError }> {
  return call.then(
    (found) => ({ found }),
    (error: unknown) => {
      if (error instanceof QueueError && error.code === 'job_not_found') return { missing: error };
      throw error;
    },
  );
}

function awayOrThrow(error: unknown): unknown {
  if (!isAway(error)) throw error;
  return error;
}
