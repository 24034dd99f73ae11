import { createServer, type Server } from 'node:http';
import type { LaterHttp } from '../later/later-http.js';
import { answerHalfClosed, listenerOptions } from '../http/adapter.js';
import { boundPipelines } from '../http/request/connection.js';
import type { AppParts } from './core.module.js';
import { Listener } from './listener/listener.js';
import { portOf } from './server-lifecycle.js';

/** The port of later's API: plain HTTP, in each process that serves the queue APIs. */
export class LaterServer {
  private constructor(
    private readonly server: Server,
    private readonly listener: Listener,
  ) {}

  /** @throws {Error} the port is taken */
  static async start(http: LaterHttp, parts: AppParts, host: string, port: number): Promise<LaterServer> {
    const { server: settings } = parts.config;
    const options = {
      ...listenerOptions(settings),
      keepAliveTimeout: settings.keep_alive_ms,
      requireHostHeader: true,
    };
    const server = createServer(options, (request, response) => http.serve(request, response));
    answerHalfClosed(server);
    const listener = new Listener(server, parts, undefined);
    boundPipelines(server);
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen({ host, port }, resolve);
      });
    } catch (error) {
      await listener.drain(0);
      throw error;
    }
    return new LaterServer(server, listener);
  }

  get port(): number {
    return portOf(this.server);
  }

  /** Closes the port; requests under way have `withinMs`. @returns how many connections were cut */
  stop(withinMs: number): Promise<number> {
    return this.listener.drain(withinMs);
  }
}
