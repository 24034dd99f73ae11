import { Command, InvalidArgumentError } from 'commander';
import { QUOTA_NAMES, type QuotaName } from '#src/domain/job/quotas';
import { wholeNumber } from '../parse.js';
import { columns, entriesOf, field, plainJson } from '../print.js';
import type { OpenSession } from '../session.js';

/** `pumphouse quota …` */
export function quotaCommand(open: OpenSession): Command {
  return new Command('quota')
    .description('show and set how much a namespace may store')
    .addCommand(showCommand(open))
    .addCommand(setCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse quota show mail
  pumphouse quota set mail --max-jobs-per-queue 100000
  pumphouse quota set mail --max-jobs-per-queue default    # as the configuration has it`,
    );
}

function showCommand(open: OpenSession): Command {
  return namespaceCommand('show', 'show the quotas of a namespace; 0 = no limit').action(
    async (namespace: string, { pool }: PoolOption, command: Command) => {
      const { admin, isJson, out } = open(command);
      const answer = await admin.call({ method: 'GET', path: pathOf(namespace), query: { pool } });
      out(isJson ? plainJson(answer) : table(answer));
    },
  );
}

function setCommand(open: OpenSession): Command {
  const command = namespaceCommand('set', 'set quotas of a namespace; 0 = no limit');
  const abouts: Record<QuotaName, string> = {
    max_queues_per_namespace: 'queues of the namespace',
    max_jobs_per_queue: 'jobs of each queue, in any state',
    max_bytes_per_namespace: 'bytes that its jobs and recurring jobs store',
    max_workers_per_namespace: 'workers that were seen within a day',
    max_keys_per_namespace: 'idempotency keys, and unique keys held for a time',
  };
  for (const name of QUOTA_NAMES)
    command.option(`${flagOf(name)} <number>`, `${abouts[name]}; or default`, quotaValue);
  return command.action(async (namespace: string, options: PoolOption & object, self: Command) => {
    const { admin, isJson, out } = open(self);
    const { pool, ...rest } = options;
    const given = new Map(Object.entries(rest));
    const named = QUOTA_NAMES.flatMap((name) => {
      const value = given.get(optionOf(name)) as number | 'default' | undefined;
      return value === undefined ? [] : [[name, value === 'default' ? null : value] as const];
    });
    if (named.length === 0) self.error(`error: name a quota: ${QUOTA_NAMES.map(flagOf).join(', ')}`);
    const answer = await admin.call({
      ...{ method: 'PUT', path: pathOf(namespace), query: { pool } },
      json: Object.fromEntries(named),
    });
    out(isJson ? plainJson(answer) : table(answer));
  });
}

interface PoolOption {
  readonly pool?: string;
}

function namespaceCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument('<namespace>')
    .option('--pool <name>', 'the pool of the namespace (default: the default pool)');
}

function pathOf(namespace: string): string[] {
  return ['namespaces', namespace, 'quotas'];
}

function flagOf(name: QuotaName): string {
  return `--${name.replaceAll('_', '-')}`;
}

/** The name that commander gives the option. */
function optionOf(name: QuotaName): string {
  return name.replaceAll(/_(.)/g, (_all, letter: string) => letter.toUpperCase());
}

/** Commander makes an empty text of null. */
function quotaValue(text: string): number | 'default' {
  if (text === 'default') return text;
  try {
    return wholeNumber(text);
  } catch {
    throw new InvalidArgumentError('It must be a whole number, or default.');
  }
}

function table(answer: unknown): string {
  const rows = entriesOf(field(answer, 'quotas')).map(([name, quota]) => [
    name,
    boundOf(field(quota, 'value')),
    `default ${boundOf(field(quota, 'default'))}`,
  ]);
  return columns(rows);
}

function boundOf(value: unknown): string {
  return value === 0 ? 'no limit' : String(value);
}
