import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import { FloodMetrics } from '../../metrics/flood-metrics.js';
import { Metrics } from '../../metrics/metrics.js';
import { boundConnections } from './connection-bound.js';
import type { AppParts } from '../core.module.js';
import { Connections } from '../server-lifecycle.js';
import type { TlsFiles } from './tls-files.js';
import { UnreadAnswers } from './unread-answers.js';

/**
 * Protects a port: limits its connections, closes those whose clients do not read, reloads certificates. Also drains it
 * at shutdown.
 */
export class Listener {
  private readonly connections: Connections;
  private readonly unread: UnreadAnswers;

  /** @param metrics left out: counters that are never read */
  constructor(
    server: Server,
    { config, log }: Pick<AppParts, 'config' | 'log'>,
    private readonly tls: TlsFiles | undefined,
    metrics = new FloodMetrics(new Metrics()),
  ) {
    const { max_connections, answer_timeout_ms } = config.server;
    this.connections = new Connections(server);
    boundConnections(server, max_connections, metrics);
    this.unread = new UnreadAnswers(() => this.connections.speaking, answer_timeout_ms, metrics.unread);
    if (isTls(server)) tls?.watch(server, log);
  }

  /** See `Connections.drain`. */
  async drain(withinMs: number): Promise<number> {
    const cut = await this.connections.drain(withinMs);
    this.unread.stop();
    await this.tls?.stop();
    return cut;
  }
}

function isTls(server: Server): server is TlsServer {
  return server instanceof TlsServer;
}
