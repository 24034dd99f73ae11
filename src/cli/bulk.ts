import type { Command } from 'commander';
import { counted, json, type Output } from './print.js';

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
