import { Command } from 'commander';
import { Refused } from '../admin-client.js';
import { type BulkOptions, isDryRun, showDryRun, withConfirmation } from '../bulk.js';
import { columns, counted, entriesOf, field, json, plainJson } from '../print.js';
import { type Progress, withProgress } from '../progress.js';
import type { OpenSession, Session } from '../session.js';

/** The HTTP status for this error. */
const IN_USE = 409;

/** `pumphouse namespace …` */
export function namespaceCommand(open: OpenSession): Command {
  return new Command('namespace')
    .description('list and purge whole namespaces')
    .addCommand(namespacesCommand('ls', open))
    .addCommand(purgeCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse namespace ls
  pumphouse namespace purge mail              # counts
  pumphouse namespace purge mail --yes`,
    );
}

/** `pumphouse namespace ls`. @param name the old one is `info` */
export function namespacesCommand(name: string, open: OpenSession): Command {
  return new Command(name)
    .description('list the namespaces of a pool, with their queues')
    .option('--pool <name>', 'the pool (default: the default pool)')
    .action(async ({ pool }: { pool?: string }, command: Command) => {
      const { admin, isJson, out } = open(command);
      const info = await admin.call({ method: 'GET', path: ['info'], query: { pool } });
      const rows = entriesOf(info).map(([namespace, queues]) => [
        namespace,
        Array.isArray(queues) ? queues.join(' ') : '',
      ]);
      out(isJson ? plainJson(info) : columns(rows));
    });
}

interface PurgeOptions extends BulkOptions {
  readonly pool?: string;
}

function purgeCommand(open: OpenSession): Command {
  const command = new Command('purge')
    .description(
      'permanently delete all jobs, queues, settings and statistics of a namespace; its tokens stay',
    )
    .argument('<namespace>')
    .option('--pool <name>', 'the pool of the namespace (default: the default pool)');
  return withConfirmation(command).action(async (namespace: string, options: PurgeOptions, self: Command) => {
    const session = open(self);
    if (isDryRun(options)) await show(session, namespace, options.pool);
    else await purge(session, namespace, options.pool);
  });
}

async function show(session: Session, namespace: string, pool?: string): Promise<void> {
  const { admin, isJson, out } = session;
  const query = { pool, dry_run: 'true' };
  const census = await admin.call({ method: 'DELETE', path: ['namespaces', namespace], query });
  const rows = [['queues', field(census, 'queues')], ...entriesOf(field(census, 'jobs'))];
  out(isJson ? plainJson(census) : columns(rows.map(([name, many]) => [String(name), String(many)])));
  showDryRun(session);
}

async function purge(session: Session, namespace: string, pool?: string): Promise<void> {
  const { admin, isJson, out } = session;
  const countAll = async (): Promise<number> => {
    const query = { pool, dry_run: 'true' };
    const census = await admin.call({ method: 'DELETE', path: ['namespaces', namespace], query });
    return entriesOf(field(census, 'jobs')).reduce((sum, [, many]) => sum + Number(many), 0);
  };
  const { isDone, isInUse, removed } = await withProgress(session, countAll, (progress) =>
    purgeParts(session, namespace, pool, progress),
  );
  const { jobs, queues, keys } = removed;
  if (isJson) out(json({ namespace, done: isDone, in_use: isInUse, removed }));
  else if (jobs + queues + keys === 0) out('Nothing was deleted.\n');
  else out(`deleted ${counted(jobs, 'job')} in ${counted(queues, 'queue')}\n`);
  if (!isDone)
    throw new Refused('the namespace is in use: clients still publish, so some data is left', IN_USE);
}

interface Purged {
  readonly isDone: boolean;
  readonly isInUse: boolean;
  readonly removed: { readonly jobs: number; readonly queues: number; readonly keys: number };
}

/** Repeats the call: the server purges one part at a time. */
async function purgeParts(
  { admin }: Session,
  namespace: string,
  pool: string | undefined,
  progress: Progress,
): Promise<Purged> {
  const total = { jobs: 0, queues: 0, keys: 0 };
  for (;;) {
    const part = await admin.call({ method: 'DELETE', path: ['namespaces', namespace], query: { pool } });
    const removed = field(part, 'removed');
    for (const name of ['jobs', 'queues', 'keys'] as const) total[name] += Number(field(removed, name) ?? 0);
    progress(total.jobs);
    const [isDone, isInUse] = [field(part, 'done') === true, field(part, 'in_use') === true];
    if (isDone || isInUse || removed === undefined) return { isDone, isInUse, removed: total };
  }
}
