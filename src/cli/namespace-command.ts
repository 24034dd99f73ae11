import { Command } from 'commander';
import { Refused } from './admin-client.js';
import { columns, entriesOf, field, json } from './print.js';
import type { OpenSession, Session } from './session.js';

/** The HTTP status for this error. */
const IN_USE = 409;

/** `pumphouse namespace …` */
export function namespaceCommand(open: OpenSession): Command {
  return new Command('namespace')
    .description('take whole namespaces away')
    .addCommand(purgeCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse namespace purge mail --dry-run
  pumphouse namespace purge mail --yes`,
    );
}

interface PurgeOptions {
  readonly pool?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

function purgeCommand(open: OpenSession): Command {
  return new Command('purge')
    .description('delete all jobs, queues, settings and statistics of a namespace, for good; its tokens stay')
    .argument('<namespace>')
    .option('--pool <name>', 'in another pool than the default one')
    .option('--dry-run', 'say what there is, and delete nothing')
    .option('--yes', 'delete it')
    .action(async (namespace: string, { pool, dryRun, yes }: PurgeOptions, command: Command) => {
      if (dryRun !== true && yes !== true) command.error('error: --dry-run or --yes must be given');
      const session = open(command);
      if (dryRun === true) await show(session, namespace, pool);
      else await purge(session, namespace, pool);
    });
}

async function show({ admin, isJson, out }: Session, namespace: string, pool?: string): Promise<void> {
  const query = { pool, dry_run: 'true' };
  const census = await admin.call({ method: 'DELETE', path: ['namespaces', namespace], query });
  if (isJson) {
    out(json(census));
    return;
  }
  const rows = [['queues', field(census, 'queues')], ...entriesOf(field(census, 'jobs'))];
  out(columns(rows.map(([name, many]) => [String(name), String(many)])));
}

/** Repeats the call: the server purges one part at a time. */
async function purge({ admin, isJson, out }: Session, namespace: string, pool?: string): Promise<void> {
  const total = { jobs: 0, queues: 0, keys: 0 };
  for (;;) {
    const part = await admin.call({ method: 'DELETE', path: ['namespaces', namespace], query: { pool } });
    const removed = field(part, 'removed');
    for (const name of ['jobs', 'queues', 'keys'] as const) total[name] += Number(field(removed, name) ?? 0);
    const [isDone, isInUse] = [field(part, 'done') === true, field(part, 'in_use') === true];
    if (!isDone && !isInUse && removed !== undefined) continue;
    const { jobs, queues } = total;
    if (isJson) out(json({ namespace, done: isDone, in_use: isInUse, removed: total }));
    else out(`deleted ${String(jobs)} jobs in ${String(queues)} queues\n`);
    if (!isDone)
      throw new Refused('the namespace is in use: clients still publish, so some data is left', IN_USE);
    return;
  }
}
