import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import type { Log } from '../domain/log.js';
import { EmbeddedPools, poolsOf } from './embedded-pools.js';
import type { RunningServer } from './running-server.js';
import { endStart } from './start-flags.js';

/** Exit code of a server that a second signal ended. */
const ENDED_AT_ONCE = 1;

/**
 * Runs the server until a signal ends it: embedded Redis first, then the applications; the other way round at the end.
 *
 * @throws {Error} something does not start; what had started is stopped again
 */
export async function serve(config: Config, log: Log, print: (text: string) => void): Promise<void> {
  const signals = new Signals();
  for (const warning of config.warnings) log.warn({}, warning);
  const embedded = await EmbeddedPools.start(config, log);
  try {
    const server = await start(config, embedded, log);
    signals.onSecond = () => {
      server.kill();
      process.exit(ENDED_AT_ONCE);
    };
    endStart();
    const { addresses, isFirstStart, welcome } = await import('./welcome.js');
    print(addresses(server, config));
    if (await isFirstStart(server, config)) print(await welcome(server, config));
    const signal = await signals.first;
    log.info({ signal }, 'stopping');
    server.announceEnd();
    await sleep(config.server.ready_lag_ms);
    await server.stop();
  } finally {
    await embedded.stop();
  }
  log.info({}, 'stopped');
}

/** Each loads what it needs: a primary forks before it has loaded an application. */
async function start(config: Config, { sockets }: EmbeddedPools, log: Log): Promise<RunningServer> {
  if (config.server.workers > 1) {
    const { Primary } = await import('./primary.js');
    return Primary.start(config, sockets, log);
  }
  const { SingleProcess } = await import('./single-process.js');
  return SingleProcess.start(config, poolsOf(config, sockets), log);
}

/** SIGTERM, SIGINT and SIGHUP (lmstfy's list): the first one asks, the second one is obeyed at once. */
class Signals {
  readonly first: Promise<NodeJS.Signals>;
  onSecond = (): void => process.exit(ENDED_AT_ONCE);

  constructor() {
    this.first = new Promise((resolve) => {
      let seen = 0;
      const hear = (signal: NodeJS.Signals): void => {
        seen += 1;
        if (seen === 1) resolve(signal);
        else this.onSecond();
      };
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, hear);
      // lmstfy reopens its logs on it; ours go to standard output. Unheard, Node would open its debugger's port.
      process.on('SIGUSR1', () => undefined);
    });
  }
}
