import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { exchangeIn } from './exchange-of.js';

/** Has whatever was thrown on a request's way over the router refused by the front door that it came to. */
@Catch()
export class DoorErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    exchangeIn(host).fail(error);
  }
}
