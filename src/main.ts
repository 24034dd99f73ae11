import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';
import { version } from './domain/version.js';
import { ConfigError } from './config/problems.js';
import { withoutLmstfyFlags } from './app/lmstfy-flags.js';
import { beginStart } from './app/start-flags.js';

/** EX_CONFIG of sysexits.h: supervisors can tell a wrong configuration, which no restart repairs, from a failure. */
const EXIT_CONFIG = 78;
const EXIT_FAILURE = 1;

// While a server warms up, V8 may assume that some objects of a request live long and allocate them in the old
// generation from then on. They keep the rest of their requests alive: a quarter of all processes used 50% more CPU per
// request for as long as they ran (docs/adr/0043).
setFlagsFromString('--no-allocation-site-pretenuring');

// The helper threads of a scavenge wait for a core, and the main thread waits for the last of them. On a busy machine
// that took 100 ms and more, where the work itself takes 4 ms (docs/adr/0043).
setFlagsFromString('--no-parallel-scavenge');
beginStart();

interface Options {
  readonly config?: string;
  readonly checkConfig?: true;
  readonly printDefaultConfig?: true;
}

async function main(): Promise<void> {
  const { args, warnings } = withoutLmstfyFlags(process.argv.slice(2));
  const { config: file, checkConfig, printDefaultConfig: print } = parse(args);
  // The flags apply to all code loaded from here on.
  const { loadConfig, printDefaultConfig } = await import('./config/load.js');
  if (print) {
    process.stdout.write(printDefaultConfig());
    return;
  }
  const config = loadConfig(file === undefined ? {} : { file });
  config.warnings.push(...warnings);
  if (checkConfig) {
    for (const warning of config.warnings) process.stdout.write(`warning: ${warning}\n`);
    process.stdout.write('configuration OK\n');
    return;
  }
  const { createLog } = await import('./config/log.js');
  const log = createLog(config.log);
  if (cluster.isWorker) {
    const { runApiProcess } = await import('./app/processes/api-process.js');
    await runApiProcess(config, log);
  } else {
    const { serve } = await import('./app/serve.js');
    // If the output is not a terminal, a program reads it: log lines only, no token.
    const print = process.stdout.isTTY ? (text: string) => process.stdout.write(text) : null;
    await serve(config, log, print);
  }
}

function parse(args: readonly string[]): Options {
  return new Command('pumphouse')
    .description('Serves job queues over HTTP.')
    .option('-c, --config <file>', 'configuration file, TOML; a lmstfy file works too')
    .option('--check-config', 'check the configuration and exit')
    .option('--print-default-config', 'print every key with its default and exit')
    .version(version.number, '-v, --version')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_CONFIG))
    .parse(args, { from: 'user' })
    .opts<Options>();
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const lines = error instanceof ConfigError ? error.problems : [messageOf(error)];
    for (const line of lines) process.stderr.write(`pumphouse: ${line}\n`);
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : EXIT_FAILURE);
  },
);

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code !== 'EADDRINUSE' || port === undefined) return error.message;
  const remedy =
    'end the program that uses it, or set server.port and admin.port (PUMPHOUSE_SERVER__PORT, PUMPHOUSE_ADMIN__PORT)';
  return `port ${String(port)} of ${address ?? ''} is in use (EADDRINUSE): ${remedy}`;
}
