import type { FastifyRequest } from 'fastify';
import type { AuditEntry, AuditStore } from '../../auth/audit-store.js';
import { parseToken, tokenHint } from '../../auth/credentials.js';
import { READS } from '../../auth/roles.js';
import type { Log } from '../../domain/log.js';
import { AuditedCall, type CallFacts } from './audited-call.js';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const NAMESPACE = 'namespace';
const TOKEN = 'token';
const DEFAULT_POOL = 'default';

/** Records what accounts do on the admin port. */
export class AuditTrail {
  /** Set before the port listens. */
  private store!: Pick<AuditStore, 'begin' | 'complete'>;

  constructor(private readonly log: Log) {}

  /** Uses a store that is open by now. */
  useStore(store: Pick<AuditStore, 'begin' | 'complete'>): void {
    this.store = store;
  }

  /** True if a call may change something. */
  isActing(method: string, call: string): boolean {
    return !SAFE.has(method) && !READS.has(call);
  }

  /** Stores the entry of a call. Does not fail. */
  async begin(facts: CallFacts, fields: object = {}): Promise<AuditedCall> {
    const call = new AuditedCall(this.store, this.log, facts);
    call.recordRequest(fields);
    await call.begin();
    return call;
  }

  /** Stores the entry of a call that has been made. Does not fail. */
  async record(facts: CallFacts, status: number): Promise<void> {
    const call = await this.begin(facts);
    await call.end(status);
  }
}

/** What a request to the admin port says. @param fields those that its handler reads */
export function factsOf(
  request: FastifyRequest,
  action: string,
  account: string | null,
  fields: Readonly<Record<string, unknown>> = {},
): CallFacts {
  const { namespace = null, ...names } = (request.params ?? {}) as Record<string, string>;
  const pool = poolOf(names, fields);
  const isOfPool = namespace !== null;
  return {
    account,
    action,
    pool: isOfPool ? pool : null,
    namespace,
    target: targetOf(names),
    remote: request.ip,
  };
}

/** The pool that the prefix of a token names, also of one that is to be created; or that the call names. */
function poolOf(
  names: Readonly<Record<string, string>>,
  { pool, token: chosen }: Readonly<Record<string, unknown>>,
): string {
  const named = names[TOKEN] ?? (typeof chosen === 'string' && chosen.includes(':') ? chosen : undefined);
  // guard: audit-names-pool-of-token
  if (named !== undefined) return parseToken(named).pool;
  return typeof pool === 'string' && pool !== '' ? pool : DEFAULT_POOL;
}

/** The names in a path. A token is a secret. */
export function targetOf(names: Readonly<Record<string, string>>): AuditEntry['target'] {
  const shown = Object.entries(names).filter(([name]) => name !== NAMESPACE);
  return Object.fromEntries(
    shown.map(([name, text]) => [
      name,
      /* guard: audit-hides-tokens */ name === TOKEN ? tokenHint(parseToken(text).token) : text.slice(0, 255),
    ]),
  );
}
