import type { DeadFilter, DeadListFilter, DeadOutcome, JobSummary } from '@pumphouse/client';
import { Command, Option } from 'commander';
import { pick } from '#src/contract/fields/derived';
import { DeadFields, DeadFilterFields, RespawnFields } from '#src/contract/job/dead-jobs';
import { NOT_FOUND, Refused } from '../admin-client.js';
import { inParts, isDryRun, NOT_DEAD, NOT_RESPAWNED, showOutcome, wereNot } from '../bulk.js';
import { FieldFlags, flagOf } from '../flags.js';
import { collect, limitOption, MAX_PAGE, showAll, showFirst } from '../list.js';
import { operate, type OperationOptions, type Verb, withRate, withUndo } from '../operate.js';
import { known } from '../parse.js';
import { cell, firstLine } from '../print.js';
import type { OpenSession, Session } from '../session.js';

const HEADINGS = ['ID', 'QUEUE', 'TYPE', 'DIED', 'ATTEMPTS', 'GROUP', 'MESSAGE'];
/** A message is cut off in a table. */
const MAX_MESSAGE = 80;

const DELETED: Verb = ['delete', 'deleted'];
const MOVED: Verb = ['move', 'moved'];
const RESPAWNED: Verb = ['respawn', 'respawned'];
/** Actions that may also be for jobs that wait. */
const DEAD = { state: ['dead'] } as const;

/** `pumphouse dead …` */
export function deadCommand(open: OpenSession): Command {
  return new Command('dead')
    .description('the dead-letter queue: list, respawn, move and delete dead jobs')
    .addCommand(listCommand(open))
    .addCommand(groupsCommand(open))
    .addCommand(respawnCommand(open))
    .addCommand(moveCommand(open))
    .addCommand(removeCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse dead groups
  pumphouse dead ls --group smtp --text refused
  pumphouse dead respawn --queue mail --group smtp              # counts; then with --yes
  pumphouse dead rm --to 2026-10-01T00:00:00Z --yes`,
    );
}

const FILTER = new FieldFlags(DeadFilterFields, { attributes: { flag: '--attribute <name=value>' } });
const IDS = flagOf(DeadFields, 'ids', { flag: '--id <ids>' });
const RESPAWN = new FieldFlags(pick(RespawnFields, ['tries', 'keep_tries', 'ttl_ms']));

function listCommand(open: OpenSession): Command {
  return FILTER.addTo(new Command('ls').description('list dead jobs that match all filters'))
    .addOption(
      new Option('--order <order>', 'which come first, by when they died').choices(['oldest', 'newest']),
    )
    .addOption(limitOption())
    .action(
      async (options: { readonly limit: number; readonly order?: 'oldest' | 'newest' }, command: Command) => {
        const session = open(command);
        const { limit, order } = options;
        const { attributes = {}, ...filter } = FILTER.given(options);
        const attribute = Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
        if (attribute.length > 1) command.error('error: a list accepts only one --attribute');
        const listed: DeadListFilter = {
          ...filter,
          ...(attribute[0] === undefined ? {} : { attribute: attribute[0] }),
          ...known({ order }),
        };
        const pagesOf = (pageSize: number): AsyncIterable<JobSummary> =>
          session.client.deadLetter.each({ ...listed, limit: pageSize });
        await showFirst(session, limit, pagesOf, { headings: HEADINGS, rowOf: deadRow });
      },
    );
}

function deadRow({ id, queue, type, endedAt, attempts, failure }: JobSummary): string[] {
  const message = shortened(failure?.message);
  return [id, queue, type, failure?.at ?? endedAt, String(attempts), failure?.group, message].map(cell);
}

function shortened(text = ''): string {
  const line = firstLine(text);
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line;
}

function groupsCommand(open: OpenSession): Command {
  return new Command('groups')
    .description('list the failure groups of dead jobs: how many, since when, and the job that died last')
    .action(async (_options: object, command: Command) => {
      const session = open(command);
      const groups = await collect(session.client.deadLetter.eachGroup({ limit: MAX_PAGE }));
      showAll(session, groups, {
        headings: ['GROUP', 'JOBS', 'FIRST', 'LAST', 'LAST JOB', 'MESSAGE'],
        rowOf: ({ name, jobs, firstAt, lastAt, sample }) =>
          [name, String(jobs), firstAt, lastAt, sample?.id, shortened(sample?.message)].map(cell),
      });
    });
}

interface SelectionOptions extends OperationOptions {
  readonly id?: readonly string[];
}

function withSelection(command: Command): Command {
  return withRate(
    FILTER.addTo(command)
      .addOption(IDS)
      .option('--all', 'all dead jobs of the namespace, in place of filters'),
  );
}

/** Nothing is chosen by accident: all dead jobs are `--all`. @returns undefined: the jobs are given by their ids */
function filterOf({ id, all, ...options }: SelectionOptions, command: Command): DeadFilter | undefined {
  const filter = FILTER.given(options);
  const ways = [id !== undefined, all === true, Object.keys(filter).length > 0];
  if (ways.filter(Boolean).length !== 1)
    command.error('error: choose the jobs by filters (--queue, --group …), or by --id, or by --all');
  if (id !== undefined && options.undo !== undefined) command.error('error: --undo needs filters, or --all');
  return id === undefined ? filter : undefined;
}

function respawnCommand(open: OpenSession): Command {
  return RESPAWN.addTo(
    withSelection(new Command('respawn').description('respawn dead jobs in their queues, as new')),
  ).action(async (options: SelectionOptions, command: Command) => {
    const filter = filterOf(options, command);
    const session = open(command);
    const { id: ids = [] } = options;
    const how = RESPAWN.given(options);
    if (filter) await operate(session, options, { action: 'respawn', filter, ...how }, RESPAWNED);
    else
      await byIds(session, options, RESPAWNED, (part) =>
        session.client.deadLetter.respawn({ ids, ...how, ...part }),
      );
  });
}

function moveCommand(open: OpenSession): Command {
  return RESPAWN.addTo(
    withSelection(
      new Command('move')
        .description('respawn dead jobs in another queue, as new')
        .argument('<queue>', 'the other queue'),
    ),
  ).action(async (to: string, options: SelectionOptions, command: Command) => {
    const filter = filterOf(options, command);
    const session = open(command);
    const { id: ids = [] } = options;
    const how = RESPAWN.given(options);
    if (filter)
      await operate(session, options, { action: 'move', filter: { ...filter, ...DEAD }, to, ...how }, MOVED);
    else
      await byIds(session, options, MOVED, (part) =>
        session.client.deadLetter.move({ ids, ...how, toQueue: to, ...part }),
      );
  });
}

function removeCommand(open: OpenSession): Command {
  return withUndo(withSelection(new Command('rm').description('delete dead jobs permanently'))).action(
    async (options: SelectionOptions, command: Command) => {
      const filter = filterOf(options, command);
      const session = open(command);
      const { id: ids = [] } = options;
      if (filter)
        await operate(session, options, { action: 'delete', filter: { ...filter, ...DEAD } }, DELETED);
      else
        await byIds(session, options, DELETED, (part) => session.client.deadLetter.delete({ ids, ...part }));
    },
  );
}

/** Jobs by their ids. @throws {Refused} some of them are no dead jobs */
async function byIds(
  session: Session,
  options: SelectionOptions,
  verb: Verb,
  call: (part: { readonly dryRun: boolean; readonly cursor?: string }) => Promise<DeadOutcome>,
): Promise<void> {
  const dryRun = isDryRun(options);
  const jobs = await inParts((part) => call({ dryRun, ...part }));
  showOutcome(session, verb, { jobs, dryRun });
  const { size } = new Set(options.id);
  if (jobs === size) return;
  const why = verb === DELETED ? NOT_DEAD : NOT_RESPAWNED;
  throw new Refused(`${wereNot(size - jobs, verb[1], size)}: ${why}`, NOT_FOUND);
}
