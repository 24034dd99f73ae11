import type { JobDetails, JobState, JobSummary, NewJob, PublishedJob, Pumphouse } from '@pumphouse/client';
import { Command, Option } from 'commander';
import { CancelFields } from '#src/contract/job/changes';
import { JobPushFields, PublishFields, UniqueFields } from '#src/contract/job/options';
import { Refused, Unreachable } from '../admin-client.js';
import { changeEach } from '../bulk.js';
import { FieldFlags, flagOf } from '../flags.js';
import { limitOption, showFirst } from '../list.js';
import { known, list } from '../parse.js';
import { cell, columns, counted, fieldLines, json, printable } from '../print.js';
import { withProgress } from '../progress.js';
import type { OpenSession, Session } from '../session.js';

const HEADINGS = ['ID', 'QUEUE', 'STATE', 'TYPE', 'TRIES LEFT', 'PUBLISHED', 'DUE', 'TAGS'];
/** Jobs of one publish. */
const BATCH = 64;
/** HTTP statuses of what a command finds out itself. */
const NOT_FOUND = 404;

/** `pumphouse job …` */
export function jobCommand(open: OpenSession): Command {
  return new Command('job')
    .description('publish, show, list, cancel and move jobs')
    .addCommand(publishCommand(open))
    .addCommand(getCommand(open))
    .addCommand(listCommand(open))
    .addCommand(cancelCommand(open))
    .addCommand(retryCommand(open))
    .addCommand(moveCommand(open))
    .addCommand(revokeCommand(open))
    .addCommand(removeCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse job publish mail '{"to":"ada@example.com"}' --type welcome --delay 5m
  pumphouse job publish files --content-type image/png < picture.png
  pumphouse job publish mail --lines < jobs.ndjson              # a job for each line
  pumphouse job ls --queue mail --state dead,leased
  pumphouse job retry 01K2Z8M5Q0X3…`,
    );
}

const JOB = new FieldFlags(PublishFields, {
  ...{ id: {}, type: {}, delay_ms: {}, ttl_ms: {}, tries: {}, priority: {} },
  tags: { flag: '--tag <tags>' },
  attributes: { flag: '--attribute <name=value>' },
});
const CONTENT_TYPE = flagOf(PublishFields, 'content_type', {
  about: 'the type of data that is not JSON: text/plain, image/png',
});
const UNIQUE = flagOf(UniqueFields, 'key', { flag: '--unique <key>' });
const PUSH_URL = flagOf(JobPushFields, 'url', { flag: '--push-url <url>' });

interface PublishOptions {
  readonly id?: string;
  readonly contentType?: string;
  readonly unique?: string;
  readonly pushUrl?: string;
  readonly idempotencyKey?: string;
  readonly lines?: boolean;
}

function publishCommand(open: OpenSession): Command {
  const command = new Command('publish')
    .description('publish a job, or one for each line of the standard input; prints the ids')
    .argument('<queue>')
    .argument('[data]', 'JSON; left out or -: the standard input');
  return JOB.addTo(command)
    .addOption(CONTENT_TYPE)
    .addOption(UNIQUE)
    .addOption(PUSH_URL)
    .option('--idempotency-key <key>', 'repeating the publish with the same key stores nothing')
    .option('--lines', 'each line of the standard input is the data of a job')
    .action(async (queue: string, data: string | undefined, options: PublishOptions, command: Command) => {
      if (
        options.lines === true &&
        (data ?? options.id ?? options.unique ?? options.idempotencyKey) !== undefined
      )
        command.error('error: --lines cannot be used with data, --id, --unique or --idempotency-key');
      const session = open(command);
      if (options.lines === true) {
        await publishLines(session, queue, options);
        return;
      }
      const published = await publishOne(session, queue, data, options);
      session.out(session.isJson ? json(published) : `${printable(published.id)}\n`);
    });
}

function jobOf(queue: string, bytes: Buffer, options: PublishOptions, where: string): NewJob {
  const { contentType, unique, pushUrl } = options;
  const payload =
    contentType === undefined ? { json: jsonIn(bytes, where) } : { data: new Uint8Array(bytes), contentType };
  return {
    ...{ queue, ...JOB.given(options), ...payload },
    ...(unique === undefined ? {} : { unique: { key: unique } }),
    ...(pushUrl === undefined ? {} : { push: { url: pushUrl } }),
  };
}

function jsonIn(bytes: Buffer, where: string): string {
  const text = bytes.toString('utf8').trim();
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new Unreachable(`${where} is not JSON: quote text ('"hello"'), or give --content-type text/plain`);
  }
}

async function publishOne(
  session: Session,
  queue: string,
  data: string | undefined,
  options: PublishOptions,
): Promise<PublishedJob> {
  const isInput = data === undefined || data === '-';
  const bytes = isInput ? await inputOf(session) : Buffer.from(data);
  const job = jobOf(queue, bytes, options, isInput ? 'the standard input' : 'the data');
  const { idempotencyKey } = options;
  return session.client.publish(job, idempotencyKey === undefined ? {} : { idempotencyKey });
}

/** Batches are stored one after the other. After an error the ids of those that are stored are printed, too. */
async function publishLines(session: Session, queue: string, options: PublishOptions): Promise<void> {
  const lines = (await inputOf(session)).toString('utf8').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  const jobs = lines.map((line, i) => jobOf(queue, Buffer.from(line), options, `line ${String(i + 1)}`));
  const published: PublishedJob[] = [];
  try {
    await withProgress(session, jobs.length, async (progress) => {
      while (published.length < jobs.length) {
        const batch = jobs.slice(published.length, published.length + BATCH);
        published.push(...(await session.client.publishMany(batch)));
        progress(published.length);
      }
    });
  } catch (error) {
    const stored = `lines 1 to ${String(published.length)} are stored; continue after them`;
    if (!session.isJson) session.err(`pumphouse: ${stored}\n`);
    throw error;
  } finally {
    const ids = published.map(({ id }) => `${printable(id)}\n`).join('');
    session.out(session.isJson ? json(published) : ids);
  }
}

async function inputOf({ input }: Session): Promise<Buffer> {
  if (input === undefined) throw new Unreachable('no data: give it as an argument, or pipe it in');
  return input();
}

function getCommand(open: OpenSession): Command {
  return new Command('get')
    .description('show a job with all its fields')
    .argument('<id>')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      const job = await client.jobs.get(id);
      out(isJson ? json(job) : detailsOf(job));
    });
}

function detailsOf({ timeline, ...fields }: JobDetails): string {
  const rows = timeline.map(({ at, what, ...facts }) => [at, what, factsOf(facts)]);
  return fieldLines(fields) + (rows.length === 0 ? '' : `\n${columns(rows)}`);
}

/** `name=value` of each fact. */
export function factsOf(facts: Readonly<Record<string, unknown>>): string {
  const known = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined);
  return known.map(([name, value]) => `${name}=${cell(value)}`).join(' ');
}

interface ListOptions {
  readonly queue?: string;
  readonly state?: readonly JobState[];
  readonly tag?: string;
  readonly type?: string;
  readonly group?: string;
  readonly worker?: string;
  readonly order?: 'oldest' | 'newest';
  readonly limit: number;
}

function listCommand(open: OpenSession): Command {
  return new Command('ls')
    .description('list jobs that match all filters')
    .option('--queue <name>', 'of this queue')
    .option('--state <states>', 'ready, scheduled, leased, dead, blocked, held, done, cancelled', list)
    .option('--tag <tag>', 'with this tag')
    .option('--type <type>', 'of this type')
    .option('--group <group>', 'dead, in this failure group')
    .option('--worker <name>', 'leased by this worker')
    .addOption(new Option('--order <order>', 'sort order').choices(['oldest', 'newest']))
    .addOption(limitOption())
    .action(async (options: ListOptions, command: Command) => {
      const session = open(command);
      const { limit, queue, state, tag, type, group, worker, order } = options;
      const filter = known({ queue, state, tag, type, group, worker, order });
      const pagesOf = (pageSize: number): AsyncIterable<JobSummary> =>
        session.client.jobs.each({ ...filter, limit: pageSize });
      await showFirst(session, limit, pagesOf, { headings: HEADINGS, rowOf: jobRow });
    });
}

function jobRow({ id, queue, state, type, triesLeft, publishedAt, dueAt, tags }: JobSummary): string[] {
  return [id, queue, state, type, String(triesLeft), publishedAt, dueAt, tags].map(cell);
}

function cancelCommand(open: OpenSession): Command {
  return new Command('cancel')
    .description('cancel jobs; the worker of a leased job is notified')
    .argument('<id...>')
    .addOption(flagOf(CancelFields, 'cascade'))
    .action(async (ids: string[], { cascade }: { cascade?: boolean }, command: Command) => {
      const session = open(command);
      const { client } = session;
      await changeEach(session, ids, {
        key: 'id',
        change: (id) => client.jobs.cancel(id, cascade === undefined ? {} : { cascade }),
        textOf: (cancelled) => columns(cancelled.map(({ id, outcome }) => [outcome, id])),
      });
    });
}

function retryCommand(open: OpenSession): Command {
  return new Command('retry')
    .description('respawn dead jobs: they are ready again, with all their tries')
    .argument('<id...>')
    .action(async (ids: string[], _options: object, command: Command) => {
      const session = open(command);
      const { jobs } = await session.client.deadLetter.respawn({ ids });
      session.out(session.isJson ? json({ jobs }) : `respawned ${counted(jobs, 'job')}\n`);
      if (jobs < ids.length)
        throw new Refused(
          `${String(ids.length - jobs)} of ${counted(ids.length, 'job')} not: no such dead job`,
          NOT_FOUND,
        );
    });
}

function moveCommand(open: OpenSession): Command {
  return new Command('move')
    .description('move waiting or dead jobs to another queue; a dead job is ready there')
    .argument('<queue>', 'the other queue')
    .argument('<id...>')
    .action(async (queue: string, ids: string[], _options: object, command: Command) => {
      const session = open(command);
      const { client } = session;
      await changeEach(session, ids, {
        key: 'id',
        change: async (id) => {
          await moveOne(client, id, queue);
          return { id, queue };
        },
        textOf: ({ length }) => `moved ${counted(length, 'job')} to ${printable(queue)}\n`,
      });
    });
}

async function moveOne(client: Pumphouse, id: string, queue: string): Promise<void> {
  const { state } = await client.jobs.get(id);
  if (state !== 'dead') {
    await client.jobs.update(id, { queue });
    return;
  }
  const { jobs } = await client.deadLetter.move({ ids: [id], toQueue: queue });
  if (jobs === 0)
    throw new Refused(`${id} stays dead: another job has its unique key, or it is gone by now`, NOT_FOUND);
}

function revokeCommand(open: OpenSession): Command {
  return new Command('revoke')
    .description('end the lease of jobs: they go back to their queue')
    .argument('<id...>')
    .action(async (ids: string[], _options: object, command: Command) => {
      const session = open(command);
      const { client } = session;
      await changeEach(session, ids, {
        key: 'id',
        change: (id) => client.jobs.revoke(id),
        textOf: (revoked) => columns(revoked.map(({ id, state }) => [state, id])),
      });
    });
}

function removeCommand(open: OpenSession): Command {
  return new Command('rm')
    .description('delete jobs permanently')
    .argument('<id...>')
    .option('--force', 'also delete jobs that are leased')
    .action(async (ids: string[], { force }: { force?: boolean }, command: Command) => {
      const session = open(command);
      const { client } = session;
      await changeEach(session, ids, {
        key: 'id',
        change: async (id) => {
          await client.jobs.delete(id, force === undefined ? {} : { force });
          return { id, outcome: 'deleted' };
        },
        textOf: ({ length }) => `deleted ${counted(length, 'job')}\n`,
      });
    });
}
