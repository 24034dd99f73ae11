import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import type { Log } from '../domain/log.js';
import { EmbeddedPools, poolsOf } from './embedded-pools.js';
import type { RunningServer } from './processes/running-server.js';
import { endStart } from './start-flags.js';
import { startUnlessEnded } from './start-unless-ended.js';

/** Exit code after a second signal. */
const ENDED_AT_ONCE = 1;

/**
 * Runs the server until a signal ends it. Starts the embedded Redis first, then the applications; stops them in reverse
 * order.
 *
 * @param print shows a text on the terminal; null if there is none
 * @throws {Error} a part does not start; the parts already started are stopped again
 */
export async function serve(config: Config, log: Log, print: ((text: string) => void) | null): Promise<void> {
  const signals = new Signals();
  for (const warning of config.warnings) log.warn({}, warning);
  if (config.later.port !== undefined) {
    const { callbackWarnings } = await import('./callback-warnings.js');
    for (const warning of callbackWarnings(config)) log.warn({}, warning);
  }
  const embedded = await EmbeddedPools.start(config, log, signals.ended);
  try {
    const server = embedded && (await startUnlessEnded(start(config, embedded, log), signals.first));
    if (server === null) {
      log.info({ signal: await signals.first }, 'stopping: the start was not complete');
      return;
    }
    signals.onSecond = () => {
      server.kill();
      process.exit(ENDED_AT_ONCE);
    };
    endStart();
    const { addressesOf, banner, isFirstStart, tokenHint, welcome } = await import('./welcome.js');
    const addresses = addressesOf(server, config);
    if (print === null) log.info({ ...addresses }, 'serving');
    else print(banner(addresses));
    if (print !== null && (await isFirstStart(server, config))) print(await welcome(server, addresses));
    else {
      const hint = await tokenHint(server, addresses);
      if (hint !== null && print !== null) print(`  ${hint}\n`);
      else if (hint !== null) log.warn({}, hint);
    }
    const signal = await signals.first;
    log.info({ signal }, 'stopping');
    server.announceEnd();
    await sleep(config.server.ready_lag_ms);
    await server.stop();
  } finally {
    await embedded?.stop();
  }
  log.info({}, 'stopped');
}

/** Modules are loaded on demand: a primary forks before it has loaded an application. */
async function start(config: Config, { sockets }: EmbeddedPools, log: Log): Promise<RunningServer> {
  if (config.server.workers > 1) {
    const { Primary } = await import('./processes/primary.js');
    return Primary.start(config, sockets, log);
  }
  const { SingleProcess } = await import('./processes/single-process.js');
  return SingleProcess.start(config, poolsOf(config, sockets), log);
}

/**
 * SIGTERM, SIGINT and SIGHUP, as in lmstfy. The first one starts a graceful shutdown, the second one ends the process
 * at once.
 */
class Signals {
  readonly first: Promise<NodeJS.Signals>;
  /** Aborted by the first one. */
  readonly ended: AbortSignal;
  onSecond = (): void => process.exit(ENDED_AT_ONCE);

  constructor() {
    const end = new AbortController();
    this.ended = end.signal;
    this.first = new Promise((resolve) => {
      let seen = 0;
      const onSignal = (signal: NodeJS.Signals): void => {
        seen += 1;
        if (seen > 1) this.onSecond();
        end.abort();
        resolve(signal);
      };
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal);
      // lmstfy reopens its logs on SIGUSR1; ours go to standard output. Without a listener Node would open its debugger
      // port.
      process.on('SIGUSR1', () => undefined);
    });
  }
}
