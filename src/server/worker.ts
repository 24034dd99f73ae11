import { ApiServer } from './api-server.js';
import type { Config } from '../config/config.js';
import type { Log } from '../domain/log.js';
import { poolsOf } from './embedded-pools.js';
import { Drain } from '../http/drain.js';
import { endStart } from './start-flags.js';
import { isMessage, type ToPrimary, type ToWorker } from './worker-messages.js';

/**
 * One worker of a cluster: serves the API and does what the primary says. Its primary's end is its own. It resolves when it has
 * been stopped.
 */
export async function runWorker(config: Config, log: Log): Promise<void> {
  // Ctrl-C reaches the whole process group; the primary says when to stop, and so may a SIGTERM of our own.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => undefined);
  const start = await startMessage();
  const api = await ApiServer.start({
    config,
    pools: poolsOf(config, start.sockets),
    log,
    drain: new Drain(),
    metrics: { reads: false },
  });
  api.accessLog.on = start.accessLog;
  endStart();
  await new Promise<void>((resolve) => {
    process.on('message', (message) => {
      if (isMessage(message)) obey(message as ToWorker, api, resolve);
    });
    process.on('SIGTERM', resolve);
    tell({ type: 'ready', port: api.port });
  });
  await api.stop();
}

/** Asks for it: what was sent before anybody listened may have gone to a library's listener. */
function startMessage(): Promise<Extract<ToWorker, { type: 'start' }>> {
  return new Promise((resolve) => {
    process.on('message', function hear(message) {
      if (!isMessage(message) || message.type !== 'start') return;
      process.off('message', hear);
      resolve(message as Extract<ToWorker, { type: 'start' }>);
    });
    tell({ type: 'hello' });
  });
}

function obey(message: ToWorker, api: ApiServer, stop: () => void): void {
  if (message.type === 'access_log') api.accessLog.on = message.on;
  else if (message.type === 'forget_tokens') api.forgetTokens();
  else if (message.type === 'announce_end') api.announceEnd();
  else if (message.type === 'stop') stop();
  else if (message.type === 'metrics') {
    void api.metrics.snapshot().then((snapshot) => tell({ type: 'metrics', id: message.id, snapshot }));
  }
}

/** A primary that is gone hears nothing, and its worker is about to end. */
function tell(message: ToPrimary): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}
