import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiAppModule } from './app.module.js';
import { TokenCache } from '../auth/token-cache.js';
import type { AppParts } from './core.module.js';
import { createApplication } from './application.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import { AccessLog } from '../http/access-log.js';
import { apiAdapter } from '../http/adapter.js';
import { LmstfyErrorFilter } from '../http/errors.lmstfy.js';
import type { HttpMetrics } from '../metrics/http-metrics.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { Connections, portOf } from './server-lifecycle.js';

/** The queue API of one process: the application, its listener, and its orderly end. */
export class ApiServer {
  private constructor(
    readonly app: NestFastifyApplication,
    private readonly parts: AppParts,
    private readonly connections: Connections,
    readonly accessLog: AccessLog,
  ) {}

  /** Connects the pools, starts the engines and listens. @throws {Error} a pool is unfit or away, or the port is taken */
  static async start(parts: AppParts): Promise<ApiServer> {
    const { config, log, drain } = parts;
    const adapter = apiAdapter(config.server, log, drain);
    const app = await createApplication(ApiAppModule.forRoot(parts), adapter);
    app.useGlobalFilters(new LmstfyErrorFilter(log));
    const accessLog = new AccessLog(log, config.log.access);
    const server = new ApiServer(app, parts, new Connections(app.getHttpServer()), accessLog);
    observe(adapter.getInstance(), accessLog, server.metrics.http);
    try {
      await app.listen({ host: config.server.host, port: config.server.port });
      for (const engine of server.engines.all()) engine.start();
    } catch (error) {
      await app.close();
      throw error;
    }
    return server;
  }

  get port(): number {
    return portOf(this.app.getHttpServer());
  }

  get metrics(): MetricsService {
    return this.app.get(MetricsService, { strict: false });
  }

  /** The next request of every token asks the store. */
  forgetTokens(): void {
    this.app.get(TokenCache, { strict: false }).clear();
  }

  /** Tells load balancers to look elsewhere; requests are served as ever. */
  announceEnd(): void {
    this.parts.drain.announced = true;
  }

  /** Closes the listener, ends long polls, lets what is in flight finish within `server.drain_ms`, and closes everything. */
  async stop(): Promise<void> {
    const { config, drain, log } = this.parts;
    drain.announced = true;
    drain.closing = true;
    for (const engine of this.engines.all()) engine.endWaits();
    const cut = await this.connections.drain(config.server.drain_ms);
    if (cut > 0) log.warn({ connections: cut }, 'cut connections that were not done in time');
    await Promise.all(this.engines.all().map((engine) => engine.stop()));
    await this.app.close();
  }

  private get engines(): EngineRegistry {
    return this.app.get(EngineRegistry, { strict: false });
  }
}

/** Has every answer counted and, while that is on, written to the access log. */
function observe(instance: FastifyInstance, accessLog: AccessLog, metrics: HttpMetrics): void {
  instance.addHook('onResponse', (request: FastifyRequest, reply, done) => {
    const route = request.is404 ? '' : (request.routeOptions.url ?? '');
    metrics.record(route, request.method, reply.statusCode, reply.elapsedTime, request.caller);
    accessLog.note(request, reply);
    done();
  });
}
