import type { IncomingMessage } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { from, map, mergeMap, type Observable } from 'rxjs';
import type { FieldsClass } from '../contract/fields/field.js';
import { toWire } from '../contract/fields/wire.js';
import { dataSearchesOf } from '../contract/fields/withheld.js';
import type { Caller } from '../domain/caller.js';
import { QueueError } from '../domain/errors.js';
import { Engines } from '../engine/engines.js';
import { WithHeaders } from './answer/with-headers.js';
import { CALL, type CallDescription } from './describe.js';
import { accountOf } from './request/account-client.js';
import { refuseParameters } from './request/query-fields.js';
import { contextIn } from './request/context-of.js';
import { checkSearch, isRestricted, seenBy } from './sight.js';

const NO_SEARCH =
  'the role viewer may not search in failure messages and attributes: it may not see them; use an account with the role viewer_data';

/**
 * Does for each call what its description says. It refuses the parameters of a call that has none; others are read with their
 * class. It writes what the handler returns as the class of the answer has it. Calls of lmstfy's API have no description: they ignore
 * unknown parameters, and write their answers themselves.
 */
@Injectable()
export class CallInterceptor implements NestInterceptor {
  constructor(private readonly engines: Engines) {}

  /** @throws {InputError} naming each parameter */
  intercept(execution: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call = Reflect.getMetadata(CALL, execution.getHandler()) as CallDescription | undefined;
    if (call !== undefined && /* guard: unknown-parameters-are-refused */ call.query === undefined)
      refuseParameters(contextIn(execution).query);
    const of = call && answerOf(call);
    const context = contextIn(execution);
    const caller = context.admitted;
    const isViewer = caller?.actor?.role === 'viewer';
    const isSearch = caller?.actor !== undefined && dataSearchesOf(call?.query, context.query).length > 0;
    // guard: viewers-search-no-data
    if (isViewer && isSearch) throw new QueueError('role_missing', NO_SEARCH);
    if (!isViewer && !isRestricted(caller)) {
      if (of === undefined) return next.handle();
      return next.handle().pipe(map((result) => recorded(context.request, written(of, result))));
    }
    const searched = isSearch ? checkSearch(caller, this.engines, context.query['queue']) : Promise.resolve();
    const handled = from(searched).pipe(mergeMap(() => next.handle()));
    if (of === undefined) return handled.pipe(map(refuseUnknown));
    return handled.pipe(
      mergeMap(async (result) => recorded(context.request, await this.seen(caller, of, written(of, result)))),
    );
  }

  private async seen(caller: Caller, of: FieldsClass, wire: unknown): Promise<unknown> {
    if (wire === undefined) return undefined;
    if (!(wire instanceof WithHeaders)) return seenBy(caller, this.engines, of, wire as object);
    const body = await seenBy(caller, this.engines, of, wire.body as object);
    return new WithHeaders(body, wire.headers, wire.options);
  }
}

/** Without its class, nothing says what is data in an answer. Most such calls answer themselves. */
function refuseUnknown(result: unknown): undefined {
  if (result !== undefined)
    throw new QueueError('role_missing', 'accounts below the role admin may not see this answer');
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
