import { Injectable, type PipeTransform } from '@nestjs/common';
import { Config } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import { type Query, wholeInt64 } from '../http/request/head.js';

/** Longest ttl, in seconds (3,170 years); a longer one is cut to it. Expiry times have 48 bits of milliseconds. */
const LONGEST_TTL_S = 100_000_000_000;

/** Number of dead jobs to respawn, and their ttl from then on. */
export class RespawnQuery {
  constructor(
    readonly limit: number,
    readonly ttlMs: number,
  ) {}
}

/** @throws {QueueError} `invalid_argument` for the first parameter that is wrong, in lmstfy's order and with its messages */
@Injectable()
export class RespawnPipe implements PipeTransform<Query, RespawnQuery> {
  constructor(private readonly config: Config) {}

  transform(query: Query): RespawnQuery {
    const limit = limitOf(query);
    const ttlS = wholeInt64(query, 'ttl', this.config.lmstfy.default_ttl_s, LONGEST_TTL_S);
    if (ttlS === undefined) throw new QueueError('invalid_argument', 'invalid ttl');
    return new RespawnQuery(limit, ttlS * 1000);
  }
}

/** Number of dead jobs to delete. @throws {QueueError} `invalid_argument`: below 1, or not a number */
@Injectable()
export class LimitPipe implements PipeTransform<Query, number> {
  transform(query: Query): number {
    return limitOf(query);
  }
}

function limitOf(query: Query): number {
  const limit = wholeInt64(query, 'limit', 1, Number.MAX_SAFE_INTEGER);
  if (limit === undefined || limit === 0) throw new QueueError('invalid_argument', 'invalid limit');
  return limit;
}
