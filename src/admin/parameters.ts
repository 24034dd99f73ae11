import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Actor, WITHOUT_ACCOUNT } from '../domain/actor.js';
import { type Fields, readForm } from './forms.js';

/** The account of a request; undefined if no accounts are configured. */
export const Account = createParamDecorator(
  (_: undefined, context: ExecutionContext): string | undefined =>
    requestIn(context).actor?.account ?? undefined,
);

/** The client of a request: a call over several namespaces shows only those that it `allows`. */
export const CurrentActor = createParamDecorator(
  (_: undefined, context: ExecutionContext): Actor => requestIn(context).actor ?? WITHOUT_ACCOUNT,
);

/** The parameters of a form or the query. A form's parameters win, as in lmstfy. */
export const FormOrQuery = createParamDecorator((_: undefined, context: ExecutionContext): Fields => {
  const { query, headers, body } = requestIn(context);
  return { ...(query as Fields), ...readForm(headers['content-type'], body) };
});

function requestIn(context: ExecutionContext): FastifyRequest {
  return context.switchToHttp().getRequest<FastifyRequest>();
}
