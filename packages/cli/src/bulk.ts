import type { DeadOutcome } from '@pumphouse/client';
import type { Command } from 'commander';
import { EXIT, failureObject, failureOf, SomeFailed } from './failures.js';
import { counted, json, type Output, printable } from './print.js';

/** Options of a command that changes many things at once. */
export interface BulkOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Adds `--yes`: without it a command only shows what it would do. */
export function withConfirmation(command: Command): Command {
  return command
    .option('--yes', 'do it; without it the command only shows what it would do')
    .option('--dry-run', 'only show it, also with --yes');
}

export function isDryRun({ dryRun, yes }: BulkOptions): boolean {
  return dryRun === true || yes !== true;
}

/** Prints on standard error how to go on, so that the output stays what it is. */
export function showDryRun({ err }: Output): void {
  err('Nothing was changed. Run it again with --yes to do it.\n');
}

/** What a command did to how many jobs, in the words `deleted`, `would delete`. */
export interface BulkOutcome {
  readonly jobs: number;
  readonly dryRun: boolean;
}

/** Prints the outcome. "Nothing was deleted" when nothing was. */
export function showOutcome(
  output: Output & { readonly isJson: boolean },
  [verb, done]: readonly [verb: string, done: string],
  outcome: BulkOutcome & Readonly<Record<string, unknown>>,
): void {
  const { jobs, dryRun } = outcome;
  if (output.isJson) output.out(json(outcome));
  else if (dryRun) output.out(`would ${verb} ${counted(jobs, 'job')}\n`);
  else output.out(jobs === 0 ? `Nothing was ${done}.\n` : `${done} ${counted(jobs, 'job')}\n`);
  if (dryRun && jobs > 0) showDryRun(output);
}

/** Why a dead job was not deleted by its id. */
export const NOT_DEAD = 'there is no such dead job';
/** Why one was not respawned: the answer has only how many were. */
export const NOT_RESPAWNED = `${NOT_DEAD}, or another job holds its unique key, or it has a push URL and the token lacks the permission push`;

/** `1 of 2 jobs was not respawned`, `3 jobs were not deleted`. @param of how many there are, if they are not all */
export function wereNot(jobs: number, done: string, of?: number): string {
  const many = of === undefined ? counted(jobs, 'job') : `${String(jobs)} of ${counted(of, 'job')}`;
  return `${many} ${jobs === 1 ? 'was' : 'were'} not ${done}`;
}

/** Acts on jobs by their ids. A call works for half a second: it is repeated until all are done. @returns how many */
export async function inParts(
  call: (part: { readonly cursor?: string }) => Promise<DeadOutcome>,
): Promise<number> {
  let jobs = 0;
  for (let cursor: string | null = ''; cursor !== null;) {
    const part: DeadOutcome = await call(cursor === '' ? {} : { cursor });
    jobs += part.jobs;
    cursor = part.nextCursor;
  }
  return jobs;
}

/** How a command changes one of the objects that it was given. */
export interface EachChange<T> {
  /** Field of an object's name in JSON. */
  readonly key: 'id' | 'queue';
  readonly change: (name: string) => Promise<T>;
  /** What is printed of those that were changed; not called for none. */
  readonly textOf: (changed: readonly T[]) => string;
}

/**
 * Changes one object after the other. One that fails is reported, and the next one is changed. A server that fails or
 * does not answer ends it: the rest is not tried. With `--json` the output has an entry for each one that was tried.
 *
 * @throws {SomeFailed} some of several failed
 * @throws {Error} the only one failed
 */
export async function changeEach<T extends object>(
  session: Output & { readonly isJson: boolean },
  names: readonly string[],
  { key, change, textOf }: EachChange<T>,
): Promise<void> {
  const changed: T[] = [];
  const tried: object[] = [];
  const hints = new Set<string>();
  let exit: number = EXIT.ok;
  for (const name of names) {
    try {
      const one = await change(name);
      changed.push(one);
      tried.push(one);
    } catch (error) {
      const failure = failureOf(error);
      // guard: bulk-goes-on-after-an-error
      if (!failure || names.length === 1) throw error;
      tried.push({ [key]: name, ...failureObject(failure) });
      if (!session.isJson) session.err(`pumphouse: ${printable(name)}: ${printable(failure.message)}\n`);
      if (failure.hint !== undefined) hints.add(failure.hint);
      exit = Math.max(exit, failure.exit);
      // guard: cli-ends-without-answer
      if (failure.exit === EXIT.failed) break;
    }
  }
  if (session.isJson) session.out(json(tried));
  else {
    if (changed.length > 0) session.out(textOf(changed));
    for (const hint of hints) session.err(`${hint}\n`);
  }
  const untried = names.length - tried.length;
  // guard: bulk-fails-at-the-end
  if (exit === EXIT.ok) return;
  const failed = `${String(tried.length - changed.length)} of ${String(names.length)} failed`;
  throw new SomeFailed(untried === 0 ? failed : `${failed}, ${String(untried)} were not tried`, exit);
}
