import { Controller, Delete, Get, Param } from '@nestjs/common';
import { Actor } from '../domain/actor.js';
import { Engines } from '../engine/engines.js';
import { Audit } from './audit/audit.js';
import { PurgeQuery } from './dto.js';
import { Account, CurrentActor, OwnQuery } from './parameters.js';
import { OwnPoolPipe, PurgePipe } from './pipes.js';

/** Time limit of one purge call, in milliseconds. The client repeats the call until it is done. */
const BUDGET_MS = 5_000;

/** Calls on whole namespaces; lmstfy has none. */
@Controller('namespaces')
export class NamespacesController {
  constructor(
    private readonly engines: Engines,
    private readonly audit: Audit,
  ) {}

  /** The namespaces of a pool that have something in Redis, by name: those that the account may see. */
  @Get()
  async list(@CurrentActor() actor: Actor, @OwnQuery(['pool'], OwnPoolPipe) pool: string): Promise<object> {
    const namespaces = actor.own(await this.engines.of(pool).namespaces());
    return { namespaces: namespaces.map((namespace) => ({ namespace })) };
  }

  /**
   * Deletes everything that a namespace holds except tokens, for about five seconds. Call it again until the answer
   * says `done`.
   * `?dry_run=true` only counts.
   */
  @Delete(':namespace')
  async purge(
    @Account() account: string | undefined,
    @Param('namespace') namespace: string,
    @OwnQuery(['pool', 'dry_run'], PurgePipe) { pool, isDry }: PurgeQuery,
  ): Promise<object> {
    const { purge } = this.engines.of(pool);
    if (isDry) {
      const { queues, ...jobs } = await purge.census(namespace);
      return { namespace, pool, dry_run: true, queues, jobs };
    }
    const { jobs, queues, keys, isDone, isInUse } = await purge.run(namespace, BUDGET_MS);
    const removed = { jobs, queues, keys };
    this.audit.recordNamespace('namespace.purge', account, pool, namespace, { removed, done: isDone });
    return { namespace, pool, dry_run: false, done: isDone, in_use: isInUse, removed };
  }
}
