import { ApiServer } from '../api-server.js';
import type { Config } from '../../config/config.js';
import type { Log } from '../../domain/log.js';
import { poolsOf } from '../embedded-pools.js';
import { Drain } from '../../http/request/drain.js';
import { endStart } from '../start-flags.js';
import { isMessage, type ToPrimary, type ToApiProcess } from './process-messages.js';

/**
 * Runs one API process of a cluster: serves the API and follows the primary's messages. Ends with its primary. Resolves when
 * it has been stopped.
 */
export async function runApiProcess(config: Config, log: Log): Promise<void> {
  // Ctrl-C reaches the whole process group. The API process stops only on the primary's message or on a SIGTERM of its own.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => undefined);
  const start = await startMessage();
  const drain = new Drain();
  drain.starting = true;
  const api = await ApiServer.start({
    config,
    pools: poolsOf(config, start.sockets),
    log,
    drain,
    metrics: { reads: false },
  });
  api.accessLog.on = start.accessLog;
  endStart();
  await new Promise<void>((resolve) => {
    process.on('message', (message) => {
      if (isMessage(message)) obey(message as ToApiProcess, api, resolve);
    });
    process.on('SIGTERM', resolve);
    send({ type: 'ready', port: api.port, laterPort: api.laterPort });
  });
  await api.stop();
}

/** Asks the primary for the start message: an earlier one may have gone to a library's listener. */
function startMessage(): Promise<Extract<ToApiProcess, { type: 'start' }>> {
  return new Promise((resolve) => {
    process.on('message', function onMessage(message) {
      if (!isMessage(message) || message.type !== 'start') return;
      process.off('message', onMessage);
      resolve(message as Extract<ToApiProcess, { type: 'start' }>);
    });
    send({ type: 'hello' });
  });
}

function obey(message: ToApiProcess, api: ApiServer, stop: () => void): void {
  if (message.type === 'access_log') api.accessLog.on = message.on;
  else if (message.type === 'forget_tokens') api.forgetTokens();
  else if (message.type === 'end_start') api.endStart();
  else if (message.type === 'announce_end') api.announceEnd();
  else if (message.type === 'stop') stop();
  else if (message.type === 'loops') send({ type: 'loops', id: message.id, loops: api.loops() });
  else if (message.type === 'metrics') {
    void api.metrics.snapshot().then((snapshot) => send({ type: 'metrics', id: message.id, snapshot }));
  }
}

/** If the primary is gone, the message is dropped: this process is about to end too. */
function send(message: ToPrimary): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}
