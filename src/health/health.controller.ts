import { Controller, Get, Head, HttpCode, HttpStatus, Options, Query, Res, UseFilters } from '@nestjs/common';
import { HealthCheckService } from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { ApiErrorFilter } from '../http/answer/error.filter.js';
import { type Readiness, ReadinessService } from './readiness.js';

/** The methods that the server knows. */
const METHODS = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT';

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

  /** Some load balancers probe by HEAD: the same answer, of which Node sends no body. */
  @Head('healthz')
  headOfHealthz(): Promise<object> {
    return this.healthz();
  }

  @Head('readyz')
  headOfReadyz(
    @Query('pool') pool: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readiness> {
    return this.readyz(pool, reply);
  }

  /** `OPTIONS /` and `OPTIONS *`, which HAProxy sends by default: they ask whether something listens. */
  @Options()
  @HttpCode(HttpStatus.NO_CONTENT)
  options(@Res({ passthrough: true }) reply: FastifyReply): void {
    reply.raw.setHeader('Allow', METHODS);
  }
}
