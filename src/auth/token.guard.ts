import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { exchangeIn } from '../http/exchange-of.js';
import { ACCESS_RULES, type AccessRules, DEFAULT_ACCESS } from './access.js';
import { Admission } from './admission.js';

/** Admission for requests that come over the router: each is treated as its route says by `Access`. */
@Injectable()
export class TokenGuard implements CanActivate {
  private readonly rules = new Map<unknown, AccessRules>();

  constructor(
    @Inject(Admission) private readonly admission: Admission,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {}

  /** @throws {QueueError} as `Admission.admit` */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const admitted = this.admission.admit(exchangeIn(context), this.rulesOf(context));
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
