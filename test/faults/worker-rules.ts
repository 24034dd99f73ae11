import type { FaultWindow, Member } from './worker-fleet.js';
import type { JournalEntry } from './worker-journal.js';

/** So long before its handler begins a job may have been leased. */
const HELD_MS = 5_000;
/** A job that was leased before a standstill begins within so long after it, if its lease is still there by the worker's clock. */
const BEGUN_AFTER_MS = 100;

/** Codes of calls without an answer. */
const NO_ANSWER = new Set(['timeout', 'network', 'pool_unavailable']);

/** One run of a handler. */
interface Run {
  readonly id: string;
  readonly lease: number;
  readonly fromMs: number;
  readonly member: Member;
  hasFailed: boolean;
  hasEnded: boolean;
  /** When it learned that its lease is lost. */
  lostAtMs: number | undefined;
  /** When its acknowledgement was sent last, and what was answered. */
  ackedAtMs: number | undefined;
  answeredAtMs: number | undefined;
  ackStatus: string | undefined;
}

/** What became of all jobs, as the journals of the workers have it. */
export interface WorkerVerdict {
  readonly figures: Readonly<Record<string, number>>;
  /** What must not be; empty = all is well. */
  readonly violations: readonly string[];
}

/**
 * Judges a run of a fleet whose jobs have all ended. @param mayAssume whether the library may take the ack of this job, by its place, for one that
 * counted because the job is gone
 */
export function judgeWorkers(
  published: readonly string[],
  members: readonly Member[],
  mayAssume: (place: number) => boolean,
): WorkerVerdict {
  const violations: string[] = [];
  const figures: Record<string, number> = { jobs: published.length };
  const add = (name: string): void => void (figures[name] = (figures[name] ?? 0) + 1);
  const known = new Set(published);
  const byJob = new Map<string, Run[]>();
  for (const member of members) {
    for (const run of runsOf(member, add)) {
      byJob.set(run.id, [...(byJob.get(run.id) ?? []), run]);
      add('runs');
      if (!known.has(run.id)) violations.push(`${run.id} was run, and never published`);
    }
    for (const { fault } of member.faults) add(`fault: ${fault}`);
  }
  for (const [place, id] of published.entries()) {
    const runs = byJob.get(id) ?? [];
    judgeJob(id, mayAssume(place) ? withoutAssumed(runs, add) : runs, violations, add);
  }
  return { figures, violations };
}

function judgeJob(id: string, runs: Run[], violations: string[], add: (name: string) => void): void {
  runs.sort((a, b) => a.lease - b.lease);
  const last = runs.at(-1);
  if (last === undefined || !runs.some(({ hasEnded }) => hasEnded))
    violations.push(`${id} was lost:\n${historyOf(id, runs)}`);
  if (runs.length > 1) add('jobs run again');
  const acked = runs.filter(({ ackStatus }) => ackStatus === 'acked');
  if (acked.length > 1)
    violations.push(`${id} was acknowledged ${acked.length} times:\n${historyOf(id, runs)}`);
  if (acked.length === 1 && acked[0] !== last)
    violations.push(`${id}: the ack of lease ${acked[0]!.lease} counted, and lease ${last?.lease} was given`);
  for (const [i, run] of runs.entries()) {
    if (run.lostAtMs !== undefined && (run.ackedAtMs ?? 0) > run.lostAtMs)
      violations.push(`${id}: lease ${run.lease} was lost, and an ack was sent for it`);
    if (run.ackStatus === 'lease_lost') add('acks of the runtime that were refused: lease_lost');
    const next = runs[i + 1];
    if (next === undefined) continue;
    const why = reasonOf(run, next.fromMs);
    if (why === undefined)
      violations.push(
        `${id}: nothing explains why lease ${next.lease} follows ${run.lease}:\n${historyOf(id, runs)}`,
      );
    else add(`run again: ${why}`);
  }
}

/** Why a job is run again after this run. */
function reasonOf(run: Run, nextMs: number): string | undefined {
  if (run.hasFailed) return 'failed';
  const { faults, entries, isOther } = run.member;
  // Versions of before begin handlers whose lease has ended while the process stood still.
  const heldMs = run.fromMs - (isOther ? HELD_MS : BEGUN_AFTER_MS);
  const isWithin = ({ fromMs, toMs }: Pick<FaultWindow, 'fromMs' | 'toMs'>): boolean =>
    fromMs <= Math.max(nextMs, run.fromMs) && toMs >= heldMs;
  // A worker that is drained ends what it runs: that explains nothing.
  const fault = faults.find((one) => !['drained', 'upgraded'].includes(one.fault) && isWithin(one));
  if (fault) return fault.fault;
  const isStalled = entries.some(
    (entry) =>
      (entry.what === 'stalled' && isWithin({ fromMs: entry.atMs - entry.ms, toMs: entry.atMs })) ||
      (entry.what === 'blocking' && isWithin({ fromMs: entry.atMs, toMs: entry.atMs + entry.ms })),
  );
  if (isStalled) return 'blocked';
  // On a busy machine answers come too late, without a fault of ours.
  const isUnanswered = entries.some(
    (entry) =>
      entry.what === 'unanswered' &&
      NO_ANSWER.has(entry.code) &&
      entry.atMs >= run.fromMs &&
      entry.atMs - entry.ms <= nextMs,
  );
  return isUnanswered ? 'not answered' : undefined;
}

/**
 * An ack that is sent again and finds no job is taken for one that counted. If none of its requests arrived, another worker may have ended the job
 * meanwhile: nothing is lost, and no library can tell.
 */
function withoutAssumed(runs: Run[], add: (name: string) => void): Run[] {
  const last = runs.toSorted((a, b) => a.lease - b.lease).at(-1);
  for (const run of runs) {
    if (run === last || run.ackStatus !== 'acked' || last?.ackStatus !== 'acked') continue;
    if ((run.answeredAtMs ?? 0) <= (last.answeredAtMs ?? Infinity)) continue;
    add('acks sent again after another worker had ended the job');
    run.ackStatus = 'not_found';
  }
  return runs;
}

function runsOf(member: Member, add: (name: string) => void): Run[] {
  const runs = new Map<string, Run>();
  for (const entry of member.entries) {
    if (!('id' in entry)) continue;
    const { id, lease, atMs } = entry;
    const key = `${id} ${lease}`;
    if (entry.what === 'begun') {
      const none = {
        lostAtMs: undefined,
        ackedAtMs: undefined,
        answeredAtMs: undefined,
        ackStatus: undefined,
      };
      runs.set(key, { id, lease, fromMs: atMs, member, hasFailed: false, hasEnded: false, ...none });
      continue;
    }
    const run = runs.get(key);
    // A handler of an earlier lease that has gone on is none of this lease's.
    if (run !== undefined) apply(run, entry, add);
  }
  return [...runs.values()];
}

function apply(run: Run, entry: JournalEntry, add: (name: string) => void): void {
  if (entry.what === 'failed') run.hasFailed = true;
  if (entry.what === 'ended') run.hasEnded = true;
  if (entry.what === 'acking') run.ackedAtMs = entry.atMs;
  if (entry.what === 'answered') {
    run.ackStatus ??= entry.status;
    run.answeredAtMs ??= entry.atMs;
  }
  if (entry.what === 'late') {
    // It counts if the lease was there in spite of the doubt; the ack of the runtime then finds no job.
    if (entry.status === 'acked') {
      run.ackStatus = 'acked';
      run.answeredAtMs ??= entry.atMs;
    }
    add(`late ack of a handler: ${entry.status}`);
  }
  if (entry.what !== 'aborted') return;
  add(`signal: ${entry.code}`);
  if (entry.code === 'lease_lost') run.lostAtMs = entry.atMs;
}

/** All that the workers have written about a job. */
function historyOf(id: string, runs: readonly Run[]): string {
  const members = [...new Set(runs.map(({ member }) => member))];
  const steps = members.flatMap(({ name, entries, faults }) => [
    ...entries
      .filter(
        (entry) =>
          ('id' in entry && entry.id === id) ||
          ['warned', 'stalled', 'blocking', 'unanswered'].includes(entry.what),
      )
      .map((entry) => ({ atMs: entry.atMs, text: `${name} ${JSON.stringify(entry)}` })),
    ...faults.map((fault) => ({ atMs: fault.fromMs, text: `${name} ${JSON.stringify(fault)}` })),
  ]);
  return steps
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ text }) => text)
    .join('\n');
}
