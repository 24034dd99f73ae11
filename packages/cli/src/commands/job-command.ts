import { hash } from 'node:crypto';
import type {
  JobChange,
  JobDetails,
  JobOptions,
  JobSummary,
  NewJob,
  PublishedJob,
  PublishOptions as PublishCallOptions,
  Pumphouse,
} from '@pumphouse/client';
import { isPumphouseError } from '@pumphouse/client';
import { Command, InvalidArgumentError, Option } from 'commander';
import { omit } from '#src/contract/fields/derived';
import { CancelFields, ChangeFields } from '#src/contract/job/changes';
import { JobFilterFields } from '#src/contract/job/job-filter';
import { PublishFields, PublishQuery } from '#src/contract/job/options';
import { DURABILITY_RULE, isDurability } from '#src/domain/durability';
import { NOT_FOUND, Refused, Unreachable } from '../admin-client.js';
import { changeEach, inParts, NOT_RESPAWNED, wereNot } from '../bulk.js';
import { FieldFlags, flagOf, JOB_TEXTS } from '../flags.js';
import { argumentBytes, linesOf, textIn } from '../input.js';
import { limitOption, showFirst } from '../list.js';
import { duration, known } from '../parse.js';
import { cell, columns, counted, factsOf, fieldLines, firstLine, json, printable } from '../print.js';
import { filterOf, operate, type OperationOptions, WHERE, withFilters, withUndo } from '../operate.js';
import { withProgress } from '../progress.js';
import type { OpenSession, Session } from '../session.js';

const HEADINGS = ['ID', 'QUEUE', 'STATE', 'TYPE', 'TRIES LEFT', 'PUBLISHED', 'DUE', 'TAGS'];
/** Jobs of one publish. */
const BATCH = 64;
const CANCEL = ['cancel', 'cancelled'] as const;
const CHANGED = ['change', 'changed'] as const;
const DELETE = ['delete', 'deleted'] as const;
const MOVE = ['move', 'moved'] as const;
const RETRY = ['retry', 'retried'] as const;
/** Dependents that the answer for a job has at most, and those of them that are printed. */
const MAX_DEPENDENTS = 100;
const SHOWN_DEPENDENTS = 5;
/** Ids of one list, and states that are printed. */
const MAX_LISTED = 100;
const SHOWN_STATES = 5;
/** States that a respawned job cannot have at once. */
const ENDS: ReadonlySet<string> = new Set(['dead', 'done', 'cancelled', 'gone']);

/** `pumphouse job …` */
export function jobCommand(open: OpenSession): Command {
  return new Command('job')
    .description('publish, show, list, change, cancel and move jobs')
    .addCommand(publishCommand(open))
    .addCommand(showCommand(open))
    .addCommand(listCommand(open))
    .addCommand(setCommand(open))
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
  pumphouse job publish mail '{}' --retry exponential --retry-delay 10s --retry-max 1h
  pumphouse job set 01K2Z8M5Q0X3… --priority -5 --delay 10m
  pumphouse job retry 01K2Z8M5Q0X3…
  pumphouse job cancel --queue mail --type welcome            # counts; then with --yes
  pumphouse job set --where-queue mail --priority -5 --yes`,
    );
}

/** A flag for each option of a job that the API takes. */
const JOB = new FieldFlags(omit(PublishFields, ['queue', 'data', 'data_base64']), JOB_TEXTS);
const WAIT = flagOf(PublishQuery, 'wait_ms', {
  about: 'wait until the job has ended, and print how (30s, 5m, 1h)',
});

interface PublishOptions {
  readonly id?: string;
  readonly contentType?: string;
  readonly unique?: string;
  readonly idempotencyKey?: string;
  readonly idempotencyTtl?: number;
  readonly durability?: string;
  readonly wait?: number;
  readonly lines?: boolean;
}

function publishCommand(open: OpenSession): Command {
  const command = new Command('publish')
    .description('publish a job, or one for each line of the standard input; prints the ids')
    .argument('<queue>')
    .argument('[data]', 'JSON; left out or -: the standard input');
  return JOB.addTo(command)
    .addOption(WAIT)
    .option(
      '--idempotency-key <key>',
      'repeating the publish with the same key stores nothing; with --lines, in the same order',
    )
    .option('--idempotency-ttl <time>', 'how long the key counts: 1s to 30d (default: 1d)', duration)
    .option(
      '--durability <level>',
      'where it is stored before the answer: memory, aof or replicated:N',
      durability,
    )
    .option('--lines', 'each line of the standard input is the data of a job')
    .action(async (queue: string, data: string | undefined, options: PublishOptions, command: Command) => {
      const { lines, id, unique, idempotencyKey, idempotencyTtl, wait } = options;
      if (lines === true && (data ?? id ?? unique ?? wait) !== undefined)
        command.error('error: --lines cannot be used with data, --id, --unique or --wait');
      if (idempotencyTtl !== undefined && idempotencyKey === undefined)
        command.error('error: --idempotency-ttl needs --idempotency-key');
      const session = open(command);
      if (lines === true) await publishLines(session, queue, options);
      else if (wait === undefined) await publishOne(session, queue, data, options);
      else await publishAndWait(session, queue, data, { ...options, wait });
    });
}

function durability(text: string): string {
  if (isDurability(text)) return text;
  throw new InvalidArgumentError(`It ${DURABILITY_RULE}.`);
}

/** @param where what the bytes are, for error messages */
function jobOf(queue: string, bytes: Buffer, options: PublishOptions, where: string): NewJob {
  const payload =
    options.contentType === undefined
      ? { json: jsonIn(bytes, where) }
      : { data: new Uint8Array(bytes), contentType: options.contentType };
  // The server checks which fields go with a kind of retry policy.
  return { queue, ...(JOB.given(options) as JobOptions), ...payload };
}

function jsonIn(bytes: Buffer, where: string): string {
  const text = textIn(
    bytes,
    where,
    'Convert it, or give --content-type to publish the bytes as they are.',
  ).trim();
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new Unreachable(`${where} is not JSON: quote text ('"hello"'), or give --content-type text/plain`);
  }
}

async function oneJob(
  session: Session,
  queue: string,
  data: string | undefined,
  options: PublishOptions,
): Promise<readonly [job: NewJob, options: PublishCallOptions]> {
  const isInput = data === undefined || data === '-';
  const bytes = isInput
    ? await dataOf(session, options.contentType !== undefined)
    : argumentBytes(data, 'the data');
  const job = jobOf(queue, bytes, options, isInput ? 'the standard input' : 'the data');
  const { idempotencyKey, idempotencyTtl, durability } = options;
  return [job, known({ idempotencyKey, idempotencyTtlMs: idempotencyTtl, durability })];
}

async function publishOne(
  session: Session,
  queue: string,
  data: string | undefined,
  options: PublishOptions,
): Promise<void> {
  const published = await session.client.publish(...(await oneJob(session, queue, data, options)));
  session.out(session.isJson ? json(published) : `${printable(published.id)}\n`);
  if (!session.isJson) for (const note of notesOf(published)) session.err(`${printable(note)}\n`);
}

/** What an answer has that is not just a new job. */
interface Noted {
  readonly existing: boolean;
  readonly replayed?: boolean;
  readonly missingDependencies?: readonly string[];
}

function notesOf({ existing, replayed, missingDependencies = [] }: Noted): string[] {
  const missing = missingDependencies.map(
    (id) => `There is no job ${id}: as a dependency it counts as done.`,
  );
  const unique = existing ? ['Nothing was stored: this job has the unique key.'] : [];
  const again = replayed === true ? ['Nothing was stored: the idempotency key was used before.'] : [];
  return [...unique, ...again, ...missing];
}

async function publishAndWait(
  session: Session,
  queue: string,
  data: string | undefined,
  options: PublishOptions & { readonly wait: number },
): Promise<void> {
  const [job, call] = await oneJob(session, queue, data, options);
  const ended = await session.client.publishAndWait(job, { ...call, waitMs: options.wait });
  session.out(session.isJson ? json(ended) : fieldLines(ended));
  const { id, state } = ended;
  if (state !== 'done') throw new Refused(`${id} is not done: it is ${state ?? 'gone'}`, 0);
}

/** Batches are stored one after the other, each with a key of its own. After an error the ids of those that are stored are printed, too. */
async function publishLines(session: Session, queue: string, options: PublishOptions): Promise<void> {
  const { idempotencyKey, idempotencyTtl } = options;
  const jobs = linesOf(await inputOf(session)).map((line, i) =>
    jobOf(queue, line, options, `line ${String(i + 1)}`),
  );
  const published: PublishedJob[] = [];
  try {
    await withProgress(session, jobs.length, async (progress) => {
      while (published.length < jobs.length) {
        const batch = jobs.slice(published.length, published.length + BATCH);
        // Of any length: a key has 255 characters at most.
        const key = idempotencyKey && hash('sha256', `${idempotencyKey}.${String(published.length)}`);
        const rest = { idempotencyTtlMs: idempotencyTtl, durability: options.durability };
        published.push(...(await session.client.publishMany(batch, known({ idempotencyKey: key, ...rest }))));
        progress(published.length);
      }
    });
  } catch (error) {
    if (!session.isJson) session.err(storedText(published.length, jobs.length, error));
    throw error;
  } finally {
    const ids = published.map(({ id }) => `${printable(id)}\n`).join('');
    session.out(session.isJson ? json(published) : ids);
  }
}

/** What is stored of some lines. Without an answer, or with an error of the server, the last batch may be stored or not. */
function storedText(stored: number, all: number, error: unknown): string {
  const known = stored > 0 ? `lines 1 to ${String(stored)} are stored` : '';
  if (isPumphouseError(error) && error.status >= 400 && error.status < 500)
    return known === '' ? '' : `pumphouse: ${known}; continue after them\n`;
  const maybe = `lines ${String(stored + 1)} to ${String(Math.min(stored + BATCH, all))} may be stored`;
  const advice = 'Send all again only if an --idempotency-key was given, and with the same one.';
  return `pumphouse: ${known === '' ? '' : `${known}, and `}${maybe}. ${advice}\n`;
}

async function inputOf({ input }: Session): Promise<Buffer> {
  if (input === undefined) throw new Unreachable('no data: give it as an argument, or pipe it in');
  return input();
}

async function dataOf(session: Session, isBytes: boolean): Promise<Buffer> {
  const bytes = await inputOf(session);
  if (isBytes || bytes.length > 0) return bytes;
  throw new Unreachable('no data: the standard input is empty. Give the data as an argument, or pipe it in');
}

function showCommand(open: OpenSession): Command {
  return new Command('show')
    .description('show a job with all its fields')
    .argument('<id>')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      const job = await client.jobs.get(id);
      out(isJson ? json(job) : detailsOf(job));
    });
}

/** Long messages, such as stacks, are cut at their first line; that of the last failure stands whole at the end. */
function detailsOf({ timeline, ...fields }: JobDetails): string {
  const { failure } = fields;
  const shown = { ...fields, ...dependenciesOf(fields), failure: failure && withFirstLine(failure) };
  const rows = timeline.map(({ at, what, ...facts }) => [at, what, factsOf(withFirstLine(facts))]);
  const parts = [fieldLines(shown), columns(rows)];
  if (failure?.message.includes('\n'))
    parts.push(`last failure:\n${failure.message.split('\n').map(indented).join('')}`);
  return parts.filter((part) => part !== '').join('\n');
}

/** As cells: a job may wait for nothing any more, and be blocked by what has failed. */
function dependenciesOf(job: Omit<JobDetails, 'timeline'>): object {
  const { state, dependsOn, failedDependencies } = job;
  const dependencies = job.dependencies.map((one) => `${one.id} (${one.state})`);
  const failed = Object.entries(failedDependencies).map(([id, end]) => `${id} (${end})`);
  if (failed.length === 0) return { dependencies };
  const isStuck = state === 'blocked' && dependsOn.length === 0;
  return {
    dependencies,
    dependsOn: isStuck ? '- (blocked by failed_dependencies)' : dependsOn,
    failedDependencies: failed,
  };
}

function withFirstLine<T extends { readonly message?: unknown }>(of: T): T {
  const { message } = of;
  if (typeof message !== 'string' || !message.includes('\n')) return of;
  return { ...of, message: `${firstLine(message)} ...` };
}

function indented(line: string): string {
  return `  ${printable(line)}\n`;
}

const FILTER = new FieldFlags(JobFilterFields);

const ORDER =
  'which come first: ready jobs by their turn, scheduled by due time, leased by the end of the lease; dead, done and cancelled by when they ended; all others by publish';

interface ListOptions {
  readonly order?: 'oldest' | 'newest';
  readonly limit: number;
}

function listCommand(open: OpenSession): Command {
  return FILTER.addTo(new Command('ls').description('list jobs that match all filters'))
    .addOption(new Option('--order <order>', ORDER).choices(['oldest', 'newest']))
    .addOption(limitOption())
    .action(async (options: ListOptions, command: Command) => {
      const session = open(command);
      const { limit, order } = options;
      const filter = { ...FILTER.given(options), ...known({ order }) };
      const pagesOf = (pageSize: number): AsyncIterable<JobSummary> =>
        session.client.jobs.each({ ...filter, limit: pageSize });
      await showFirst(session, limit, pagesOf, { headings: HEADINGS, rowOf: jobRow });
    });
}

function jobRow({ id, queue, state, type, triesLeft, publishedAt, dueAt, tags }: JobSummary): string[] {
  return [id, queue, state, type, String(triesLeft), publishedAt, dueAt, tags].map(cell);
}

const CHANGE = new FieldFlags(omit(ChangeFields, ['data', 'data_base64', 'content_type']), JOB_TEXTS);

function setCommand(open: OpenSession): Command {
  const command = new Command('set')
    .description('change jobs that wait, by their ids or by filters: omitted options keep their values')
    .argument('[id...]');
  CHANGE.addTo(command);
  return withFilters(command, WHERE).action(
    async (ids: string[], options: OperationOptions, self: Command) => {
      const change = CHANGE.given(options) as JobChange;
      if (Object.keys(change).length === 0) self.error('error: give what to change: --priority, --delay …');
      const filter = filterOf(options, ids, self, WHERE);
      const session = open(self);
      const { client } = session;
      if (filter) {
        await operate(session, options, { action: 'patch', filter, set: change }, CHANGED);
        return;
      }
      await changeEach(session, ids, {
        key: 'id',
        change: (id) => client.jobs.update(id, change),
        textOf: (changed) => columns(changed.map(({ id, state }) => [cell(state), id])),
      });
    },
  );
}

function cancelCommand(open: OpenSession): Command {
  const command = new Command('cancel')
    .description('cancel jobs, by their ids or by filters; the worker of a leased job is notified')
    .argument('[id...]')
    .addOption(flagOf(CancelFields, 'cascade'));
  return withUndo(withFilters(command)).action(
    async (ids: string[], options: OperationOptions & { cascade?: boolean }, self: Command) => {
      const filter = filterOf(options, ids, self);
      const session = open(self);
      const { client } = session;
      const how = known({ cascade: options.cascade });
      if (filter) await operate(session, options, { action: 'cancel', filter, ...how }, CANCEL);
      else
        await changeEach(session, ids, {
          key: 'id',
          change: async (id) => {
            const dependents = options.cascade === true ? await dependentsOf(client, id) : [];
            const cancelled = await client.jobs.cancel(id, how);
            if (!session.isJson && dependents.length > 0) session.err(cascadeText(id, dependents));
            return cancelled;
          },
          textOf: (cancelled) => columns(cancelled.map(({ id, outcome }) => [outcome, id])),
        });
    },
  );
}

/** To be shown only: where they cannot be read, the cancel goes on, and says itself what is wrong. */
async function dependentsOf({ jobs }: Pumphouse, id: string): Promise<readonly string[]> {
  try {
    return (await jobs.get(id)).dependents;
  } catch (error) {
    if (isPumphouseError(error)) return [];
    throw error;
  }
}

/** @param dependents those that depend on it directly, at most `MAX_DEPENDENTS`: the server finds the others step by step */
function cascadeText(id: string, dependents: readonly string[]): string {
  const shown = dependents.slice(0, SHOWN_DEPENDENTS).join(', ');
  const others = dependents.length - SHOWN_DEPENDENTS;
  const many = dependents.length < MAX_DEPENDENTS ? String(others) : `at least ${String(others)}`;
  const more = others > 0 ? ` and ${many} more` : '';
  return `${printable(`The jobs that depend on ${id}, directly or not, end with it: ${shown}${more}`)}\n`;
}

function retryCommand(open: OpenSession): Command {
  const command = new Command('retry')
    .description(
      'respawn dead jobs by their ids; by filters make all ready that are dead, or wait for their next attempt',
    )
    .argument('[id...]');
  return withFilters(command).action(async (ids: string[], options: OperationOptions, self: Command) => {
    const filter = filterOf(options, ids, self);
    const session = open(self);
    if (filter) await operate(session, options, { action: 'retry', filter }, RETRY);
    else await respawn(session, ids);
  });
}

async function respawn({ client, isJson, out }: Session, ids: readonly string[]): Promise<void> {
  const jobs = await inParts((part) => client.deadLetter.respawn({ ids, ...part }));
  out(
    isJson ? json({ jobs }) : jobs === 0 ? 'Nothing was respawned.\n' : `respawned ${counted(jobs, 'job')}\n`,
  );
  const missed = ids.length - jobs;
  if (missed === 0) return;
  const states = await statesOf(client, ids);
  // A respawned job is ready or further: only of an end it is known that the job was not respawned.
  const known = [...states].filter(([, state]) => jobs === 0 || ENDS.has(state));
  const why = known.slice(0, SHOWN_STATES).map(([id, state]) => `${id} is ${state}`);
  throw new Refused(
    [`${wereNot(missed, 'respawned', ids.length)}: ${NOT_RESPAWNED}`, ...why].join('; '),
    NOT_FOUND,
  );
}

/** The states of the first jobs, `gone` for those that do not exist; empty if the token may not see them. */
async function statesOf(client: Pumphouse, ids: readonly string[]): Promise<Map<string, string>> {
  const some = [...new Set(ids)].slice(0, MAX_LISTED);
  const listed = await client.jobs.list({ ids: some }).catch((error: unknown) => {
    if (isPumphouseError(error)) return undefined;
    throw error;
  });
  const found = new Map(listed?.items.map(({ id, state }) => [id, state]));
  return new Map(listed && some.map((id) => [id, found.get(id) ?? 'gone']));
}

function moveCommand(open: OpenSession): Command {
  const command = new Command('move')
    .description('move waiting or dead jobs to another queue; a dead job is ready there')
    .argument('<queue>', 'the other queue')
    .argument('[id...]');
  return withFilters(command).action(
    async (to: string, ids: string[], options: OperationOptions, self: Command) => {
      const filter = filterOf(options, ids, self);
      const session = open(self);
      if (filter) await operate(session, options, { action: 'move', filter, to }, MOVE);
      else
        await changeEach(session, ids, {
          key: 'id',
          change: async (id) => {
            await moveOne(session.client, id, to);
            return { id, queue: to };
          },
          textOf: ({ length }) => `moved ${counted(length, 'job')} to ${printable(to)}\n`,
        });
    },
  );
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
        textOf: (revoked) => columns(revoked.map(({ id, state }) => [cell(state), id])),
      });
    });
}

function removeCommand(open: OpenSession): Command {
  const command = new Command('rm')
    .description('delete jobs permanently, by their ids or by filters')
    .argument('[id...]')
    .option('--force', 'also delete jobs that are leased; with ids only');
  return withUndo(withFilters(command)).action(
    async (ids: string[], options: OperationOptions & { force?: boolean }, self: Command) => {
      const filter = filterOf(options, ids, self);
      const { force } = options;
      if (filter && force === true) self.error('error: --force needs ids');
      const session = open(self);
      if (filter) await operate(session, options, { action: 'delete', filter }, DELETE);
      else
        await changeEach(session, ids, {
          key: 'id',
          change: async (id) => {
            await session.client.jobs.delete(id, known({ force }));
            return { id, outcome: 'deleted' };
          },
          textOf: ({ length }) => `deleted ${counted(length, 'job')}\n`,
        });
    },
  );
}
