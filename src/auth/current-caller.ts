import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { contextIn } from '../http/request/context-of.js';

/** The caller of the request. Its route needs the token guard. */
export const CurrentCaller = createParamDecorator(
  (_: undefined, context: ExecutionContext): Caller => contextIn(context).caller,
);
