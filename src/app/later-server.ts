import { createServer, type Server } from 'node:http';
import type { LaterHttp } from '../later/later-http.js';
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
    const { header_timeout_ms, request_timeout_ms, keep_alive_ms, max_header_bytes } = parts.config.server;
    const server = createServer(
      {
        maxHeaderSize: max_header_bytes,
        headersTimeout: Math.min(header_timeout_ms, request_timeout_ms),
        requestTimeout: request_timeout_ms,
        keepAliveTimeout: keep_alive_ms,
      },
      (request, response) => http.serve(request, response),
    );
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
