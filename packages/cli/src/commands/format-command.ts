import { Command } from 'commander';
import { field, plainJson, table } from '../print.js';
import type { OpenSession, Session } from '../session.js';

const HEADINGS = ['POOL', 'FORMAT', 'NEWEST'];

/** `pumphouse format …` */
export function formatCommand(open: OpenSession): Command {
  return new Command('format')
    .description('the data format of each pool')
    .addCommand(lsCommand(open))
    .addCommand(raiseCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse format ls
  pumphouse format raise     # of the default pool, when no server of an older version runs

A new Redis begins with the newest format. Servers raise the format of an older one only as far as
those of the version before can read it: so a rolling upgrade can be taken back. Leases by type
need format 4.`,
    );
}

function lsCommand(open: OpenSession): Command {
  return new Command('ls')
    .description('list the data formats')
    .action(async (_options: object, command: Command) => {
      const session = open(command);
      const answer = await session.admin.call({ method: 'GET', path: ['formats'] });
      session.out(session.isJson ? plainJson(answer) : tableOf(session, answer));
    });
}

function raiseCommand(open: OpenSession): Command {
  return new Command('raise')
    .description('raise the data format to the newest one, for good: older servers do not start any more')
    .option('--pool <name>', 'the pool (default: the default pool)')
    .action(async ({ pool = 'default' }: { readonly pool?: string }, command: Command) => {
      const session = open(command);
      const answer = await session.admin.call({ method: 'POST', path: ['formats', pool] });
      const format = String(field(answer, 'format'));
      session.out(session.isJson ? plainJson(answer) : `pool ${pool} has data format ${format}\n`);
    });
}

function tableOf(session: Session, answer: unknown): string {
  const pools = field(answer, 'pools');
  const newest = String(field(answer, 'newest'));
  const rows = (Array.isArray(pools) ? pools : []).map((one) => [
    ...[String(field(one, 'pool')), String(field(one, 'format')), newest],
  ]);
  return table(session, HEADINGS, rows);
}
