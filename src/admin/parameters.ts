import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Actor, WITHOUT_ACCOUNT } from '../domain/actor.js';
import { QueueError } from '../domain/errors.js';
import { leftOutOf, type Query } from '../http/request/head.js';
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

/**
 * The query of a call that lmstfy does not have.
 *
 * @param known its parameters
 * @throws {QueueError} `invalid_argument`: the query has others, or parts that cannot be read; or a call without a body has one
 */
export const OwnQuery = createParamDecorator(
  (known: readonly string[], context: ExecutionContext): Fields => {
    const { query, method, body } = requestIn(context);
    const fields = query as Fields;
    for (const [part, rule] of leftOutOf(query as Query)) throw wrong(part, rule);
    for (const name of Object.keys(fields))
      if (/* guard: admin-parameters-are-known */ !known.includes(name))
        throw wrong(name, `is unknown; known: ${known.join(', ')}`);
    const hasBody = method !== 'PUT' && typeof body === 'string' && body !== '';
    if (hasBody)
      throw new QueueError('invalid_argument', 'the call has no body: its parameters are in the query');
    return fields;
  },
);

function wrong(parameter: string, rule: string): QueueError {
  return new QueueError('invalid_argument', `the parameter ${parameter.slice(0, 40)} ${rule}`);
}

function requestIn(context: ExecutionContext): FastifyRequest {
  return context.switchToHttp().getRequest<FastifyRequest>();
}
