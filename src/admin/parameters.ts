import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Actor, WITHOUT_ACCOUNT } from '../domain/actor.js';
import { QueueError } from '../domain/errors.js';
import { leftOutOf, type Query, TWICE } from '../http/request/head.js';
import { type Fields, readForm, repeatedIn } from './forms.js';

/** The account of a request; undefined if no accounts are configured. */
export const Account = createParamDecorator(
  (_: undefined, context: ExecutionContext): string | undefined =>
    requestIn(context).actor?.account ?? undefined,
);

/** The client of a request: a call over several namespaces shows only those that it `allows`. */
export const CurrentActor = createParamDecorator(
  (_: undefined, context: ExecutionContext): Actor => requestIn(context).actor ?? WITHOUT_ACCOUNT,
);

/**
 * The parameters of a form or the query. A form's parameters win, as in lmstfy. A misspelt restriction of a token must
 * not be ignored: the token would have more rights than was meant.
 *
 * @param known the parameters of the call
 * @throws {QueueError} `invalid_argument`: there are others, one comes twice, or a part cannot be read
 */
export const FormOrQuery = createParamDecorator(
  (known: readonly string[], context: ExecutionContext): Fields => {
    const { query, headers, body } = requestIn(context);
    const type = headers['content-type'];
    const ignored = [
      ...leftOutOf(query as Query),
      ...repeatedIn(type, body).map((name) => [name, TWICE] as const),
    ];
    const fields = { ...(query as Fields), ...readForm(type, body) };
    checkKnown(fields, known);
    // guard: token-parameters-once
    for (const [part, rule] of ignored) throw wrong(part, `${rule}; known: ${known.join(', ')}`);
    return fields;
  },
);

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
    checkKnown(fields, known);
    const hasBody = method !== 'PUT' && typeof body === 'string' && body !== '';
    if (hasBody)
      throw new QueueError('invalid_argument', 'the call has no body: its parameters are in the query');
    return fields;
  },
);

function checkKnown(fields: Fields, known: readonly string[]): void {
  for (const name of Object.keys(fields))
    if (/* guard: admin-parameters-are-known */ !known.includes(name))
      throw wrong(name, `is unknown; known: ${known.join(', ')}`);
}

function wrong(parameter: string, rule: string): QueueError {
  return new QueueError('invalid_argument', `the parameter ${parameter.slice(0, 40)} ${rule}`);
}

function requestIn(context: ExecutionContext): FastifyRequest {
  return context.switchToHttp().getRequest<FastifyRequest>();
}
