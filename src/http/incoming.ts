import { createParamDecorator, type ExecutionContext, Res } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { expectNoBody } from './body.js';
import type { Exchange } from './exchange.js';
import { exchangeIn } from './exchange-of.js';

/** The exchange of the request, for a handler that answers it itself. A body is still to be read, by `fieldsIn`, `wholeBody` or `readBody`. */
export const Incoming = createParamDecorator(
  (_: undefined, context: ExecutionContext): Exchange => {
    const exchange = exchangeIn(context);
    expectNoBody(exchange.request);
    return exchange;
  },
  [leaveAnswerToHandler],
);

/**
 * Nest answers with what a handler returns, unless the handler asks for the response: so each is given it, behind the parameters that
 * it names.
 */
function leaveAnswerToHandler(controller: object, handler: string | symbol | undefined): void {
  const { length } = Reflect.get(controller, handler ?? '') as { readonly length: number };
  Res()(controller, handler, length);
}

/** A word of the path that few routes have. Nest's own `Param` would be one more parameter in the API's document. */
export const InPath = createParamDecorator((name: string, context: ExecutionContext): string => {
  const { params } = context.switchToHttp().getRequest<FastifyRequest>();
  return (params as Readonly<Record<string, string>>)[name] ?? '';
});
