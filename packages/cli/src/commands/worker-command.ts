import type { WorkerSession } from '@pumphouse/client';
import { Command } from 'commander';
import { changeEach } from '../bulk.js';
import { MAX_PAGE, showAll } from '../list.js';
import { fieldLines, json, printable } from '../print.js';
import type { OpenSession } from '../session.js';

const HEADINGS = ['ID', 'NAME', 'HOST', 'PID', 'STATE', 'JOBS', 'QUEUES', 'STARTED', 'LAST SEEN'];

/** `pumphouse worker …` */
export function workerCommand(open: OpenSession): Command {
  return new Command('worker')
    .alias('workers')
    .description('list and show the workers of a namespace, quiet or stop them')
    .addCommand(listCommand(open))
    .addCommand(showCommand(open))
    .addCommand(
      askCommand(open, 'quiet', 'ask a worker to lease no more jobs; it finishes those that it has'),
    )
    .addCommand(askCommand(open, 'stop', 'ask a worker to shut down, as SIGTERM does'))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse worker ls --namespace mail --token @token.txt
  pumphouse worker stop mailer-7f3k2q9x

A worker gets the request with its next heartbeat: within a third of its lease.`,
    );
}

function listCommand(open: OpenSession): Command {
  return new Command('ls')
    .description('list the workers, most recently seen first')
    .action(async (_options: object, command: Command) => {
      const session = open(command);
      const workers: WorkerSession[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page = await session.client.workers.list({
          limit: MAX_PAGE,
          ...(cursor === '' ? {} : { cursor }),
        });
        workers.push(...page.items);
        cursor = page.nextCursor;
      }
      showAll(session, workers, { headings: HEADINGS, rowOf });
    });
}

function showCommand(open: OpenSession): Command {
  return new Command('show')
    .description('show a worker with all its fields')
    .argument('<id>', 'as `ls` shows it')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      const worker = await client.workers.get(id);
      out(isJson ? json(worker) : fieldLines(worker));
    });
}

function askCommand(open: OpenSession, what: 'quiet' | 'stop', description: string): Command {
  return new Command(what)
    .description(description)
    .argument('<id...>', 'as `ls` shows it')
    .action(async (ids: string[], _options: object, command: Command) => {
      const session = open(command);
      const { client } = session;
      await changeEach(session, ids, {
        key: 'id',
        change: async (id) => {
          await client.workers[what](id);
          return { id, outcome: 'requested' };
        },
        textOf: (requested) => `requested of ${printable(requested.map(({ id }) => id).join(', '))}\n`,
      });
    });
}

function rowOf(worker: WorkerSession): string[] {
  const { name, displayName, host, pid, jobsAtHand, leased, concurrency, queues } = worker;
  const jobs = `${String(jobsAtHand ?? leased)}${concurrency === null ? '' : `/${String(concurrency)}`}`;
  return [
    ...[name, displayName ?? '-', host ?? '-', pid === null ? '-' : String(pid), stateOf(worker), jobs],
    ...[queues?.join(',') ?? '-', worker.startedAt ?? '-', worker.seenAt],
  ];
}

function stateOf({ lost, stop, quiet }: WorkerSession): string {
  if (lost) return 'lost';
  if (stop) return 'stopping';
  return quiet ? 'quiet' : 'running';
}
