import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answer, asciiJson } from '../http/answer.js';
import type { Query } from '../http/query.js';
import { ReadinessService } from './readiness.js';

/** Probes, on the API port and on the admin port. */
@Controller()
export class HealthController {
  constructor(@Inject(ReadinessService) private readonly readiness: ReadinessService) {}

  /** The process lives. */
  @Get('healthz')
  healthz(@Res() reply: FastifyReply): void {
    answer(reply, 200, '{"status":"ok"}');
  }

  /** The process should be sent requests; `?pool=` asks for one pool. 503 if not. */
  @Get('readyz')
  readyz(@Req() request: FastifyRequest<{ Querystring: Query }>, @Res() reply: FastifyReply): void {
    const { pool } = request.query;
    const { status, degraded } = pool === undefined ? this.readiness.overall() : this.readiness.ofPool(pool);
    const isReady = status === 'ready' || status === 'degraded';
    answer(reply, isReady ? 200 : 503, asciiJson({ degraded, status }));
  }
}
