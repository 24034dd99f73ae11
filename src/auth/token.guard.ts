import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { contextIn } from '../http/request/context-of.js';
import { ACCESS_RULES, type AccessRules, DEFAULT_ACCESS } from './access.js';
import { Admission } from './admission.js';

/** Admission for requests that come through the router, by the rules that `Access` set for their route. */
@Injectable()
export class TokenGuard implements CanActivate {
  private readonly rules = new Map<unknown, AccessRules>();

  constructor(
    private readonly admission: Admission,
    private readonly reflector: Reflector,
  ) {}

  /** @throws {QueueError} as `Admission.admit` */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const admitted = this.admission.admit(contextIn(context), this.rulesOf(context));
    return admitted === undefined ? true : admitted.then(() => true);
  }

  private rulesOf(context: ExecutionContext): AccessRules {
    const handler = context.getHandler();
    let rules = this.rules.get(handler);
    if (!rules) {
      rules = this.reflector.get<AccessRules | undefined>(ACCESS_RULES, handler) ?? DEFAULT_ACCESS;
      this.rules.set(handler, rules);
    }
    return rules;
  }
}
