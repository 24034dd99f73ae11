import type { Operation } from '@pumphouse/client';
import { Command } from 'commander';
import { limitOption, MAX_PAGE, showAll } from '../list.js';
import { undo } from '../operate.js';
import { cell, columns, counted, factsOf, fieldLines, json } from '../print.js';
import type { OpenSession } from '../session.js';

const HEADINGS = ['ID', 'ACTION', 'STATE', 'MATCHED', 'DONE', 'FAILED', 'UNDO', 'CREATED', 'FILTER'];

/** `pumphouse operation …` */
export function operationCommand(open: OpenSession): Command {
  return new Command('operation')
    .description('list, show, stop and undo actions over all jobs that match filters')
    .addCommand(listCommand(open))
    .addCommand(showCommand(open))
    .addCommand(stopCommand(open))
    .addCommand(undoCommand(open))
    .addHelpText(
      'after',
      `
These commands start operations, if they are given filters:
  pumphouse job cancel|rm|move|retry, job set, and dead respawn|move|rm

Examples:
  pumphouse job cancel --queue mail --type welcome --rate 100 --undo 10m --yes
  pumphouse operation undo 01M7Z17XME660YPHBY512QCVQF
  pumphouse operation ls
  pumphouse operation stop 01M7Z17XME660YPHBY512QCVQF`,
    );
}

function listCommand(open: OpenSession): Command {
  return new Command('ls')
    .description('list the operations of the last seven days, the newest first')
    .addOption(limitOption())
    .action(async ({ limit }: { readonly limit: number }, command: Command) => {
      const session = open(command);
      const { items } = await session.client.operations.list({ limit: Math.min(limit, MAX_PAGE) });
      showAll(session, items, { headings: HEADINGS, rowOf });
    });
}

function rowOf(operation: Operation): string[] {
  const { id, action, state, dryRun, matched, done, failed, undo, createdAt, filter } = operation;
  const counts = [matched, done, failed].map(String);
  const facts = [undo?.state, createdAt, factsOf(filter)].map(cell);
  return [id, dryRun ? `${action} (dry run)` : action, state, ...counts, ...facts];
}

function showCommand(open: OpenSession): Command {
  return new Command('show')
    .description('show an operation with its progress')
    .argument('<id>')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      const operation = await client.operations.get(id);
      out(isJson ? json(operation) : detailsOf(operation));
    });
}

function detailsOf({ samples, ...fields }: Operation): string {
  const rows = samples.map(({ id, queue, state }) => [id, queue, state]);
  return fieldLines(fields) + (rows.length === 0 ? '' : `\n${columns(rows)}`);
}

function stopCommand(open: OpenSession): Command {
  return new Command('stop')
    .description('stop an operation, or its undo; what it has done stays done')
    .argument('<id>')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      const stopped = await client.operations.stop(id);
      out(isJson ? json(stopped) : `${stopped.state} after ${counted(stopped.done, 'job')}\n`);
    });
}

function undoCommand(open: OpenSession): Command {
  return new Command('undo')
    .description('bring back the jobs that an operation with --undo has cancelled or deleted')
    .argument('<id>')
    .action((id: string, _options: object, command: Command) => undo(open(command), id));
}
