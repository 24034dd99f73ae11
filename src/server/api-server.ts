import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { performance } from 'node:perf_hooks';
import { ApiAppModule } from './api-app.module.js';
import { Admission } from '../auth/admission.js';
import { TokenCache } from '../auth/token-cache.js';
import type { Config } from '../config/config.js';
import type { AppParts } from './core.module.js';
import { createApplication } from './application.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import { AccessLog } from '../http/access-log.js';
import { apiAdapter } from '../http/adapter.js';
import { DoorErrorFilter } from '../http/error.filter.js';
import type { ExchangeObserver } from '../http/exchange.js';
import { Gate, type GateLimits } from '../http/gate.js';
import { openLane } from '../http/lane.js';
import { HotCalls, HotLane } from '../jobs/hot-lane.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { ApiDocument } from '../openapi/api-document.js';
import { Listener } from './listener.js';
import { portOf } from './server-lifecycle.js';
import { TlsFiles } from './tls-files.js';

/** Providers of whatever module. */
const ANYWHERE = { strict: false };

/**
 * Connections that the system holds until we take them. With Node's 511, 3,000 clients that came at once after a restart lost their
 * first packets and tried again seconds later; the system's own bound (`net.core.somaxconn`) counts too.
 */
const BACKLOG = 4_096;

/** The queue API of one process: the application, its listener, and its orderly end. */
export class ApiServer {
  private constructor(
    readonly app: NestFastifyApplication,
    private readonly parts: AppParts,
    private readonly listener: Listener,
    readonly accessLog: AccessLog,
  ) {}

  /** Connects the pools, starts the engines and listens. @throws {Error} a pool is unfit or away, or the port is taken */
  static async start(parts: AppParts): Promise<ApiServer> {
    const { config, log, drain } = parts;
    const tls = TlsFiles.of('server', config.server);
    const adapter = apiAdapter({ settings: config.server, log, drain, tls: tls?.options });
    const app = await createApplication(ApiAppModule.forRoot(parts), adapter);
    app.useGlobalFilters(new DoorErrorFilter());
    app.get(ApiDocument, ANYWHERE).isOf(app);
    const accessLog = new AccessLog(log, config.log.access);
    const listener = new Listener(app.getHttpServer(), parts, tls, app.get(MetricsService, ANYWHERE).floods);
    const server = new ApiServer(app, parts, listener, accessLog);
    const { exchanges } = adapter.getInstance<FastifyInstance>();
    exchanges.gate = new Gate(boundsOf(config), server.metrics.floods);
    exchanges.observer = observerOf(accessLog, server.metrics);
    openLane(
      app.getHttpServer(),
      new HotLane(exchanges, app.get(HotCalls, ANYWHERE), app.get(Admission, ANYWHERE)),
    );
    try {
      await app.listen({ host: config.server.host, port: config.server.port, backlog: BACKLOG });
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
    return this.app.get(MetricsService, ANYWHERE);
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
    const cut = await this.listener.drain(config.server.drain_ms);
    if (cut > 0) log.warn({ connections: cut }, 'cut connections that were not done in time');
    await Promise.all(this.engines.all().map((engine) => engine.stop()));
    await this.app.close();
  }

  private get engines(): EngineRegistry {
    return this.app.get(EngineRegistry, ANYWHERE);
  }
}

function boundsOf({ server, limits }: Config): GateLimits {
  return {
    maxInFlight: server.max_in_flight,
    maxBodyBytes: server.max_body_bytes_in_flight,
    maxWaiters: limits.max_waiters,
    maxWaitersPerToken: limits.max_waiters_per_token,
  };
}

/** Has every answer counted and, while that is on, written to the access log. */
function observerOf(accessLog: AccessLog, { http: metrics, floods }: MetricsService): ExchangeObserver {
  return {
    refused: (code) => floods.refusedFor(code),
    answered: (exchange, status) => {
      const { route, request, startedMs, admitted } = exchange;
      const ms = performance.now() - startedMs;
      metrics.record(route, request.method ?? '', status, ms, admitted);
      if (accessLog.on) accessLog.note(exchange, status, ms);
    },
  };
}
