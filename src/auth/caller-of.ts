import type { FastifyRequest } from 'fastify';
import { QueueError } from '../domain/errors.js';
import type { Caller } from './caller.js';

/**
 * On whose behalf a request runs.
 *
 * @throws {QueueError} `internal`: the route has no token guard, which is a bug
 */
export function callerOf(request: Pick<FastifyRequest, 'caller'>): Caller {
  if (request.caller === undefined) throw new QueueError('internal', 'a route without a token guard');
  return request.caller;
}
