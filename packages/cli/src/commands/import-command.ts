import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command, InvalidArgumentError } from 'commander';
import { ConfigError } from '#src/config/problems';
import { Unreachable } from '../admin-client.js';
import type { Output } from '../print.js';

interface Given {
  readonly from: string;
  readonly tokensFrom?: string;
  readonly fromPool: string;
  readonly pool: string;
  readonly config?: string;
  readonly to?: string;
  readonly namespace?: string[];
  readonly drain?: true;
  readonly follow?: true;
  readonly lmstfyStopped?: true;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly sameRedis?: true;
  readonly json?: true;
}

/** Loaded on demand: the command line itself does not load engines and Redis. */
interface ImportModule {
  readonly importLmstfy: (
    options: object,
    session: Output & { readonly signal: AbortSignal },
  ) => Promise<void>;
}

const INTERRUPTED = 'the import was interrupted; the same command continues from here';

/** `pumphouse import-lmstfy` */
export function importCommand(output: Output): Command {
  return new Command('import-lmstfy')
    .description('import the tokens, limits and jobs of a lmstfy server from its Redis')
    .requiredOption('--from <url>', "lmstfy's Redis: redis://[user:password@]host[:port][/db]", redisUrl)
    .option('--tokens-from <url>', 'the Redis of its tokens (AdminRedis), if it is another', redisUrl)
    .option('--from-pool <name>', 'name of the pool in its configuration', 'default')
    .option('-c, --config <file>', "this server's configuration")
    .option('--pool <name>', 'the pool to import into', 'default')
    .option('--to <url>', 'the Redis of the pool, instead of the one in the configuration', redisUrl)
    .option('--namespace <name...>', 'only these namespaces')
    .option('--drain', 'delete each job in lmstfy once it is stored here; without it, jobs are copied')
    .option('--follow', 'continue until SIGINT or SIGTERM, while the lmstfy server runs; needs --drain')
    .option(
      '--lmstfy-stopped',
      'lmstfy and its workers have stopped: also import the jobs that its workers have leased',
    )
    .option('--dry-run', 'count the tokens, limits and jobs, and change nothing; needs no server')
    .option('--yes', 'start without a question; needed without a terminal')
    .option('--same-redis', "the target is lmstfy's own Redis, and shall be")
    .option('--json', 'print the counts as JSON')
    .addHelpText(
      'after',
      `
Examples:
  pumphouse import-lmstfy --from redis://10.0.0.9:6379 --dry-run
  pumphouse import-lmstfy --from redis://10.0.0.9:6379 -c pumphouse.toml --drain --follow
  pumphouse import-lmstfy --from redis://10.0.0.9:6379 -c pumphouse.toml --drain --lmstfy-stopped

It prints where jobs and tokens come from and go to, and asks before it writes.
It may be interrupted at any moment, and continues when it is started again.
All steps: docs/how-to/from-lmstfy.md.`,
    )
    .action(async (given: Given, command: Command) => {
      if (given.follow && !given.drain) command.error('error: --follow needs --drain');
      if (given.follow && given.lmstfyStopped)
        command.error('error: --lmstfy-stopped cannot be used with --follow');
      await run(given, output);
    });
}

async function run(given: Given, output: Output): Promise<void> {
  const path = join(import.meta.dirname, '..', 'import', 'command.js');
  const { importLmstfy } = (await import(pathToFileURL(path).href)) as ImportModule;
  const halt = new AbortController();
  const end = (signal: NodeJS.Signals): void => halt.abort(new Error(`${signal}: ${INTERRUPTED}`));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  try {
    await importLmstfy(optionsOf(given), { ...output, signal: halt.signal });
  } catch (error) {
    const lines =
      error instanceof ConfigError
        ? error.problems
        : [String(error instanceof Error ? error.message : error)];
    throw new Unreachable(lines.join('\npumphouse: '), { cause: error });
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end);
  }
}

function optionsOf({ from, tokensFrom, fromPool, pool, config, to, namespace, ...flags }: Given): object {
  return {
    ...{ from, tokensFrom, fromPool, pool, config, to, namespaces: namespace },
    isDrain: flags.drain === true,
    isFollow: flags.follow === true,
    isStopped: flags.lmstfyStopped === true,
    isDryRun: flags.dryRun === true,
    isConfirmed: flags.yes === true,
    isSameRedis: flags.sameRedis === true,
    isJson: flags.json === true,
  };
}

function redisUrl(text: string): string {
  const protocol = URL.parse(text)?.protocol;
  if (protocol === 'redis:' || protocol === 'rediss:') return text;
  throw new InvalidArgumentError('It must begin with redis:// or rediss://.');
}
