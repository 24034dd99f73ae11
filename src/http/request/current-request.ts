import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { RequestContext } from './request-context.js';
import { contextIn } from './context-of.js';

/** The request context, for a pipe that reads several parts of the request in a fixed order. */
export const CurrentRequest = createParamDecorator(
  (_: undefined, context: ExecutionContext): RequestContext => contextIn(context),
);
