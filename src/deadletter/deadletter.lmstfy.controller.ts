import { Controller, Delete, Get, HttpCode, HttpStatus, Param, Put, Query, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { TokenGuard } from '../auth/token.guard.js';
import type { Caller } from '../domain/caller.js';
import { Engines } from '../engine/engines.js';
import { LimitPipe, RespawnPipe, RespawnQuery } from './dto.lmstfy.js';

/** lmstfy's dead-letter calls. The keys of its JSON are in alphabetical order. */
@Controller('api/:namespace/:queue/deadletter')
@UseGuards(TokenGuard)
export class LmstfyDeadletterController {
  constructor(private readonly engines: Engines) {}

  @Get()
  @Access({ verb: 'consume' })
  async peek(@CurrentCaller() caller: Caller, @Param('queue') queue: string): Promise<object> {
    const { id, size } = await this.engines.of(caller.pool).deadLetter.head(caller.namespace, queue);
    return { deadletter_head: id ?? '', deadletter_size: size, namespace: caller.namespace, queue };
  }

  @Get('size')
  @Access({ isSize: true, verb: 'consume' })
  async size(@CurrentCaller() caller: Caller, @Param('queue') queue: string): Promise<object> {
    const { size } = await this.engines.of(caller.pool).deadLetter.head(caller.namespace, queue);
    return { namespace: caller.namespace, queue, size };
  }

  @Put()
  @Access({ verb: 'admin' })
  async respawn(
    @CurrentCaller() caller: Caller,
    @Param('queue') queue: string,
    @Query(RespawnPipe) { limit, ttlMs }: RespawnQuery,
  ): Promise<object> {
    const { pool, namespace } = caller;
    const count = await this.engines.of(pool).deadLetter.respawn(namespace, queue, limit, ttlMs);
    return { count, msg: 'respawned' };
  }

  @Delete()
  @HttpCode(HttpStatus.NO_CONTENT)
  @Access({ verb: 'admin' })
  async delete(
    @CurrentCaller() caller: Caller,
    @Param('queue') queue: string,
    @Query(LimitPipe) limit: number,
  ): Promise<void> {
    await this.engines.of(caller.pool).deadLetter.delete(caller.namespace, queue, limit);
  }
}
