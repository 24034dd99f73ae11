import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answer, asciiJson } from '../http/answer.js';
import { exchangeOf } from '../http/exchange-of.js';
import { ReadinessService } from './readiness.js';

/** Probes, on the API port and on the admin port. */
@Controller()
export class HealthController {
  constructor(@Inject(ReadinessService) private readonly readiness: ReadinessService) {}

  /** The process lives. */
  @Get('healthz')
  healthz(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    answer(exchangeOf(request, reply), 200, '{"status":"ok"}');
  }

  /** The process should be sent requests; `?pool=` asks for one pool. 503 if not. */
  @Get('readyz')
  readyz(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const exchange = exchangeOf(request, reply);
    const { pool } = exchange.query;
    const { status, degraded } = pool === undefined ? this.readiness.overall() : this.readiness.ofPool(pool);
    const isReady = status === 'ready' || status === 'degraded';
    answer(exchange, isReady ? 200 : 503, asciiJson({ degraded, status }));
  }
}
