import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';
import { version } from './http/version.js';
import { ConfigError } from './config/problems.js';
import { beginStart } from './server/start-flags.js';

/** sysexits.h's EX_CONFIG: supervisors can tell a wrong configuration, which no restart mends, from a failure. */
const EXIT_CONFIG = 78;
const EXIT_FAILURE = 1;

// While a server warms up, V8 may take it that some objects of a request live long, and place them among the old ones from then on. They
// keep the rest of their requests alive with them: a quarter of all processes cost half as much again per request, for as long as they
// ran (docs/benchmarks.md, "Dear from birth").
setFlagsFromString('--no-allocation-site-pretenuring');

// Helpers of a scavenge stand in line for a core, and the main thread stands still until the last of them has had one: on a busy machine
// that was 100 ms and more where the work itself is 4 (docs/benchmarks.md, "Waiting").
setFlagsFromString('--no-parallel-scavenge');
beginStart();

interface Options {
  readonly config?: string;
  readonly checkConfig?: true;
  readonly printDefaultConfig?: true;
}

async function main(): Promise<void> {
  const { config: file, checkConfig, printDefaultConfig: print } = parse(process.argv);
  // From here on the flags count for what is loaded.
  const { loadConfig, printDefaultConfig } = await import('./config/load.js');
  if (print) {
    process.stdout.write(printDefaultConfig());
    return;
  }
  const config = loadConfig(file === undefined ? {} : { file });
  if (checkConfig) {
    for (const warning of config.warnings) process.stdout.write(`warning: ${warning}\n`);
    process.stdout.write('the configuration is right\n');
    return;
  }
  const { createLog } = await import('./config/log.js');
  const log = createLog(config.log);
  if (cluster.isWorker) {
    const { runWorker } = await import('./server/worker.js');
    await runWorker(config, log);
  } else {
    const { serve } = await import('./server/serve.js');
    await serve(config, log, (text) => process.stdout.write(text));
  }
}

function parse(argv: readonly string[]): Options {
  return new Command('pumphouse')
    .description('Serves job queues over HTTP.')
    .option('-c, --config <file>', 'configuration file, TOML; a lmstfy file works too')
    .option('--check-config', 'check the configuration and exit')
    .option('--print-default-config', 'print every key with its default and exit')
    .version(version.number, '-v, --version')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_CONFIG))
    .parse(argv)
    .opts<Options>();
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const lines =
      error instanceof ConfigError
        ? error.problems
        : [error instanceof Error ? error.message : String(error)];
    for (const line of lines) process.stderr.write(`pumphouse: ${line}\n`);
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : EXIT_FAILURE);
  },
);
