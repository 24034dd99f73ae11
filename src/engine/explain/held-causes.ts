import type { Cause } from '../../contract/explain.js';
import { isoTime, isoTimeOrNull } from '../../domain/iso-time.js';
import { cause, enteredMs, type KnownJob } from './cause.js';
import { answered, breakerFacts, jobsPaused } from './queue-causes.js';
import type { DependencySeen, HolderSeen, JobReasons } from './reasons.js';
import { count, joined, moment } from './sentences.js';

/* A job that waits for other jobs, or for a slot of its concurrency key. */

/* Other jobs. */

export function blocked({ reasons, remedies }: KnownJob): Cause | null {
  const { state, id, dependsOn, failedDependencies } = reasons.job;
  if (state !== 'blocked') return null;
  const failed = Object.entries(failedDependencies);
  const waits = reasons.dependencies.filter((one) => dependsOn.includes(one.id));
  const { deadDependencies: dead } = reasons;
  return cause(
    'blocked',
    `The job is blocked by its dependencies.${waitsFor(waits, dependsOn.length)}${never(failed, reasons.isStuck)}${farDead(reasons)}${hidden(reasons)}`,
    {
      facts: {
        depends_on: waits.map((one) => ({ id: one.id, state: one.state, queue: one.queue })),
        depends_on_count: dependsOn.length,
        failed_dependencies: failedDependencies,
        dead_dependencies: dead,
        hidden_dependencies: reasons.hiddenDependencies,
      },
      sinceMs: enteredMs(reasons),
      remedies: [
        ...(dead.length === 0 ? [] : [remedies.respawnNeeded(dead.map((one) => one.id))]),
        ...[remedies.dropDependencies(id), remedies.cancel(id)],
      ],
    },
  );
}

function waitsFor(waits: readonly DependencySeen[], total: number): string {
  const named = waits.map((one) => `${one.id} (${one.state ?? 'not known'})`);
  if (total === 0) return '';
  return ` It waits for ${count(total, 'job')}${named.length === 0 ? '' : `: ${joined(named, total)}`}.`;
}

function never(failed: readonly (readonly [id: string, how: string])[], isStuck: boolean): string {
  if (!isStuck) return '';
  const named = joined(failed.map(([id, how]) => `${id} ${how}`)) || 'a job that it depends on has failed';
  return ` It will never run by itself: ${named}.`;
}

/** Dead jobs that are not its own dependencies, but those of jobs that it waits for. */
function farDead({ job: { dependsOn, failedDependencies }, deadDependencies }: JobReasons): string {
  const far = deadDependencies
    .map(({ id }) => id)
    .filter((id) => !dependsOn.includes(id) && !Object.hasOwn(failedDependencies, id));
  if (far.length === 0) return '';
  return ` Through other jobs it waits for ${joined(far)}, which ${far.length === 1 ? 'is' : 'are'} dead.`;
}

function hidden({ hiddenDependencies: number }: JobReasons): string {
  if (number === 0) return '';
  return ` It also depends on ${count(number, 'job')} that the token may not see, or that ${number === 1 ? 'is' : 'are'} not known.`;
}

/* Slots and rate of its concurrency key. */

/** An earlier job of its key has not ended, whether it runs or not. */
export function strictOrder({ reasons, nowMs, queue, remedies }: KnownJob): Cause | null {
  const { state, concurrencyKey: key } = reasons.job;
  const { slots, origin, heldBefore } = reasons;
  const [first] = slots?.holders ?? [];
  if (state !== 'held' || origin !== null || queue.settings.order === null || first === undefined)
    return null;
  const dead = first.state === 'dead' ? ': the queue goes on when it is respawned or deleted' : '';
  const others = heldBefore === 0 ? '' : `, and ${count(heldBefore, 'held job')} of the key before it`;
  return cause(
    'order',
    `The job is held by the strict order of its concurrency key ${key ?? ''}: it waits for the end of ${holderText(first, nowMs)}${dead}${others}.`,
    {
      facts: { concurrency_key: key, first: holderFacts(first), held_before: heldBefore },
      sinceMs: enteredMs(reasons),
      remedies: [
        ...(first.state === 'dead' ? [remedies.respawn(first.id)] : []),
        ...(first.state === 'scheduled' ? [remedies.runNow(first.id)] : []),
        ...(first.state === 'leased' ? [remedies.cancel(first.id)] : []),
        ...(first.state === 'ready' && queue.target === null ? [remedies.lease(queue.queue)] : []),
        remedies.withoutOrder(queue.queue),
      ],
    },
  );
}

export function concurrencyKey({ reasons, nowMs, queue, remedies }: KnownJob): Cause | null {
  const { state, concurrencyKey: key } = reasons.job;
  const { slots, origin, keyRateAtMs } = reasons;
  const { maxRunningPerKey: limit, ratePerKey } = queue.settings;
  if (state !== 'held' || origin !== null || key === null || slots === null) return null;
  if (queue.settings.order !== null && slots.holders.length > 0) return null;
  const { taken, holders } = slots;
  const isFull = limit !== null && taken >= limit;
  // The rate allows more, but jobs that are ready go first.
  const isBehind = ratePerKey !== null && keyRateAtMs === null && holders.some(isReady);
  if (!isFull && !isBehind) return null;
  const named = joined(
    holders.map((one) => holderText(one, nowMs)),
    taken,
  );
  const why = isFull ? `the limit is ${String(limit)}` : 'its rate allows no more before they are leased';
  return cause(
    'concurrency_key',
    `The job is held: ${count(taken, 'job')} with its concurrency key ${key} ${taken === 1 ? 'has' : 'have'} a slot (${named}), and ${why}.`,
    {
      facts: { concurrency_key: key, running: taken, limit, holders: holders.map(holderFacts) },
      sinceMs: enteredMs(reasons),
      remedies: [
        ...holders
          .filter((one) => one.state === 'leased')
          .slice(0, 1)
          .map(({ id }) => remedies.revoke(id)),
        remedies.withoutLimit(queue.queue, isFull ? 'max_running_per_key' : 'rate_per_key'),
      ],
    },
  );
}

function isReady({ state }: HolderSeen): boolean {
  return state === 'ready';
}

function holderText({ id, state, worker, leasedAtMs }: HolderSeen, nowMs: number): string {
  if (state !== 'leased') return `${id}, which is ${state ?? 'gone'}`;
  const by = worker === null ? '' : ` leased by ${worker}`;
  const since = leasedAtMs === null ? '' : ` since ${moment(leasedAtMs, nowMs)}`;
  return `${id}${by}${since}`;
}

function holderFacts({ id, state, worker, leasedAtMs }: HolderSeen) {
  return { id, state, worker, leased_at: isoTimeOrNull(leasedAtMs) };
}

export function keyRate({ reasons, nowMs, queue, remedies }: KnownJob): Cause | null {
  const { state, concurrencyKey: key } = reasons.job;
  const { keyRateAtMs, origin } = reasons;
  if (state !== 'held' || origin !== null || key === null || keyRateAtMs === null) return null;
  return cause(
    'rate',
    `The job is held: the rate limit of its concurrency key ${key} allows the next job at ${moment(keyRateAtMs, nowMs)}.`,
    {
      facts: { concurrency_key: key, allowed_at: isoTime(keyRateAtMs) },
      sinceMs: enteredMs(reasons),
      nextAtMs: keyRateAtMs,
      remedies: [remedies.withoutLimit(queue.queue, 'rate_per_key')],
    },
  );
}

/** The circuit breaker of the origin that its URL names. */
export function originClosed({ reasons, queue: { target }, nowMs, remedies }: KnownJob): Cause | null {
  const { origin, job } = reasons;
  if (job.state !== 'held' || origin === null || target === null) return null;
  const { url, breaker } = origin;
  const where = url === '' ? `the URL of the target ${target.name}` : url;
  const until =
    breaker.openUntilMs > nowMs
      ? `one job tries it again at ${moment(breaker.openUntilMs, nowMs)}`
      : 'a job tries it now';
  return cause(
    'breaker_open',
    `The job is held: the circuit breaker of ${where} is open because its requests failed${answered(breaker)}; ${until}.`,
    {
      facts: { target: target.name, origin: url || null, ...breakerFacts(breaker) },
      sinceMs: enteredMs(reasons),
      nextAtMs: breaker.openUntilMs,
      remedies: [remedies.resumeTarget(target.name)],
    },
  );
}

/** A held job that nothing holds any more. */
export function freed(known: KnownJob): Cause | null {
  const { state, concurrencyKey: key } = known.reasons.job;
  if (
    state !== 'held' ||
    [jobsPaused, strictOrder, concurrencyKey, keyRate, originClosed].some((reason) => reason(known) !== null)
  )
    return null;
  return cause(
    'concurrency_key',
    `The job is held by its concurrency key ${key ?? ''}, which has room by now: the pump makes the job ready.`,
    { facts: { concurrency_key: key }, sinceMs: enteredMs(known.reasons) },
  );
}
