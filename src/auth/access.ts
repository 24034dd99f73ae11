import { SetMetadata } from '@nestjs/common';
import type { Verb } from '../domain/rights.js';
import type { ThrottleKind } from './token-keys.js';

/** What the token guard must know of a route. */
export interface AccessRules {
  /**
   * `one` queue by name, or a `list` of them, comma-separated (consume): lists may hold names that no publish would take; `none` on
   * routes of a whole namespace, which are closed to tokens for some queues; `body` if the body names them, and the handler looks
   * at each by `checkQueue`.
   */
  readonly queues: 'one' | 'list' | 'none' | 'body';
  /** What a token must be allowed to do; left out = `admin`. */
  readonly verb?: Verb;
  /** Which of a token's limits the route counts against; left out = none. */
  readonly throttle?: ThrottleKind;
  /** It lets go of what is held, and so is served when other requests are refused for want of room. */
  readonly goesFirst?: boolean;
  /** A size call: open to all when `lmstfy.public_sizes` is set. */
  readonly isSize?: boolean;
}

/** The metadata key of `AccessRules`. */
export const ACCESS_RULES = Symbol('AccessRules');

/** How a route that nothing is said of is treated: one queue, a token, no throttle. */
export const DEFAULT_ACCESS: AccessRules = { queues: 'one' };

/** Marks a route for the token guard. */
export const Access = (rules: Partial<AccessRules>): MethodDecorator =>
  SetMetadata(ACCESS_RULES, { ...DEFAULT_ACCESS, ...rules });
