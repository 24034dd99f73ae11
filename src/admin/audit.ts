import { Inject, Injectable } from '@nestjs/common';
import { tokenHint } from '../auth/credentials.js';
import type { TokenId } from '../auth/token-store.js';
import { LOG, type Log } from '../domain/log.js';

/** What can be done to a token. */
export type AuditedAction = 'token.create' | 'token.delete' | 'token.rotate' | 'limit.set' | 'limit.delete';

/** One log line for each change of a token or limit, and for each purge: who, what, whose; of a token itself its first characters. */
@Injectable()
export class Audit {
  constructor(@Inject(LOG) private readonly log: Log) {}

  /** @param account who did it; undefined on a port without accounts */
  note(
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

  /** What was done to a whole namespace. */
  notePurge(account: string | undefined, pool: string, namespace: string, details: object): void {
    this.log.info(
      { audit: 'namespace.purge', account: account ?? null, pool, namespace, ...details },
      'audit',
    );
  }
}
