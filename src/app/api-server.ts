import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiAppModule } from './api-app.module.js';
import { ApiContext } from './api-context.js';
import type { ProcessLoop } from '../domain/loop.js';
import type { AppParts } from './core.module.js';
import { createApplication } from './application.js';
import type { AccessLog } from '../http/access-log.js';
import { apiAdapter } from '../http/adapter.js';
import { installCors } from '../http/cors.js';
import { installFastPath } from '../jobs/fast-path.js';
import type { MetricsService } from '../metrics/metrics.service.js';
import { LaterServer } from './later-server.js';
import { Listener } from './listener/listener.js';
import { boundPipelines } from '../http/request/connection.js';
import { portOf } from './server-lifecycle.js';
import { TlsFiles } from './listener/tls-files.js';

/**
 * Connections that the system keeps until the server accepts them. With Node's default of 511, 3,000 clients that
 * connected at the same time after a restart lost their first packets and tried again seconds later. The system's own
 * limit (`net.core.somaxconn`) applies too.
 */
const BACKLOG = 4_096;

/** The queue APIs of one process: the Nest application, its listener, and its shutdown. */
export class ApiServer {
  /** Null unless `later.port` is set. */
  private later: LaterServer | null = null;

  private constructor(
    readonly app: NestFastifyApplication,
    private readonly parts: AppParts,
    private readonly context: ApiContext,
    private readonly listener: Listener,
    private readonly takers: readonly RequestListener[],
  ) {}

  /**
   * Connects the pools, starts the engines and listens.
   *
   * @throws {Error} a pool is unsuitable or unreachable, or the port is taken
   */
  static async start(parts: AppParts): Promise<ApiServer> {
    const { config } = parts;
    const server = await ApiServer.create(parts);
    try {
      const { port, host } = config.later;
      if (port !== undefined) {
        server.later = await LaterServer.start(server.context.laterHttp, parts, host, port);
      }
      await server.app.listen({ host: config.server.host, port: config.server.port, backlog: BACKLOG });
    } catch (error) {
      await server.later?.stop(0);
      await server.app.close();
      throw error;
    }
    return server;
  }

  /** Connects the pools and starts the engines for requests of the admin port only. @throws {Error} as `start` */
  static async startUnheard(parts: AppParts): Promise<ApiServer> {
    const server = await ApiServer.create(parts);
    await server.app.init();
    await server.app.getHttpAdapter().getInstance().ready();
    return server;
  }

  private static async create(parts: AppParts): Promise<ApiServer> {
    const { config } = parts;
    const tls = TlsFiles.of('server', config.server);
    const adapter = apiAdapter({ settings: config.server, tls: tls?.options });
    const app = await createApplication(ApiAppModule.forRoot(parts), adapter);
    const context = app.get(ApiContext);
    const listener = new Listener(app.getHttpServer(), parts, tls, context.metrics.floods);
    installFastPath(app.getHttpServer(), context.fastPath);
    // The admin port has rules of its own for browsers and pipelines.
    const takers = app.getHttpServer().listeners('request') as RequestListener[];
    const { cors_origins } = config.server;
    if (cors_origins.length > 0) installCors(app.getHttpServer(), cors_origins, context.server);
    boundPipelines(app.getHttpServer());
    return new ApiServer(app, parts, context, listener, takers);
  }

  /** Serves a request of the admin port, which has authenticated its account. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    for (const take of this.takers) take.call(this.app.getHttpServer(), request, response);
  }

  get port(): number {
    return portOf(this.app.getHttpServer());
  }

  /** The port of later's API; null if there is none. */
  get laterPort(): number | null {
    return this.later?.port ?? null;
  }

  get metrics(): MetricsService {
    return this.context.metrics;
  }

  get accessLog(): AccessLog {
    return this.context.accessLog;
  }

  /** Returns the last and the next run of each loop of this process. */
  loops(): ProcessLoop[] {
    return this.context.pump.loops();
  }

  /** Clears the token cache: the next request with a token reads it from the store. */
  forgetTokens(): void {
    this.context.tokens.clear();
  }

  /** Lets `/readyz` answer by the health of the pools: all parts of the server are open. */
  endStart(): void {
    this.parts.drain.starting = false;
  }

  /** Makes `/readyz` fail, so that load balancers use other servers. Requests are still served. */
  announceEnd(): void {
    this.parts.drain.announced = true;
  }

  /** Closes the listener, ends long polls, lets running requests finish within `server.drain_ms`, and closes everything. */
  async stop(): Promise<void> {
    const { config, drain, log } = this.parts;
    drain.announced = true;
    drain.close(config.server.drain_ms);
    for (const engine of this.context.engines.all()) engine.endWaits();
    const cuts = await Promise.all([
      this.listener.drain(config.server.drain_ms),
      this.later?.stop(config.server.drain_ms) ?? 0,
    ]);
    const cut = cuts[0] + cuts[1];
    if (cut > 0) log.warn({ connections: cut }, 'closed connections that did not finish within drain_ms');
    await this.app.close();
  }
}
