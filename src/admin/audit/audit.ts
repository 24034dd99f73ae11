import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { tokenHint } from '../../auth/credentials.js';
import type { TokenId } from '../../auth/token-store.js';
import { LOG, type Log } from '../../domain/log.js';
import type { BrowserRefusal } from '../browser-rules.js';

/** Audited actions on tokens and limits. */
export type AuditedAction = 'token.create' | 'token.delete' | 'token.rotate' | 'limit.set' | 'limit.delete';

/** Characters of a text from a client that a log line shows. */
const SHOWN_CHARACTERS = 200;

/**
 * Writes one log line for each change of a token or limit and for each purge: the account, the action and its target.
 * Of a token it logs only the first characters. Also logs rejected browser requests and wrong passwords.
 */
@Injectable()
export class Audit {
  constructor(@Inject(LOG) private readonly log: Log) {}

  /** @param account that made the request; undefined if no accounts are configured */
  record(
    account: string | undefined,
    action: AuditedAction,
    { pool, namespace, token }: TokenId,
    details = {},
  ): void {
    this.log.info(
      { audit: action, account: account ?? null, pool, namespace, token_hint: tokenHint(token), ...details },
      'audit',
    );
  }

  /**
   * Logs a request that an operator's browser may have sent for another site. Logs the route's template, because the
   * path may hold a token.
   */
  recordRefused(request: FastifyRequest, rule: BrowserRefusal['rule']): void {
    const { host, origin, 'sec-fetch-site': site } = request.headers;
    const shown = { host, origin, site: typeof site === 'string' ? site : undefined };
    this.log.warn({ audit: 'request.refused', rule, ...callOf(request), ...cut(shown) }, 'audit');
  }

  /** @param failures recent wrong passwords of the same address */
  recordFailedPassword(request: FastifyRequest, failures: number): void {
    this.log.warn({ audit: 'password.failed', failures, ...callOf(request) }, 'audit');
  }

  /** Logs a change of a pool. */
  recordPool(action: 'pool.format', account: string | undefined, pool: string, details: object): void {
    this.log.info({ audit: action, account: account ?? null, pool, ...details }, 'audit');
  }

  /** Logs a change of a whole namespace. */
  recordNamespace(
    action: 'namespace.purge' | 'namespace.quotas',
    account: string | undefined,
    pool: string,
    namespace: string,
    details: object,
  ): void {
    this.log.info({ audit: action, account: account ?? null, pool, namespace, ...details }, 'audit');
  }
}

function callOf({ method, routeOptions, ip, id }: FastifyRequest): object {
  return { method, route: routeOptions.url ?? null, remote: ip, request_id: id };
}

function cut(texts: Readonly<Record<string, string | undefined>>): object {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, text?.slice(0, SHOWN_CHARACTERS) ?? null]),
  );
}
