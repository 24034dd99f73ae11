import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { toWire } from '../contract/fields/wire.js';
import { asciiJson } from '../contract/json/ascii-json.js';
import { ExplanationAnswer } from '../contract/explain.js';
import { explainedOutage } from '../engine/explain/explanations.js';
import { answer } from '../http/answer/answer.js';
import { contextIn } from '../http/request/context-of.js';

/**
 * Answers 200 with `store_unavailable` also where the token cannot be checked, because Redis does not answer. That says no
 * more than the 503 of every other call.
 */
@Catch()
export class OutageFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const context = contextIn(host);
    const explanation = explainedOutage(error);
    if (explanation === null) context.fail(error);
    else answer(context, 200, asciiJson(toWire(ExplanationAnswer, explanation)));
  }
}
