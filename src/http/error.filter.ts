import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { exchangeOf } from './exchange-of.js';

/** Has whatever was thrown on a request's way over the router refused by the front door that it came to. */
@Catch()
export class DoorErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    exchangeOf(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>()).fail(error);
  }
}
