import {
  isPumphouseError,
  type Pumphouse,
  type RecurringFields,
  type RecurringJob,
  type UpcomingSlot,
} from '@pumphouse/client';
import { Command } from 'commander';
import { parse, TomlError } from 'smol-toml';
import { omit, pick } from '#src/contract/fields/derived';
import { RecurringOptions, ScheduleFields, TemplateFields } from '#src/contract/job/recurring';
import { Unreachable } from '../admin-client.js';
import { type BulkOptions, isDryRun, showDryRun, withConfirmation } from '../bulk.js';
import { AtFault } from '../failures.js';
import { FieldFlags, flagOf, JOB_TEXTS } from '../flags.js';
import { fileText } from '../input.js';
import { collect, showAll } from '../list.js';
import { jsonValue, wholeNumber } from '../parse.js';
import { columns, firstLine, json, printable } from '../print.js';
import { withProgress } from '../progress.js';
import { isSame, isUnchanged } from '../recurring-changes.js';
import type { OpenSession, Session } from '../session.js';

const HEADINGS = ['ID', 'SCHEDULE', 'QUEUE', 'STATE', 'NEXT', 'LAST', 'MADE', 'SKIPPED', 'LAST SKIP'];

/** `pumphouse recurring …` */
export function recurringCommand(open: OpenSession): Command {
  return new Command('recurring')
    .description('list, set, pause and run recurring jobs, and apply a file of them')
    .addCommand(listCommand(open))
    .addCommand(showCommand(open))
    .addCommand(setCommand(open))
    .addCommand(nextCommand(open))
    .addCommand(previewCommand(open))
    .addCommand(pauseCommand(open))
    .addCommand(oneCommand(open, 'resume', 'create jobs again, from the next slot on'))
    .addCommand(oneCommand(open, 'run', 'create a job now, outside of the schedule'))
    .addCommand(oneCommand(open, 'rm', 'delete it; jobs that it created stay'))
    .addCommand(applyCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse recurring ls --namespace shop --token @token.txt
  pumphouse recurring set nightly --cron "30 2 * * *" --tz Europe/Berlin --queue reports
  pumphouse recurring pause nightly --note "the warehouse is closed"
  pumphouse recurring apply recurring.toml --dry-run

recurring.toml, with the fields of PUT /v1/:namespace/recurring/:id:
  [nightly]
  schedule = { cron = "30 2 * * *", tz = "Europe/Berlin" }
  job = { queue = "reports", data = { report = "sales" } }`,
    );
}

function listCommand(open: OpenSession): Command {
  return new Command('ls')
    .description('list recurring jobs by id')
    .option('--queue <name>', 'only those that publish to this queue')
    .action(async ({ queue }: { queue?: string }, command: Command) => {
      const session = open(command);
      showAll(session, await everyOne(session.client, queue), { headings: HEADINGS, rowOf });
    });
}

function showCommand(open: OpenSession): Command {
  return new Command('show')
    .description('show a recurring job as JSON')
    .argument('<id>')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, out } = open(command);
      out(json(await client.recurring.get(id)));
    });
}

const SCHEDULE = new FieldFlags(ScheduleFields);
const TEMPLATE = new FieldFlags(omit(TemplateFields, ['data', 'data_base64', 'content_type']), JOB_TEXTS);
const RULES = new FieldFlags(RecurringOptions);
const BOUNDS = new FieldFlags(pick(ScheduleFields, ['start_at', 'end_at']));

function setCommand(open: OpenSession): Command {
  const command = new Command('set')
    .description('create a recurring job, or change one: omitted options keep their values')
    .argument('<id>');
  for (const flags of [SCHEDULE, TEMPLATE, RULES]) flags.addTo(command);
  return command
    .option('--data <json>', 'the data of its jobs', jsonText)
    .action(async (id: string, options: { readonly data?: string }, self: Command) => {
      const { client, isJson, out } = open(self);
      const [schedule, template] = [SCHEDULE.given(options), TEMPLATE.given(options)];
      const job = { ...template, ...(options.data === undefined ? {} : { json: options.data }) };
      const fields = {
        ...RULES.given(options),
        ...(Object.keys(schedule).length > 0 && { schedule }),
        ...(Object.keys(job).length > 0 && { job }),
      };
      const stored = await setOne(client, id, fields as RecurringFields);
      out(isJson ? json(stored) : `${stored.id}; next ${stored.nextAt ?? 'never'}\n`);
    });
}

/** The server checks the fields, and names what is missing. */
async function setOne(client: Pumphouse, id: string, fields: RecurringFields): Promise<RecurringJob> {
  try {
    return await client.recurring.update(id, fields);
  } catch (error) {
    if (!isPumphouseError(error, 'recurring_not_found')) throw error;
    const { schedule, job } = fields as Partial<RecurringFields>;
    if (schedule === undefined || job?.queue === undefined)
      throw new Unreachable(`${id} is new: give --queue, and --every, or --cron with --tz`);
    return client.recurring.put(id, fields);
  }
}

function jsonText(text: string): string {
  jsonValue(text);
  return text;
}

function nextCommand(open: OpenSession): Command {
  return new Command('next')
    .description('show the next slots')
    .argument('<id>')
    .option('--count <n>', 'number of slots, 1 to 100 (default: 10)', wholeNumber)
    .action(async (id: string, { count }: { count?: number }, command: Command) => {
      const session = open(command);
      showAll(session, await session.client.recurring.next(id, count), SLOTS);
    });
}

function previewCommand(open: OpenSession): Command {
  const preview = new Command('preview')
    .description('show the next slots of a cron expression that is not stored')
    .argument('<cron>', "five fields, or six with seconds first: '30 2 * * *'")
    .addOption(flagOf(ScheduleFields, 'tz').makeOptionMandatory());
  return BOUNDS.addTo(preview)
    .option('--count <n>', 'how many, 1 to 100 (default: 10)', wholeNumber)
    .action(async (cron: string, options: { tz: string; count?: number }, command: Command) => {
      const session = open(command);
      const schedule = { cron, tz: options.tz, ...BOUNDS.given(options) };
      showAll(session, await session.client.recurring.preview(schedule, options.count), SLOTS);
    });
}

const SLOTS = { headings: ['AT', 'LOCAL', 'NOTE'], rowOf: slotRow };

function slotRow({ at, local, moved }: UpcomingSlot): string[] {
  return [at, local ?? '-', moved ? 'moved by a clock change' : '-'];
}

function pauseCommand(open: OpenSession): Command {
  return new Command('pause')
    .description('create no jobs until it is resumed')
    .argument('<id>')
    .addOption(flagOf(RecurringOptions, 'note'))
    .action(async (id: string, { note }: { note?: string }, command: Command) => {
      const { client, isJson, out } = open(command);
      const paused = await client.recurring.pause(id, note === undefined ? {} : { note });
      out(isJson ? json(paused) : `paused ${printable(id)}\n`);
    });
}

function oneCommand(open: OpenSession, what: 'resume' | 'run' | 'rm', description: string): Command {
  return new Command(what)
    .description(description)
    .argument('<id>')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      if (what === 'resume') {
        const resumed = await client.recurring.resume(id);
        out(isJson ? json(resumed) : `resumed ${printable(id)}; next ${resumed.nextAt ?? 'never'}\n`);
      } else if (what === 'run') {
        const made = await client.recurring.run(id);
        out(isJson ? json(made) : `${made.id}\n`);
      } else {
        // A DELETE of what is not there is an error, and says so.
        await client.recurring.delete(id);
        out(isJson ? json({ deleted: id }) : `deleted ${printable(id)}\n`);
      }
    });
}

function applyCommand(open: OpenSession): Command {
  const command = new Command('apply')
    .description('make the recurring jobs of the namespace those of a file: create, change and delete them')
    .argument('<file>', 'TOML; each table is a recurring job, by its id');
  return withConfirmation(command).action(async (file: string, options: BulkOptions, self: Command) => {
    const wanted = tablesOf(file);
    await apply(open(self), wanted, isDryRun(options));
  });
}

type Tables = ReadonlyMap<string, RecurringFields>;
type Outcome = readonly [what: string, id: string];

async function apply(session: Session, wanted: Tables, isDry: boolean): Promise<void> {
  const { client, isJson, out } = session;
  const before = new Map((await everyOne(client)).map((one) => [one.id, one]));
  const outcomes = isDry ? planOf(wanted, before) : await change(session, wanted, before);
  out(isJson ? json(outcomes.map(([what, id]) => ({ id, what }))) : columns(outcomes));
  if (isDry && outcomes.some(([what]) => what !== 'unchanged')) showDryRun(session);
}

function planOf(wanted: Tables, before: ReadonlyMap<string, RecurringJob>): Outcome[] {
  const changes = [...wanted].map(([id, fields]): Outcome => {
    const known = before.get(id);
    if (known === undefined) return ['would create', id];
    return [isUnchanged(fields, known) ? 'unchanged' : 'would update', id];
  });
  const extra = [...before.keys()].filter((id) => !wanted.has(id));
  return [...changes, ...extra.map((id): Outcome => ['would delete', id])];
}

/** Does all or stops at the first refusal; what was done before it stays, and the same call goes on from there. */
function change(
  session: Session,
  wanted: Tables,
  before: ReadonlyMap<string, RecurringJob>,
): Promise<Outcome[]> {
  const { recurring } = session.client;
  const extra = [...before.keys()].filter((id) => !wanted.has(id));
  const outcomes: Outcome[] = [];
  return withProgress(session, wanted.size + extra.length, async (progress) => {
    for (const [id, fields] of wanted) {
      const known = before.get(id);
      const stored = await naming(id, recurring.put(id, fields));
      outcomes.push([known === undefined ? 'created' : isSame(known, stored) ? 'unchanged' : 'updated', id]);
      progress(outcomes.length);
    }
    for (const id of extra) {
      await naming(id, recurring.delete(id));
      outcomes.push(['deleted', id]);
      progress(outcomes.length);
    }
    return outcomes;
  });
}

/** @throws {AtFault} the same error, with the job that it is about */
function naming<T>(id: string, call: Promise<T>): Promise<T> {
  return call.catch((error: unknown) => {
    throw new AtFault(id, error);
  });
}

/** @throws {Unreachable} there is no such file, or it is not TOML of tables */
function tablesOf(file: string): Map<string, RecurringFields> {
  const text = fileText(file);
  try {
    const tables = Object.entries(parse(text));
    const wrong = tables.find(([, table]) => typeof table !== 'object' || Array.isArray(table));
    if (wrong) throw new Unreachable(`cannot read ${file}: ${wrong[0]} is not a table`);
    // The server checks the fields, and names what is wrong.
    return new Map(tables.map(([id, table]) => [id, table as unknown as RecurringFields]));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = firstLine(error.message);
    throw new Unreachable(
      `cannot read ${file}, line ${String(error.line)}, column ${String(error.column)}: ${reason}`,
    );
  }
}

function everyOne(client: Pumphouse, queue?: string): Promise<RecurringJob[]> {
  return collect(client.recurring.each(queue === undefined ? {} : { queue }));
}

function rowOf({
  id,
  schedule,
  job,
  paused,
  note,
  nextAt,
  lastAt,
  made,
  skipped,
  lastSkip,
}: RecurringJob): string[] {
  const when =
    'cron' in schedule ? `${schedule.cron} ${schedule.tz}` : `every ${String(schedule.everyMs)} ms`;
  const state = paused
    ? note === null
      ? 'paused'
      : `paused: ${note}`
    : nextAt === null
      ? 'ended'
      : 'active';
  return [
    ...[id, when, job.queue, state, nextAt ?? '-', lastAt ?? '-', String(made), String(skipped)],
    lastSkip === null ? '-' : `${lastSkip.at} ${lastSkip.reason}`,
  ];
}
