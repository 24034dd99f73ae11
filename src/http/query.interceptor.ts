import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { CALL, type CallDescription } from './describe.js';
import { refuseParameters } from './request/query-fields.js';
import { contextIn } from './request/context-of.js';

/**
 * Refuses the parameters of a call whose description has none. Calls with parameters read them with their class. Calls of
 * lmstfy's API have no description, and ignore unknown parameters.
 */
@Injectable()
export class QueryInterceptor implements NestInterceptor {
  /** @throws {InputError} naming each parameter */
  intercept(execution: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call = Reflect.getMetadata(CALL, execution.getHandler()) as CallDescription | undefined;
    if (call !== undefined && /* guard: unknown-parameters-are-refused */ call.query === undefined)
      refuseParameters(contextIn(execution).query);
    return next.handle();
  }
}
