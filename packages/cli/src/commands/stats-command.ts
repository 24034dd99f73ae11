import { setTimeout as sleep } from 'node:timers/promises';
import type { DayStats, QueueDetails } from '@pumphouse/client';
import { Command } from 'commander';
import { MAX_TIMER_MS } from '#src/domain/limits';
import { collect, MAX_PAGE } from '../list.js';
import { duration, list } from '../parse.js';
import { json, table } from '../print.js';
import { QUEUE_HEADINGS, queueCells } from '../queue-row.js';
import type { OpenSession, Session } from '../session.js';

const HEADINGS = [...QUEUE_HEADINGS, ...['LEASES', 'MEAN WAIT', 'RUNS', 'MEAN RUN', 'FAILED', 'RETRIED']];
const DEFAULT_EVERY_MS = 2_000;
/** Clears the screen from the top left corner on. */
const CLEAR = '\u001b[H\u001b[J';
const SECOND_MS = 1_000;
/** Queues whose statistics are read at once. */
const AT_ONCE = 16;

interface StatsOptions {
  readonly queue?: readonly string[];
  readonly day?: string;
  readonly watch?: boolean;
  readonly every?: number;
}

interface QueueStats {
  readonly queue: QueueDetails;
  readonly stats: DayStats;
}

/** `pumphouse stats` */
export function statsCommand(open: OpenSession): Command {
  return new Command('stats')
    .description('show the jobs of each queue now, and the statistics of one day')
    .option('--queue <names>', 'only these queues', list)
    .option('--day <day>', 'a day in UTC, as 2026-11-21 (default: today)')
    .option('--watch', 'refresh until interrupted')
    .option('--every <time>', 'with --watch: how often (default: 2s)', duration)
    .action(async (options: StatsOptions, command: Command) => {
      const session = open(command);
      if (options.watch !== true) {
        session.out(shown(session, await readStats(session, options)));
        return;
      }
      for (;;) {
        const text = shown(session, await readStats(session, options));
        session.out(session.isTerminal === true && !session.isJson ? `${CLEAR}${clockLine()}${text}` : text);
        await sleep(Math.min(options.every ?? DEFAULT_EVERY_MS, MAX_TIMER_MS));
      }
    });
}

async function readStats({ client }: Session, { queue, day }: StatsOptions): Promise<QueueStats[]> {
  const queues = await (queue === undefined
    ? collect(client.queues.each({ limit: MAX_PAGE }))
    : Promise.all(queue.map((name) => client.queues.get(name))));
  const all: QueueStats[] = [];
  for (let i = 0; i < queues.length; i += AT_ONCE) {
    const some = queues.slice(i, i + AT_ONCE).map(async (one) => ({
      queue: one,
      stats: await client.stats.get({ queue: one.queue, ...(day === undefined ? {} : { day }) }),
    }));
    all.push(...(await Promise.all(some)));
  }
  return all;
}

function shown(session: Session, all: readonly QueueStats[]): string {
  return session.isJson ? json(all) : table(session, HEADINGS, all.map(rowOf));
}

function rowOf({ queue, stats }: QueueStats): string[] {
  const { waits, runs, failures, retries } = stats;
  return [
    ...queueCells(queue),
    ...[String(waits.count), seconds(waits.meanMs), String(runs.count), seconds(runs.meanMs)],
    ...[String(failures), String(retries)],
  ];
}

function seconds(ms: number): string {
  return ms < SECOND_MS ? `${String(Math.round(ms))} ms` : `${(ms / SECOND_MS).toFixed(1)} s`;
}

function clockLine(): string {
  return `${new Date().toISOString()}  (Ctrl-C ends it)\n\n`;
}
