import type { JobState, QueueDetails, QueueType } from '@pumphouse/client';
import { Command, InvalidArgumentError } from 'commander';
import {
  DrainFields,
  FairKeysQuery,
  PauseQueueFields,
  ResumeQueueFields,
} from '#src/contract/queue-settings';
import { STATE_NAMES } from '#src/domain/job/states';
import { type BulkOptions, changeEach, isDryRun, showOutcome, withConfirmation } from '../bulk.js';
import { FieldFlags, flagOf } from '../flags.js';
import { collect, MAX_PAGE, showAll } from '../list.js';
import { list } from '../parse.js';
import { cell, counted, fieldLines, json, printable, table } from '../print.js';
import { withProgress } from '../progress.js';
import { QUEUE_HEADINGS, queueCells } from '../queue-row.js';
import type { OpenSession, Session } from '../session.js';

const HEADINGS = [...QUEUE_HEADINGS, 'DONE'];
const TYPE_HEADINGS = ['TYPE', 'READY', 'FIRST READY', 'LAST REQUEST'];
const STATES: readonly JobState[] = STATE_NAMES;

/** `pumphouse queue …` */
export function queueCommand(open: OpenSession): Command {
  return new Command('queue')
    .description('list, pause, drain and purge queues, and change their settings')
    .addCommand(listCommand(open))
    .addCommand(showCommand(open))
    .addCommand(keysCommand(open))
    .addCommand(pauseCommand(open))
    .addCommand(resumeCommand(open))
    .addCommand(drainCommand(open))
    .addCommand(purgeCommand(open))
    .addCommand(setCommand(open))
    .addCommand(removeCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse queue ls
  pumphouse queue purge mail --state ready,scheduled          # counts; then with --yes
  pumphouse queue set mail max_running=20 'rate={"rate":10,"period_ms":1000}'
  pumphouse queue set mail 'redact=["$.card.number"]'         # places that operators do not see
  pumphouse queue set mail 'fair={"weights":{"big":3}}'        # fair keys are served in turns
  pumphouse queue set mail order=strict on_dead=block         # one by one, for each concurrency key
  pumphouse queue pause mail --type sms --for 10m --note 'provider is down'
  pumphouse queue set mail max_running=null                   # no limit`,
    );
}

function listCommand(open: OpenSession): Command {
  return new Command('ls')
    .description('list the queues with their jobs by state')
    .action(async (_options: object, command: Command) => {
      const session = open(command);
      const queues = await collect(session.client.queues.each({ limit: MAX_PAGE }));
      showAll(session, queues, { headings: HEADINGS, rowOf: queueRow });
    });
}

function queueRow(details: QueueDetails): string[] {
  return [...queueCells(details), String(details.counts.done)];
}

function showCommand(open: OpenSession): Command {
  return new Command('show')
    .description('show the counts and the settings of a queue')
    .argument('<queue>')
    .action(async (queue: string, _options: object, command: Command) => {
      const session = open(command);
      const { client, isJson, out, err } = session;
      const details = await client.queues.get(queue);
      const { counts, exists, types = [], ...settings } = details;
      out(isJson ? json(details) : fieldLines({ ...settings, exists, ...counts }));
      if (!isJson && types.length > 0) out(`\n${table(session, TYPE_HEADINGS, types.map(typeRow))}`);
      if (!isJson && !exists) err('There is no such queue yet: its first job or setting makes it.\n');
    });
}

function keysCommand(open: OpenSession): Command {
  return new Command('keys')
    .description('list the fair keys of a fair queue with the most ready jobs')
    .argument('<queue>')
    .addOption(flagOf(FairKeysQuery, 'limit'))
    .action(async (queue: string, { limit }: { limit?: number }, command: Command) => {
      const session = open(command);
      const { keys, complete } = await session.client.queues.keys(
        queue,
        limit === undefined ? {} : { limit },
      );
      showAll(session, keys, {
        headings: ['KEY', 'READY', 'OLDEST'],
        rowOf: ({ key, ready, oldestPublishedAt }) => [key, String(ready), oldestPublishedAt ?? ''],
      });
      if (!complete)
        session.err('The queue has more keys than the server counts: these are the largest of some.\n');
    });
}

function typeRow({ type, ready, firstReadyAt, lastRequestAt }: QueueType): string[] {
  return [cell(type), String(ready), cell(firstReadyAt), cell(lastRequestAt)];
}

const PAUSE = new FieldFlags(PauseQueueFields);
const RESUME = new FieldFlags(ResumeQueueFields);

function pauseCommand(open: OpenSession): Command {
  return PAUSE.addTo(new Command('pause'))
    .description('stop leasing its jobs, or some of them; publishing continues')
    .argument('<queue...>')
    .action(async (queues: string[], options: object, command: Command) => {
      await changeQueues(open(command), 'paused', queues, ({ client }, queue) =>
        client.queues.pause(queue, PAUSE.given(options)),
      );
    });
}

function resumeCommand(open: OpenSession): Command {
  return RESUME.addTo(new Command('resume'))
    .description('end a pause or a drain; or the pause of some jobs')
    .argument('<queue...>')
    .action(async (queues: string[], options: object, command: Command) => {
      await changeQueues(open(command), 'resumed', queues, ({ client }, queue) =>
        client.queues.resume(queue, RESUME.given(options)),
      );
    });
}

function changeQueues(
  session: Session,
  done: string,
  queues: readonly string[],
  change: (session: Session, queue: string) => Promise<QueueDetails>,
): Promise<void> {
  return changeEach(session, queues, {
    key: 'queue',
    change: (queue) => change(session, queue),
    textOf: (changed) => `${done} ${namesOf(changed)}\n`,
  });
}

function drainCommand(open: OpenSession): Command {
  return new Command('drain')
    .description('refuse new jobs until the queue is empty; `resume` ends this sooner')
    .argument('<queue>')
    .addOption(flagOf(DrainFields, 'wait_ms'))
    .action(async (queue: string, { wait }: { wait?: number }, command: Command) => {
      const { client, isJson, out } = open(command);
      const details = await client.queues.drain(queue, wait === undefined ? {} : { waitMs: wait });
      const left = details.length === 0 ? 'it is empty' : `${counted(details.length, 'job')} left`;
      out(isJson ? json(details) : `draining ${printable(queue)}: ${left}\n`);
    });
}

interface PurgeOptions extends BulkOptions {
  readonly state: readonly JobState[];
}

function purgeCommand(open: OpenSession): Command {
  const command = new Command('purge')
    .description('permanently delete all jobs of a queue in the given states')
    .argument('<queue>')
    .requiredOption('--state <states>', `which: all, or some of ${STATES.join(',')}`, states);
  return withConfirmation(command).action(async (queue: string, options: PurgeOptions, self: Command) => {
    const session = open(self);
    const dryRun = isDryRun(options);
    const jobs: Partial<Record<JobState, number>> = {};
    const { queues } = session.client;
    const countAll = async (): Promise<number> =>
      sumOf((await queues.purge(queue, options.state, { dryRun: true })).jobs);
    await withProgress(session, dryRun ? 0 : countAll, async (progress) => {
      // A call works for about five seconds.
      for (let isComplete = false; !isComplete;) {
        const part = await queues.purge(queue, options.state, { dryRun });
        for (const [state, many] of Object.entries(part.jobs) as [JobState, number][])
          jobs[state] = (jobs[state] ?? 0) + many;
        isComplete = part.complete || dryRun;
        progress(sumOf(jobs));
      }
    });
    const all = sumOf(jobs);
    if (!session.isJson && all > 0) session.out(fieldLines(jobs));
    showOutcome(session, ['delete', 'deleted'], { queue, jobs: all, states: jobs, dryRun });
  });
}

function sumOf(jobs: Partial<Record<JobState, number>>): number {
  return Object.values(jobs).reduce((sum, many) => sum + many, 0);
}

function states(text: string, before: readonly JobState[] = []): readonly JobState[] {
  if (text === 'all') return STATES;
  const given = list(text, before);
  const known = STATES.filter((state) => given.includes(state));
  if (known.length === given.length) return known;
  throw new InvalidArgumentError(`It must be all, or some of ${STATES.join(',')}.`);
}

function setCommand(open: OpenSession): Command {
  return new Command('set')
    .description('change settings, with the names of PATCH /v1/:namespace/queues/:queue')
    .argument('<queue>')
    .argument('<setting=value...>', 'a value is JSON or text; null resets it to its default')
    .action(async (queue: string, given: string[], _options: object, command: Command) => {
      const settings = Object.fromEntries(given.map((one) => settingOf(one, command)));
      const { client, isJson, out } = open(command);
      const details = await client.queues.update(queue, settings);
      const { counts, ...shown } = details;
      out(isJson ? json(details) : fieldLines({ ...shown, ...counts }));
    });
}

function settingOf(text: string, command: Command): [string, unknown] {
  const [, name, value = ''] = /^([a-z_]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) command.error(`error: ${printable(text)}: must be setting=value`);
  try {
    return [name, JSON.parse(value)];
  } catch {
    return [name, value];
  }
}

function removeCommand(open: OpenSession): Command {
  return new Command('rm')
    .description('delete empty queues and their settings; purge them first')
    .argument('<queue...>')
    .action(async (queues: string[], _options: object, command: Command) => {
      const session = open(command);
      const { client } = session;
      await changeEach(session, queues, {
        key: 'queue',
        change: async (queue) => {
          await client.queues.delete(queue);
          return { queue, outcome: 'deleted' };
        },
        textOf: (deleted) => `deleted ${namesOf(deleted)}\n`,
      });
    });
}

function namesOf(queues: readonly { readonly queue: string }[]): string {
  return printable(queues.map(({ queue }) => queue).join(', '));
}
