import { Injectable } from '@nestjs/common';
import { actorOfGroups, isOidcAccount, MAX_CHECK_AGE_MS } from '../auth/oidc-accounts.js';
import { OidcStore } from '../auth/oidc-store.js';
import { rightsOfAccount } from '../auth/roles.js';
import { TokenCache } from '../auth/token-cache.js';
import { Config } from '../config/config.js';
import { dataSearchesOf } from '../contract/fields/withheld.js';
import {
  type OperationDetails,
  type OperationFields,
  OperationFilterFields,
} from '../contract/operations.js';
import type { Caller } from '../domain/caller.js';
import { Actor, WITHOUT_ACCOUNT } from '../domain/actor.js';
import { notFound, QueueError } from '../domain/errors.js';
import {
  checkAllQueues,
  checkQueue,
  checkQueueOrAll,
  checkVerb,
  isForQueue,
  isForSomeQueues,
  type Verb,
} from '../domain/rights.js';
import type { OperationCalls } from '../engine/engine.js';
import { Engines } from '../engine/engines.js';
import type { GrantCheck } from '../engine/operations/operation-runner.js';
import { type FoundOperation, keyReused } from '../engine/operations/operations.js';
import { statesOf, verbsOf } from '../engine/operations/plan.js';
import type { Grant } from '../engine/operations/record.js';
import { checkMove, checkSearch } from '../http/sight.js';
import { operationOf } from './operations.v1.js';

/** Begins the id of a caller that is an account. */
const ACCOUNT = 'account:';

/** Operations on behalf of callers: with the rights of their tokens, which are checked again at each step. */
@Injectable()
export class OperationsService {
  constructor(
    private readonly engines: Engines,
    private readonly tokens: TokenCache,
    private readonly config: Config,
    private readonly oidc: OidcStore,
  ) {
    for (const engine of engines.all()) engine.useGrants((...grant) => this.check(...grant));
  }

  /** @throws {QueueError} `verb_missing`, `queue_not_allowed`, `pool_moving`, or as `Operations.start` */
  async start(
    caller: Caller,
    fields: OperationFields,
    idempotencyKey: string | undefined,
  ): Promise<FoundOperation & { readonly isReplayed: boolean }> {
    const operation = operationOf(fields, this.config.limits.max_body_bytes);
    const { action, filter, to, cascade } = operation;
    const verbs = verbsOf(action, statesOf(action, filter));
    // guard: operation-needs-the-verbs-of-its-action
    for (const verb of verbs) checkVerb(caller.rights, verb);
    if (filter.queue !== undefined) checkQueue(caller.rights, filter.queue);
    // guard: operation-checks-target-queue
    if (to !== undefined) checkQueue(caller.rights, to);
    // guard: operation-cascade-needs-all-queues
    if (cascade === true) checkAllQueues(caller.rights);
    if (dataSearchesOf(OperationFilterFields, fields.filter).length > 0)
      await checkSearch(caller, this.engines, filter.queue);
    if (to !== undefined) await checkMove(caller, this.engines, filter.queue, to);
    const grant = grantOf(caller, verbs);
    const started = await this.of(caller).start(caller.namespace, {
      ...operation,
      grant,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    if (!isVisible(caller, started)) throw keyReused();
    return started;
  }

  /** @throws {QueueError} `operation_not_found`: also if the caller may not see it */
  async find(caller: Caller, id: string): Promise<OperationDetails> {
    const found = await this.of(caller).find(caller.namespace, id);
    if (found === null || !isVisible(caller, found)) throw notFound('operation', id);
    return found.details;
  }

  /** All that the caller may see, newest first. */
  async list(caller: Caller): Promise<OperationDetails[]> {
    const all = await this.of(caller).list(caller.namespace);
    return all.filter((one) => isVisible(caller, one)).map(({ details }) => details);
  }

  /** @throws as `find` */
  async stop(caller: Caller, id: string): Promise<OperationDetails> {
    await this.find(caller, id);
    return (await this.of(caller).stop(caller.namespace, id)).details;
  }

  /**
   * A token for some queues undoes what it has started itself, with the rights that it had, and operations on one of its
   * queues.
   *
   * @throws {QueueError} as `Operations.undo`, or `queue_not_allowed`
   */
  async undo(caller: Caller, id: string): Promise<OperationDetails> {
    const found = await this.of(caller).find(caller.namespace, id);
    if (found === null || !isVisible(caller, found)) throw notFound('operation', id);
    const { action, filter } = found.details;
    const verbs = verbsOf(action, filter.state ?? []);
    for (const verb of verbs) checkVerb(caller.rights, verb);
    const patterns = caller.rights?.queues ?? null;
    // guard: undo-within-queues
    if (patterns?.join() !== found.grant?.patterns?.join()) checkQueueOrAll(caller.rights, filter.queue);
    return (await this.of(caller).undo(caller.namespace, id, grantOf(caller, verbs))).details;
  }

  /** The role of an account is that of the configuration of this server. */
  private async checkAccount(namespace: string, name: string, verbs: readonly string[]): Promise<GrantCheck> {
    const { admin } = this.config;
    const actor = isOidcAccount(name) ? await this.oidcActor(name) : actorOf(admin, name);
    const stopped = { reason: 'rights_changed', lacksPush: true };
    if (actor === undefined) return stopped;
    try {
      const rights = rightsOfAccount(actor, 'POST /v1/:namespace/operations', namespace);
      const mayGoOn = verbs.every((verb) => rights?.verbs.some((one) => one === verb) ?? true);
      return mayGoOn
        ? { reason: null, lacksPush: rights !== null && !rights.verbs.includes('push') }
        : stopped;
    } catch (error) {
      if (error instanceof QueueError) return stopped;
      throw error;
    }
  }

  /** An account of OpenID Connect, by the groups that the last check of its sessions has found. */
  private async oidcActor(name: string): Promise<Actor | undefined> {
    const checked = await this.oidc.ofAccount(name);
    if (checked === null) return undefined;
    const ageMs = /* guard: check-age-by-a-clock-set-back */ Math.abs(checked.ageMs);
    // guard: operation-ends-with-its-oidc-account
    if (ageMs > MAX_CHECK_AGE_MS) return undefined;
    return actorOfGroups(name, this.config.admin.oidc, checked.found.groups);
  }

  private of({ pool }: Caller): OperationCalls {
    return this.engines.of(pool).operations;
  }

  /** Whether the token, or the account, that started an operation may still do what it does. */
  private async check(namespace: string, grant: Grant): Promise<GrantCheck> {
    const { by, verbs, patterns } = grant;
    if (by.startsWith(ACCOUNT)) return this.checkAccount(namespace, by.slice(ACCOUNT.length), verbs);
    const known = await this.tokens.get(by);
    // guard: operation-ends-with-its-token
    if (known === null) return { reason: 'token_revoked', lacksPush: true };
    const { rights } = known.record;
    if (rights === null) return { reason: null, lacksPush: false };
    const isSame =
      verbs.every((verb) => rights.verbs.some((one) => one === verb)) &&
      (rights.queues === null || rights.queues.join() === patterns?.join());
    return {
      reason: /* guard: operation-ends-with-its-rights */ isSame ? null : 'rights_changed',
      lacksPush: !rights.verbs.includes('push'),
    };
  }
}

/** Who acts, with the permissions that it needs for that. */
function grantOf({ tokenId: by, tokenHint, actor, rights }: Caller, verbs: readonly Verb[]): Grant {
  const hint = actor?.account ?? tokenHint;
  return { by, hint, verbs: verbs.toSorted(), patterns: rights?.queues ?? null };
}

/** An account by its name; undefined if the configuration has none. '': the server has no accounts. */
function actorOf({ accounts, oidc }: Config['admin'], name: string): Actor | undefined {
  const account = accounts[name];
  const isOpen = Object.keys(accounts).length === 0 && oidc.issuer === undefined;
  if (name === '') return isOpen ? WITHOUT_ACCOUNT : undefined;
  if (account === undefined) return undefined;
  if (typeof account === 'string') return new Actor(name, 'admin', null);
  return account.role === '' ? undefined : new Actor(name, account.role, account.namespaces ?? null);
}

/** A token for some queues sees what it started itself, and operations on one of its queues. */
function isVisible({ rights, tokenId }: Caller, { details, grant }: FoundOperation): boolean {
  const { queue } = details.filter;
  return (
    !isForSomeQueues(rights) ||
    grant?.by === tokenId ||
    (queue !== undefined && /* guard: operation-hides-other-queues */ isForQueue(rights, queue))
  );
}
