import { HttpStatus, Injectable, type PipeTransform } from '@nestjs/common';
import { QueueError } from '../domain/errors.js';
import { PoolRegistry } from '../redis/redis.module.js';
import { AdminException } from './admin-error.filter.js';
import { type LimiterDto, PurgeQuery } from './dto.js';
import { type Fields, readLimit } from './forms.js';
import { checkPool, poolOr } from './tokens/token-admin.service.js';

/** The pool of a call; the default pool if the call names none. @throws {QueueError} `pool_not_found` */
@Injectable()
export class PoolPipe implements PipeTransform<string | undefined, string> {
  constructor(private readonly pools: PoolRegistry) {}

  transform(name: string | undefined): string {
    const pool = poolOr(name);
    checkPool(this.pools, pool);
    return pool;
  }
}

/** The same of the parameters of a call. */
@Injectable()
export class OwnPoolPipe implements PipeTransform<Fields, string> {
  constructor(private readonly pools: PoolRegistry) {}

  transform({ pool }: Fields): string {
    return new PoolPipe(this.pools).transform(pool);
  }
}

/**
 * @throws {QueueError} `pool_not_found`; `invalid_argument`: `dry_run` is neither true nor false, and a purge must not
 * guess
 */
@Injectable()
export class PurgePipe implements PipeTransform<Fields, PurgeQuery> {
  constructor(private readonly pools: PoolRegistry) {}

  transform({ pool, dry_run }: Fields): PurgeQuery {
    const own = new PoolPipe(this.pools).transform(pool);
    if (dry_run === undefined || dry_run === 'false') return new PurgeQuery(own, false);
    if (dry_run === 'true') return new PurgeQuery(own, true);
    throw new QueueError('invalid_argument', 'invalid dry_run: it is true or false');
  }
}

/** lmstfy's answer has only the limiter. */
const NO_LIMIT = 'read or write should be > 0';

/** Whether to enable the access log. @throws {QueueError} `invalid_argument` */
@Injectable()
export class AccessLogPipe implements PipeTransform<string | undefined, boolean> {
  transform(status: string | undefined): boolean {
    if (status === 'enable' || status === 'disable') return status === 'enable';
    throw new QueueError('invalid_argument', 'invalid status');
  }
}

/**
 * Reads a limit's JSON. A limit with neither reads nor writes is rejected with its own body, as in lmstfy, and an error.
 *
 * @throws {QueueError} `invalid_argument`
 */
@Injectable()
export class LimiterPipe implements PipeTransform<unknown, LimiterDto> {
  transform(body: unknown): LimiterDto {
    const limiter = readLimit(body);
    if (limiter.read === 0 && limiter.write === 0)
      throw new AdminException(HttpStatus.BAD_REQUEST, { error: NO_LIMIT, limiter });
    if (limiter.interval === 0) throw new QueueError('invalid_argument', 'interval should be > 0');
    return limiter;
  }
}
