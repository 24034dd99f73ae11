import { Controller, Get, HttpStatus, Query, Res, UseFilters } from '@nestjs/common';
import { HealthCheckService } from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { ApiErrorFilter } from '../http/answer/error.filter.js';
import { type Readiness, ReadinessService } from './readiness.js';

/** Probes, on the API port and on the admin port. An unknown pool is answered with the same error as in lmstfy's API. */
@Controller()
@UseFilters(ApiErrorFilter)
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly readiness: ReadinessService,
  ) {}

  /** Liveness: the process runs. Uses no indicator, because a restart repairs neither Redis nor a draining server. */
  @Get('healthz')
  async healthz(): Promise<object> {
    const { status } = await this.health.check([]);
    return { status };
  }

  /**
   * Readiness: the process should get requests, else 503; `?pool=` checks one pool. The order of the fields is part of
   * the API.
   */
  @Get('readyz')
  async readyz(
    @Query('pool') pool: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readiness> {
    const { degraded, status } = await (pool === undefined
      ? this.readiness.overall()
      : this.readiness.ofPool(pool));
    if (status !== 'ready' && status !== 'degraded') void reply.code(HttpStatus.SERVICE_UNAVAILABLE);
    return { degraded, status };
  }
}
