import { Command } from 'commander';
import { type Listing, limitOption, showFirst } from '../list.js';
import { field } from '../print.js';
import type { OpenSession, Session } from '../session.js';

interface Options {
  readonly by?: string;
  readonly in?: string;
  readonly action?: string;
  readonly pool?: string;
  readonly from?: string;
  readonly limit: number;
}

/** Entries of a page of the admin port at most. */
const MAX_PAGE = 500;
const LISTING: Listing<unknown> = {
  headings: ['TIME', 'ACCOUNT', 'ACTION', 'NAMESPACE', 'TARGET', 'PARAMS', 'COUNTS', 'STATUS', 'FROM'],
  rowOf: (entry) => [
    ...[text(entry, 'at'), text(entry, 'account'), text(entry, 'action'), text(entry, 'namespace')],
    ...[pairsIn(entry, 'target'), pairsIn(entry, 'params'), pairsIn(entry, 'counts')],
    ...[text(entry, 'status'), text(entry, 'remote')],
  ],
};

/** `pumphouse audit` */
export function auditCommand(open: OpenSession): Command {
  return new Command('audit')
    .description(
      'list calls that may have changed something, the newest first; with accounts it needs the role admin',
    )
    .option('--by <account>', 'only of this account')
    .option('--action <text>', 'only calls whose method and path contain this: DELETE, /pause')
    .option('--in <namespace>', 'only in this namespace')
    .option('--pool <name>', 'only in this pool')
    .option('--from <time>', 'only from this time on: 2030-01-31T12:00:00Z')
    .addOption(limitOption())
    .addHelpText(
      'after',
      `
Examples:
  pumphouse audit --by ada
  pumphouse audit --in shop --action purge --from 2030-01-31T00:00:00Z`,
    )
    .action(async (_options: object, command: Command) => {
      const session = open(command);
      const { by: account, in: namespace, action, pool, from, limit } = command.opts<Options>();
      const query = { account, namespace, action, pool, from };
      await showFirst(session, limit, (size) => entriesOf(session, query, size), LISTING);
    });
}

async function* entriesOf(
  { admin }: Session,
  query: Readonly<Record<string, string | undefined>>,
  size: number,
): AsyncGenerator {
  const limit = String(Math.min(size, MAX_PAGE));
  let cursor: string | undefined;
  do {
    const answer = await admin.call({ method: 'GET', path: ['audit'], query: { ...query, limit, cursor } });
    const entries = field(answer, 'entries');
    yield* Array.isArray(entries) ? (entries as unknown[]) : [];
    const next = field(answer, 'next');
    cursor = typeof next === 'string' ? next : undefined;
  } while (cursor !== undefined);
}

function text(entry: unknown, name: string): string {
  const value = field(entry, name) ?? '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function pairsIn(entry: unknown, name: string): string {
  const pairs = Object.entries(Object(field(entry, name)) as object);
  return pairs.map(([key, value]) => `${key}=${shown(value)}`).join(' ') || '-';
}

function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return isList ? value.join() : JSON.stringify(value);
}
