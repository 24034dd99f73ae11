import { Controller, Delete, Inject, Param, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { QueueError } from '../domain/errors.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import { PoolRegistry } from '../redis/redis.module.js';
import { Audit } from './audit.js';
import { checkPool, poolOr } from './token-admin.service.js';

/** How long one call purges, in milliseconds: who asks need not wait long, and asks again. */
const BUDGET_MS = 5_000;

interface Asked {
  readonly pool?: string;
  readonly dry_run?: string;
}

/** Whole namespaces. Ours: lmstfy has no such call. */
@Controller('namespaces')
export class NamespacesController {
  constructor(
    @Inject(PoolRegistry) private readonly pools: PoolRegistry,
    @Inject(EngineRegistry) private readonly engines: EngineRegistry,
    @Inject(Audit) private readonly audit: Audit,
  ) {}

  /**
   * Takes away everything that a namespace holds, for five seconds or so: to be called again until it is `done`. `?dry_run=true` only
   * says what there is. Tokens stay.
   */
  @Delete(':namespace')
  async purge(
    @Param('namespace') namespace: string,
    @Query() asked: Asked,
    @Req() { account }: FastifyRequest,
  ): Promise<object> {
    const pool = poolOr(asked.pool);
    checkPool(this.pools, pool);
    const isDry = isTrue('dry_run', asked.dry_run);
    const { purge } = this.engines.forPool(pool);
    if (isDry) {
      const { queues, ...jobs } = await purge.census(namespace);
      return { namespace, pool, dry_run: true, queues, jobs };
    }
    const { jobs, queues, keys, isDone, isInUse } = await purge.run(namespace, BUDGET_MS);
    const removed = { jobs, queues, keys };
    this.audit.notePurge(account, pool, namespace, { removed, done: isDone });
    return { namespace, pool, dry_run: false, done: isDone, in_use: isInUse, removed };
  }
}

/** @throws {QueueError} `invalid_argument`: what is meant is not clear, and this call is not one to guess at */
function isTrue(name: string, value: string | undefined): boolean {
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw new QueueError('invalid_argument', `invalid ${name}: it is true or false`);
}
