import { SetMetadata } from '@nestjs/common';
import type { Verb } from '../domain/rights.js';
import type { ThrottleKind } from './token-keys.js';

/** Access rules of a route, for the token guard. */
export interface AccessRules {
  /**
   * `one` queue by name, or a comma-separated `list` of them (consume): lists may have names that publish rejects;
   * `none` on routes of a whole namespace, which reject tokens for some queues; `body` if the body names them, and the
   * handler checks each with `checkQueue`.
   */
  readonly queues: 'one' | 'list' | 'none' | 'body';
  /** The permission that the token needs; default `admin`. */
  readonly verb?: Verb;
  /** The token's limit that the route counts against; default none. */
  readonly throttle?: ThrottleKind;
  /** The route frees resources, so it is served even when other requests are rejected for overload. */
  readonly goesFirst?: boolean;
  /** A size call: needs no token if `lmstfy.public_sizes` is set. */
  readonly isSize?: boolean;
}

/** Metadata key of `AccessRules`. */
export const ACCESS_RULES = Symbol('AccessRules');

/** Rules of a route without `Access`: one queue, a token, no throttle. */
export const DEFAULT_ACCESS: AccessRules = { queues: 'one' };

/** Sets the access rules of a route. */
export const Access = (rules: Partial<AccessRules>): MethodDecorator =>
  SetMetadata(ACCESS_RULES, { ...DEFAULT_ACCESS, ...rules });
