import type { PlacedEvent } from '@pumphouse/client';
import { Command } from 'commander';
import { known, list, positiveNumber } from '../parse.js';
import { cell, factsOf, json, printable } from '../print.js';
import type { OpenSession } from '../session.js';

interface TailOptions {
  readonly queue?: readonly string[];
  readonly event?: readonly string[];
  readonly job?: readonly string[];
  readonly type?: readonly string[];
  readonly tag?: readonly string[];
  readonly after?: string;
  readonly count?: number;
}

/** `pumphouse tail` */
export function tailCommand(open: OpenSession): Command {
  return new Command('tail')
    .description('print the events of the namespace as they happen, one per line, until interrupted')
    .option('--queue <names>', 'of these queues', list)
    .option('--event <names>', 'these events: published, leased, acked, died …', list)
    .option('--job <ids>', 'of these jobs', list)
    .option('--type <types>', 'of jobs of these types', list)
    .option('--tag <tags>', 'of jobs with these tags', list)
    .option('--after <place>', 'continue after this event (`place` in the JSON); default: from now on')
    .option('--count <n>', 'stop after this number of events', positiveNumber)
    .addHelpText('after', '\nExample:\n  pumphouse tail --queue mail --event died,failed --json')
    .action(async (options: TailOptions, command: Command) => {
      const { client, isJson, out, err } = open(command);
      const { queue, event, job, type, tag, after, count = Infinity } = options;
      const filters = known({ queues: queue, events: event, jobs: job, types: type, tags: tag, after });
      // A list first: a server that is away is an error here, while the stream would wait for it.
      await client.queues.list({ limit: 1 }).catch(rightsAside);
      const onOpen = (): void => (isJson ? undefined : err('Listening.\n'));
      let printed = 0;
      for await (const one of client.events({ ...filters, onOpen })) {
        out(isJson ? json(one) : lineOf(one));
        if (++printed >= count) return;
      }
    });
}

/** A token for some queues may listen to those, though it may not list. */
function rightsAside(error: unknown): void {
  if (!(error instanceof Error && 'status' in error && error.status === 403)) throw error;
}

function lineOf(event: PlacedEvent): string {
  const { event: name, at, queue, id, ...facts } = event;
  const parts = [at ?? '-', name.padEnd(12), cell(queue), cell(id), factsOf({ ...facts, place: null })];
  return `${printable(parts.join('  ').trimEnd())}\n`;
}
