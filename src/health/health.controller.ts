import { Controller, Get, Inject } from '@nestjs/common';
import { answer, asciiJson } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import { Incoming } from '../http/incoming.js';
import { ReadinessService } from './readiness.js';

/** Probes, on the API port and on the admin port. */
@Controller()
export class HealthController {
  constructor(@Inject(ReadinessService) private readonly readiness: ReadinessService) {}

  /** The process lives. */
  @Get('healthz')
  healthz(@Incoming() exchange: Exchange): void {
    answer(exchange, 200, '{"status":"ok"}');
  }

  /** The process should be sent requests; `?pool=` asks for one pool. 503 if not. */
  @Get('readyz')
  readyz(@Incoming() exchange: Exchange): void {
    const { pool } = exchange.query;
    const { status, degraded } = pool === undefined ? this.readiness.overall() : this.readiness.ofPool(pool);
    const isReady = status === 'ready' || status === 'degraded';
    answer(exchange, isReady ? 200 : 503, asciiJson({ degraded, status }));
  }
}
