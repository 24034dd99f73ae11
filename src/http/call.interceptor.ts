import type { IncomingMessage } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import type { FieldsClass } from '../contract/fields/field.js';
import { toWire } from '../contract/fields/wire.js';
import { dataSearchesOf, withoutData } from '../contract/fields/withheld.js';
import { QueueError } from '../domain/errors.js';
import { WithHeaders } from './answer/with-headers.js';
import { CALL, type CallDescription } from './describe.js';
import { accountOf } from './request/account-client.js';
import { refuseParameters } from './request/query-fields.js';
import { contextIn } from './request/context-of.js';

const NO_SEARCH =
  'the role viewer may not search in failure messages and attributes: it may not see them; use an account with the role viewer_data';

/**
 * Does for each call what its description says. It refuses the parameters of a call that has none; others are read with their
 * class. It writes what the handler returns as the class of the answer has it. Calls of lmstfy's API have no description: they ignore
 * unknown parameters, and write their answers themselves.
 */
@Injectable()
export class CallInterceptor implements NestInterceptor {
  /** @throws {InputError} naming each parameter */
  intercept(execution: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call = Reflect.getMetadata(CALL, execution.getHandler()) as CallDescription | undefined;
    if (call !== undefined && /* guard: unknown-parameters-are-refused */ call.query === undefined)
      refuseParameters(contextIn(execution).query);
    const of = call && answerOf(call);
    const context = contextIn(execution);
    const mayNot = context.admitted?.actor?.role === 'viewer';
    // guard: viewers-search-no-data
    if (mayNot && dataSearchesOf(call?.query, context.query).length > 0)
      throw new QueueError('role_missing', NO_SEARCH);
    if (of === undefined) return mayNot ? next.handle().pipe(map(refuseUnknown)) : next.handle();
    return next.handle().pipe(
      map((result) => {
        const wire = written(of, result);
        return recorded(context.request, mayNot ? bare(of, wire) : wire);
      }),
    );
  }
}

/** Without its class, nothing says what is data in an answer. Most such calls answer themselves. */
function refuseUnknown(result: unknown): undefined {
  if (result !== undefined) throw new QueueError('role_missing', 'the role viewer may not see this answer');
}

/** For an account that may not see data. */
function bare(of: FieldsClass, wire: unknown): unknown {
  if (wire === undefined) return undefined;
  if (!(wire instanceof WithHeaders)) return withoutData(of, wire as object);
  return new WithHeaders(withoutData(of, wire.body as object), wire.headers, wire.options);
}

/** The class that a call answers with; undefined: it has no body, or is one that its handler writes. */
function answerOf({ answers }: CallDescription): FieldsClass | undefined {
  const of = Object.values(answers).flatMap((answer) => answer.of ?? []);
  return of.every((one) => one === of[0]) ? of[0] : undefined;
}

/** Tells the audit log of the admin port. */
function recorded(request: IncomingMessage, wire: unknown): unknown {
  accountOf(request)?.recordAnswer(wire instanceof WithHeaders ? wire.body : wire);
  return wire;
}

/** @param result undefined: the handler has answered itself */
function written(of: FieldsClass, result: unknown): unknown {
  if (result === undefined) return undefined;
  if (!(result instanceof WithHeaders)) return toWire(of, result as object);
  return new WithHeaders(toWire(of, result.body as object), result.headers, result.options);
}
