import { type DynamicModule, Module } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { AccessLog } from './access-log.js';
import { Config } from '../config/config.js';
import { Drain } from './request/drain.js';
import { LoadShedder, UNLIMITED } from './request/load-shedder.js';
import { requestObserver, SILENT } from './request/request-context.js';
import { SERVER_CONTEXT, serverContextOf } from './server-context.js';
import { LOG, type Log } from '../domain/log.js';
import { FloodMetrics } from '../metrics/flood-metrics.js';
import { Metrics } from '../metrics/metrics.js';
import { MetricsService } from '../metrics/metrics.service.js';

/** The server context of an application. It is global, and needs the global Config, LOG and Drain. */
@Module({})
export class HttpModule {
  /** For the queue APIs: limits load, counts answers, writes the access log. Needs the global MetricsService. */
  static forApi(): DynamicModule {
    return {
      module: HttpModule,
      global: true,
      providers: [
        {
          provide: AccessLog,
          inject: [LOG, Config],
          useFactory: (log: Log, config: Config) => new AccessLog(log, config.log.access),
        },
        {
          provide: SERVER_CONTEXT,
          inject: [HttpAdapterHost, Config, LOG, Drain, MetricsService, AccessLog],
          useFactory: apiContext,
        },
      ],
      exports: [SERVER_CONTEXT, AccessLog],
    };
  }

  /** For the admin port: no limit of load, nothing is counted. */
  static forAdmin(): DynamicModule {
    return {
      module: HttpModule,
      global: true,
      providers: [
        { provide: SERVER_CONTEXT, inject: [HttpAdapterHost, Config, LOG, Drain], useFactory: adminContext },
      ],
      exports: [SERVER_CONTEXT],
    };
  }
}

type AdapterHost = HttpAdapterHost<FastifyAdapter>;

function apiContext(
  { httpAdapter }: AdapterHost,
  config: Config,
  log: Log,
  drain: Drain,
  metrics: MetricsService,
  accessLog: AccessLog,
) {
  const { server, limits } = config;
  const loadLimits = {
    maxInFlight: server.max_in_flight,
    maxBodyBytes: server.max_body_bytes_in_flight,
    maxWaiters: limits.max_waiters,
    maxWaitersPerToken: limits.max_waiters_per_token,
  };
  return serverContextOf(httpAdapter.getInstance(), {
    settings: server,
    limits,
    log,
    drain,
    observer: requestObserver(metrics, accessLog),
    loadShedder: new LoadShedder(loadLimits, metrics.floods),
  });
}

function adminContext({ httpAdapter }: AdapterHost, config: Config, log: Log, drain: Drain) {
  const loadShedder = new LoadShedder(UNLIMITED, new FloodMetrics(new Metrics()));
  return serverContextOf(httpAdapter.getInstance(), {
    settings: config.server,
    limits: config.limits,
    log,
    drain,
    observer: SILENT,
    loadShedder,
  });
}
