import { Controller, Delete, Get, Inject, Put, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import { answer, answerNothing } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import { Incoming } from '../http/incoming.js';
import { type Query, wholeNumber } from '../http/query.js';
import { DeadletterService } from './deadletter.service.js';

/** Largest number that lmstfy reads here: 64 bits, signed. */
const MAX_INT64 = 9_223_372_036_854_775_807;
/** A ttl beyond this (3,170 years) is cut to it: expiry times have 48 bits of milliseconds. */
const LONGEST_TTL_S = 100_000_000_000;

/** lmstfy's dead letter calls. */
@Controller('api/:namespace/:queue/deadletter')
@UseGuards(TokenGuard)
export class LmstfyDeadletterController {
  constructor(
    @Inject(DeadletterService) private readonly deadletter: DeadletterService,
    @Inject(Config) private readonly config: Config,
  ) {}

  @Get()
  @Access({ verb: 'consume' })
  async peek(@Incoming() exchange: Exchange): Promise<void> {
    const { caller, namespace, queue } = exchange;
    const { id, size } = await this.deadletter.head(caller, queue);
    answer(
      exchange,
      200,
      `{"deadletter_head":"${id ?? ''}","deadletter_size":${String(size)},"namespace":"${namespace}","queue":"${queue}"}`,
    );
  }

  @Get('size')
  @Access({ isSize: true, verb: 'consume' })
  async size(@Incoming() exchange: Exchange): Promise<void> {
    const { caller, namespace, queue } = exchange;
    const { size } = await this.deadletter.head(caller, queue);
    answer(exchange, 200, `{"namespace":"${namespace}","queue":"${queue}","size":${String(size)}}`);
  }

  @Put()
  @Access({ verb: 'admin' })
  async respawn(@Incoming() exchange: Exchange): Promise<void> {
    const { caller, queue, query } = exchange;
    const limit = limitOf(query);
    const ttlS = wholeNumber(query, 'ttl', this.config.lmstfy.default_ttl_s, MAX_INT64);
    if (ttlS === undefined) throw new QueueError('invalid_argument', 'invalid ttl');
    const ttlMs = Math.min(ttlS, LONGEST_TTL_S) * 1000;
    const count = await this.deadletter.respawn(caller, queue, limit, ttlMs);
    answer(exchange, 200, `{"count":${String(count)},"msg":"respawned"}`);
  }

  @Delete()
  @Access({ verb: 'admin' })
  async delete(@Incoming() exchange: Exchange): Promise<void> {
    await this.deadletter.delete(exchange.caller, exchange.queue, limitOf(exchange.query));
    answerNothing(exchange);
  }
}

/** @throws {QueueError} `invalid_argument`: below 1, or not a number */
function limitOf(query: Query): number {
  const limit = wholeNumber(query, 'limit', 1, MAX_INT64);
  if (limit === undefined || limit === 0) throw new QueueError('invalid_argument', 'invalid limit');
  return Math.min(limit, Number.MAX_SAFE_INTEGER);
}
