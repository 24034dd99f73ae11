import type { NewOperation, Operation, OperationFilter } from '@pumphouse/client';
import type { Command } from 'commander';
import { OperationFields, OperationFilterFields } from '#src/contract/operations';
import { Refused } from './admin-client.js';
import { type BulkOptions, isDryRun, showDryRun, wereNot, withConfirmation } from './bulk.js';
import { EXIT, SomeFailed } from './failures.js';
import { FieldFlags, flagOf } from './flags.js';
import { columns, counted, json, printable } from './print.js';
import { type Progress, withReports } from './progress.js';
import type { Session } from './session.js';

/* Actions over all jobs that a filter matches: the server does them, and this program follows. */

const FILTER = new FieldFlags(OperationFilterFields, { attributes: { flag: '--attribute <name=value>' } });
/** The same where the plain names are those of changes. */
export const WHERE = new FieldFlags(
  OperationFilterFields,
  { attributes: { flag: '--where-attribute <name=value>' } },
  'where_',
);
const RATE = flagOf(OperationFields, 'rate_per_s', { flag: '--rate <n>' });
const UNDO = flagOf(OperationFields, 'undo_ms', {
  flag: '--undo <time>',
  about: 'for how long it can be undone after its end; what is kept for that takes memory of Redis',
});

/** How often an operation is looked at, in milliseconds. */
const POLL_MS = 200;

/** What an action is called: `delete`, `deleted`. */
export type Verb = readonly [verb: string, done: string];

export interface OperationOptions extends BulkOptions {
  readonly all?: boolean;
  readonly rate?: number;
  /** Of actions that end jobs, in milliseconds. */
  readonly undo?: number;
}

/** What to do about jobs that an operation did not act on, by its reason. */
const REASONS = new Map([
  ['changed', 'they changed meanwhile'],
  ['due_unknown', 'their time is not known: they are far ahead and have no options'],
  ['has_dependents', 'other jobs depend on them; `job cancel --cascade` cancels those, too'],
  ['leased', 'a worker has them'],
  ['namespace_full', 'the namespace is full'],
  ['queue_full', 'the queue is full'],
  ['too_many_queues', 'the namespace has too many queues'],
  ['tries_used', 'they have had as many tries'],
  ['unique_key_taken', 'another job has their unique key'],
  ['verb_missing', 'the token has no permission for them'],
]);

/** Why jobs cannot come back, and what does not come back with others. */
const UNDO_REASONS = new Map([
  ['dependency_missing', 'a job that they depend on could not come back'],
  ['due_unknown', 'their time is not known: they were far ahead and had no options'],
  ['ended', 'their workers had ended them'],
  ['id_in_use', 'another job has their id'],
  ['namespace_full', 'the namespace is full'],
  ['queue_full', 'their queue is full'],
  ['retention_ended', 'their retention is over'],
  ['too_many', 'only so much is kept of an operation'],
  ['too_many_queues', 'the namespace has too many queues'],
  ['ttl_ended', 'their ttl is over'],
  ['unique_key_taken', 'another job has their unique key'],
]);
const INCOMPLETE_REASONS = new Map([
  ['dependents', 'jobs that depended on them were told of their end'],
  ['events', 'subscribers were told of their end'],
  ['lease', 'they were leased, and are ready now'],
]);

/** Adds the filters of an operation, and how it is done. */
export function withFilters(command: Command, filters: typeof FILTER = FILTER): Command {
  return withRate(
    filters.addTo(command).option('--all', 'all jobs of the namespace that it is for, in place of filters'),
  );
}

/** Adds that it can be undone: to commands that end jobs. */
export function withUndo(command: Command): Command {
  return command.addOption(UNDO);
}

/** Adds how an operation is done. */
export function withRate(command: Command): Command {
  return withConfirmation(command.addOption(RATE));
}

/** Nothing is chosen by accident: all jobs are `--all`. @returns undefined: the jobs are given by their ids */
export function filterOf(
  options: OperationOptions,
  ids: readonly string[],
  command: Command,
  filters: typeof FILTER = FILTER,
): OperationFilter | undefined {
  const filter = filters.given(options) as OperationFilter;
  const ways = [ids.length > 0, options.all === true, Object.keys(filter).length > 0];
  if (ways.filter(Boolean).length !== 1)
    command.error('error: choose the jobs by their ids, by filters (--queue, --type …), or by --all');
  if (ids.length === 0) return filter;
  const isHow = options.dryRun === true || (options.rate ?? options.undo) !== undefined;
  // guard: cli-ids-take-no-dry-run
  if (isHow) command.error('error: --dry-run, --rate and --undo need filters, or --all');
  return undefined;
}

/**
 * Starts an operation and follows it to its end; without `--yes` it only counts.
 *
 * @throws {SomeFailed} some jobs were refused
 * @throws {Refused} it was stopped before its end
 */
export async function operate(
  session: Session,
  options: OperationOptions,
  wanted: NewOperation,
  verb: Verb,
): Promise<void> {
  const dryRun = isDryRun(options);
  const ratePerS = dryRun ? undefined : options.rate;
  const { undo: undoMs } = options;
  const started = await session.client.operations.start({ ...wanted, dryRun, ratePerS, undoMs });
  const ended = await follow(session, started);
  if (session.isJson) session.out(json(ended));
  else if (dryRun) showMatches(session, ended, verb);
  else showEnd(session, ended, verb);
  if (dryRun && ended.matched > 0) showDryRun(session);
  checkEnd(ended, verb);
}

/** Waits for the end under a progress bar. Ctrl-C stops the operation, after a line that says so. */
export async function follow(session: Session, { id, toLook, dryRun }: Operation): Promise<Operation> {
  const { operations } = session.client;
  const stopListening = session.onInterrupt?.(() => {
    session.err(`Stopping ${id}; what is done stays done. Ctrl-C again ends only this command.\n`);
    operations.stop(id).catch(() => session.err(`It could not be stopped: pumphouse operation stop ${id}\n`));
  });
  if (!session.isJson && !dryRun) session.err(`Operation ${id}: Ctrl-C stops it.\n`);
  const wait = (progress: Progress): Promise<Operation> =>
    operations.wait(id, { pollMs: POLL_MS, onProgress: (one) => progress(lookedOf(one)) });
  try {
    return await (session.isJson ? wait(() => undefined) : withReports(session, toLook ?? 0, wait));
  } catch (error) {
    session.err(`The operation goes on in the server: pumphouse operation show ${id}\n`);
    throw error;
  } finally {
    stopListening?.();
  }
}

/** How far it is; of an undo, with jobs that came back or could not. */
function lookedOf({ looked, undo }: Operation): number {
  return undo?.state === 'running' ? undo.restored + undo.failed : looked;
}

function showMatches(session: Session, { matched, samples }: Operation, [verb]: Verb): void {
  const among = matched > samples.length ? ', among them' : '';
  session.out(matched === 0 ? 'No job matches.\n' : `would ${verb} ${counted(matched, 'job')}${among}:\n`);
  session.out(columns(samples.map(({ id, queue, state }) => [id, queue, state])));
}

function showEnd(session: Session, { id, done, refusals, undo }: Operation, [, verbed]: Verb): void {
  session.out(done === 0 ? `Nothing was ${verbed}.\n` : `${verbed} ${counted(done, 'job')}\n`);
  for (const { reason, jobs } of refusals)
    session.err(`${wereNot(jobs, verbed)}: ${printable(REASONS.get(reason) ?? reason)}\n`);
  if (undo && done > 0)
    session.err(`Until ${undo.endsAt ?? 'its end'} it can be undone: pumphouse operation undo ${id}\n`);
}

/**
 * Undoes an operation, and follows that to its end.
 *
 * @throws {SomeFailed} some jobs could not come back
 * @throws {Refused} it was stopped before its end
 */
export async function undo(session: Session, id: string): Promise<void> {
  const begun = await session.client.operations.undo(id);
  const ended = await follow(session, { ...begun, toLook: begun.undo?.jobs ?? 0 });
  const { state, restored = 0, failed = 0, message, refusals = [], incomplete = [] } = ended.undo ?? {};
  if (session.isJson) session.out(json(ended));
  else if (begun.undo?.state === 'done')
    session.out(`It was undone already: ${counted(restored, 'job')} came back.\n`);
  else session.out(restored === 0 ? 'No job came back.\n' : `brought back ${counted(restored, 'job')}\n`);
  for (const { reason, jobs } of session.isJson ? [] : refusals)
    session.err(`${wereNot(jobs, 'brought back')}: ${printable(UNDO_REASONS.get(reason) ?? reason)}\n`);
  for (const { reason, jobs } of session.isJson ? [] : incomplete)
    session.err(
      `${counted(jobs, 'job')} came back, with one difference: ${printable(INCOMPLETE_REASONS.get(reason) ?? reason)}\n`,
    );
  if (state !== 'done')
    throw new Refused(`the undo was stopped: ${message ?? 'by a call'}. Run the command again to go on`, 0);
  if (failed > 0) throw new SomeFailed(`${counted(failed, 'job')} could not come back`, EXIT.refused);
}

/** @throws {Refused} it was stopped @throws {SomeFailed} some jobs were refused */
export function checkEnd({ state, message, matched, failed, done }: Operation, [, verbed]: Verb): void {
  if (state === 'stopped')
    throw new Refused(
      `the operation was stopped after ${counted(done, 'job')}: ${message ?? 'by a call'}. Run the command again to go on`,
      0,
    );
  if (failed > 0) throw new SomeFailed(wereNot(failed, verbed, matched), EXIT.refused);
}
