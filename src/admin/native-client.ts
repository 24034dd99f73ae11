import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../domain/actor.js';
import type { AccountCall, AccountClient } from '../http/request/account-client.js';
import { type AuditTrail, targetOf } from './audit/audit-trail.js';
import type { AuditedCall } from './audit/audited-call.js';
import type { Sessions } from './sessions/sessions.js';

/** Dependencies of a client. */
export interface NativeClientParts {
  readonly actor: Actor;
  readonly trail: AuditTrail;
  readonly sessions: Pick<Sessions, 'find'>;
}

/** An account that makes a call of the native API by a request to the admin port. */
export class NativeClient implements AccountClient {
  readonly actor: Actor;
  private audited: AuditedCall | undefined;

  constructor(
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
    private readonly parts: NativeClientParts,
  ) {
    this.actor = parts.actor;
  }

  async isSignedIn(): Promise<boolean> {
    const { sessionEndsMs, headers } = this.request;
    if (sessionEndsMs === undefined) return true;
    const session = await this.parts.sessions.find(headers.cookie);
    // guard: stream-ends-with-its-role
    return session !== null && session.actor.isLike(this.actor);
  }

  admitted({ action, pool, namespace, names }: AccountCall): Promise<void> | undefined {
    const { actor, trail } = this.parts;
    if (!trail.isActing(this.request.method, action)) return undefined;
    const target = targetOf(names);
    const facts = { account: actor.account, action, pool, namespace, target, remote: this.request.ip };
    return trail.begin(facts).then((call) => {
      this.audited = call;
      endWith(call, this.reply);
    });
  }

  recordRequest(fields: object): void {
    this.audited?.recordRequest(fields);
  }

  recordAnswer(result: unknown): void {
    this.audited?.recordAnswer(result);
  }
}

/** Completes an entry when the answer was sent, or the connection is closed. */
export function endWith(call: AuditedCall, { raw }: FastifyReply): void {
  raw.once('close', () => void call.end(raw.headersSent ? raw.statusCode : null));
}
