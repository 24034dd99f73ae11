import { createParamDecorator, type ExecutionContext, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CALL, type CallDescription } from './describe.js';
import type { RequestContext } from './request/request-context.js';
import { takeOver } from './request/context-of.js';
import { refuseParameters } from './fields/read.js';
import { NO_QUERY } from './request/head.js';

/**
 * The request context, for a handler that answers the request itself. If the description of the call has no parameters,
 * all are rejected. A body must still be read, with `fieldsIn`, `wholeBody` or `readBody`.
 */
export const Incoming = createParamDecorator(
  (_: undefined, execution: ExecutionContext): RequestContext => {
    const context = takeOver(execution.switchToHttp().getResponse<FastifyReply>());
    const { query } = context;
    if (query !== NO_QUERY) {
      const call = Reflect.getMetadata(CALL, execution.getHandler()) as CallDescription | undefined;
      // Calls with parameters read them with their class. lmstfy's calls have no description, and ignore unknown
      // parameters.
      if (call !== undefined && call.query === undefined) refuseParameters(query);
    }
    return context;
  },
  [letHandlerAnswer],
);

/**
 * Nest answers with the return value of a handler, unless the handler injects the response: so it is injected into
 * each, after its own parameters.
 */
function letHandlerAnswer(controller: object, handler: string | symbol | undefined): void {
  const { length } = Reflect.get(controller, handler ?? '') as { readonly length: number };
  Res()(controller, handler, length);
}

/** A path parameter that few routes have. Nest's own `Param` would add a parameter to the OpenAPI document. */
export const InPath = createParamDecorator((name: string, context: ExecutionContext): string => {
  const { params } = context.switchToHttp().getRequest<FastifyRequest>();
  return (params as Readonly<Record<string, string>>)[name] ?? '';
});
