import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { contextIn } from '../request/context-of.js';

/** Answers errors of requests that came through the router with the error responder of their API. */
@Catch()
export class ApiErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    contextIn(host).fail(error);
  }
}
