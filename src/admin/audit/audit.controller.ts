import { Controller, Get, Query } from '@nestjs/common';
import { type AuditEntry, type AuditPage, AuditStore } from '../../auth/audit-store.js';
import { Actor } from '../../domain/actor.js';
import { QueueError } from '../../domain/errors.js';
import { momentOf } from '../../domain/moment.js';
import type { Fields } from '../forms.js';
import { CurrentActor } from '../parameters.js';

const [USUAL_LIMIT, MAX_LIMIT] = [50, 500];
const CURSOR = /^\d{1,16}$/;
const PARAMETERS: ReadonlySet<string> = new Set([
  ...['account', 'action', 'pool', 'namespace', 'from', 'limit', 'cursor'],
]);

/** The audit log of the admin port; lmstfy has none. */
@Controller('audit')
export class AuditController {
  constructor(private readonly store: AuditStore) {}

  /** The newest entries first. An account for some namespaces sees what was done in them. */
  @Get()
  async list(@CurrentActor() actor: Actor, @Query() query: Fields): Promise<AuditPage> {
    const { limit, cursor, from } = checked(query);
    const matches = matcherOf(query, actor);
    return this.store.list({ matches, before: cursor, fromMs: from, limit });
  }
}

/** True for the entries that the parameters name, and that the account may see. */
function matcherOf(
  { account, action, pool, namespace }: Fields,
  actor: Actor,
): (entry: AuditEntry) => boolean {
  return (entry) =>
    /* guard: audit-shows-own-namespaces */ (actor.namespaces === null ||
      (entry.namespace !== null && actor.allows(entry.namespace))) &&
    (account === undefined || entry.account === account) &&
    (action === undefined || entry.action.includes(action)) &&
    (pool === undefined || entry.pool === pool) &&
    (namespace === undefined || entry.namespace === namespace);
}

/** @throws {QueueError} `invalid_argument` */
function checked(query: Fields): {
  readonly limit: number;
  readonly cursor: string | null;
  readonly from: number;
} {
  const unknown = Object.keys(query).find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined) throw invalid(`unknown parameter ${unknown.slice(0, 40)}`);
  const { limit: sent = String(USUAL_LIMIT), cursor = null, from: since } = query;
  const limit = /^\d{1,4}$/.test(sent) ? Number(sent) : 0;
  if (limit < 1 || limit > MAX_LIMIT)
    throw invalid(`limit must be a whole number from 1 to ${String(MAX_LIMIT)}`);
  if (cursor !== null && !CURSOR.test(cursor)) throw invalid('cursor must be the `next` of an answer');
  const from = since === undefined ? 0 : momentOf(since);
  if (since !== undefined && !(from > 0)) throw invalid('from must be a time such as 2030-01-31T12:00:00Z');
  return { limit, cursor, from };
}

function invalid(message: string): QueueError {
  return new QueueError('invalid_argument', message);
}
