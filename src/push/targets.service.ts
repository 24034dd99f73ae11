import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { InputError } from '../contract/fields/problems.js';
import { notFound, QueueError } from '../domain/errors.js';
import { LOG, type Log } from '../domain/log.js';
import {
  queuesOf,
  type StoredTargets,
  type TargetChange,
  type TargetEvent,
} from '../engine/queues/targets.js';
import { Engines } from '../engine/engines.js';
import type { TargetCalls } from '../engine/engine.js';
import { newSecret } from './send/signature.js';
import { Seal } from './seal.js';
import {
  BREAKER,
  breakerName,
  breakersOf,
  type BreakerSettings,
  readTarget,
  storedText,
  type Target,
  type TargetSecrets,
  type TargetView,
} from '../engine/queues/stored-targets.js';

/** What a caller sets; what is left out keeps its value, or has its default. */
export interface TargetChanges {
  readonly config: Partial<
    Pick<
      Target,
      'url' | 'origins' | 'method' | 'timeoutMs' | 'body' | 'ack' | 'sign' | 'onStatus' | 'maxRetryAfterMs'
    >
  >;
  readonly headers?: TargetSecrets['headers'] | undefined;
  /** Null: no breaker. */
  readonly breaker?: Partial<BreakerSettings> | null | undefined;
  readonly secret?: string | undefined;
}

/** A target after a change. `secret`: made or given with this call; never shown again. */
export interface ChangedTarget {
  readonly view: TargetView;
  readonly secret: string | null;
}

type Actor = Pick<Caller, 'pool' | 'namespace' | 'tokenHint'>;

const DEFAULTS = {
  origins: [],
  method: 'POST',
  timeoutMs: 30_000,
  body: 'raw',
  ack: 'response',
  sign: 'standard',
  onStatus: {},
  maxRetryAfterMs: 3_600_000,
} as const satisfies TargetChanges['config'];

/** Push targets on behalf of a caller. */
@Injectable()
export class TargetsService {
  constructor(
    private readonly engines: Engines,
    private readonly seal: Seal,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** All targets of the namespace by name. @throws {QueueError} `pool_moving`, an error of the store */
  async list({ pool, namespace }: Caller): Promise<TargetView[]> {
    const store = this.store(pool);
    const stored = await store.read(namespace);
    const nowMs = store.now();
    return [...stored.targets.keys()].sort().map((name) => viewOf(stored, name, nowMs));
  }

  /** @throws {QueueError} `target_not_found`, `pool_moving` */
  async find({ pool, namespace }: Caller, name: string): Promise<TargetView> {
    const store = this.store(pool);
    return viewOf(await store.read(namespace), name, store.now());
  }

  /**
   * Stores a target; one of this name keeps its secret, unless another is given, and whether it is paused.
   *
   * @throws {QueueError} `invalid_argument`: there are too many; `pool_moving`
   */
  put(
    caller: Caller,
    name: string,
    { config, headers = {}, secret, breaker = {} }: TargetChanges,
  ): Promise<ChangedTarget> {
    return this.alter(caller, 'target.put', name, (known, secrets, nowMs) => {
      const first = secrets === null ? (secret ?? newSecret()) : secret;
      return {
        target: {
          ...(known ?? fresh(nowMs)),
          ...DEFAULTS,
          url: '',
          ...config,
          breakerSettings: checkedBreaker(breaker && { ...BREAKER, ...breaker }),
          ...(isOther(first, secrets) ? NO_OLD : {}),
        },
        secrets: { secret: first ?? secrets?.secret ?? '', oldSecret: oldOf(first, secrets), headers },
        shown: first ?? null,
      };
    });
  }

  /** Changes what is given. @throws {QueueError} `target_not_found`, `pool_moving`, `push_key_mismatch` */
  change(
    caller: Caller,
    name: string,
    { config, headers, secret, breaker = {} }: TargetChanges,
  ): Promise<ChangedTarget> {
    return this.alter(caller, 'target.update', name, (known, secrets) => {
      if (known === null || secrets === null) throw notFound('target', name);
      return {
        target: {
          ...known,
          ...config,
          breakerSettings: changedBreaker(known.breakerSettings, breaker),
          ...(isOther(secret, secrets) ? NO_OLD : {}),
        },
        secrets: {
          secret: secret ?? secrets.secret,
          oldSecret: oldOf(secret, secrets),
          headers: headers ?? secrets.headers,
        },
        shown: secret ?? null,
      };
    });
  }

  /**
   * Gives a target a new secret. Requests are signed with the old one too, for `keepOldMs`. With the secret that it has,
   * only that time begins again.
   *
   * @throws {QueueError} `target_not_found`, `pool_moving`, `push_key_mismatch`
   */
  rotate(
    caller: Caller,
    name: string,
    { keepOldMs, secret = newSecret() }: { readonly keepOldMs: number; readonly secret?: string | undefined },
  ): Promise<ChangedTarget> {
    return this.alter(caller, 'target.rotate', name, (known, secrets, nowMs) => {
      if (known === null || secrets === null) throw notFound('target', name);
      const { oldSecretUntilMs } = known;
      const before = oldSecretUntilMs !== null && oldSecretUntilMs > nowMs ? secrets.oldSecret : null;
      // The same call again, as its answer was lost: the secret before it is still the old one.
      const old = /* guard: repeated-rotation-keeps-the-old-secret */ isOther(secret, secrets)
        ? secrets.secret
        : before;
      const oldSecret = keepOldMs > 0 ? old : null;
      return {
        target: { ...known, oldSecretUntilMs: oldSecret === null ? null : nowMs + keepOldMs },
        secrets: { ...secrets, secret, oldSecret },
        shown: secret,
      };
    });
  }

  /** No job is leased for a paused target. @throws {QueueError} `target_not_found`, `pool_moving` */
  async pause(caller: Caller, name: string): Promise<TargetView> {
    return this.setPause(caller, name, 'operator');
  }

  /** Ends a pause, and closes the breakers. @throws {QueueError} `target_not_found`, `pool_moving` */
  async resume(caller: Caller, name: string): Promise<TargetView> {
    return this.setPause(caller, name, null);
  }

  /** @throws {QueueError} `target_not_found`; `target_in_use`: a queue is pushed to it; `pool_moving` */
  async remove(caller: Caller, name: string): Promise<void> {
    const { pool, namespace } = caller;
    await this.store(pool).change(namespace, name, (text) => {
      if (text === null) throw notFound('target', name);
      const { target } = readTarget(text);
      return {
        value: null,
        event: eventOf('target_deleted', name),
        closes: closesOf(name, originsOf(target)),
      };
    });
    this.audit('target.delete', caller, name);
  }

  /**
   * What is needed to send to a target; `nowMs`: the time of Redis. @throws {QueueError} `target_not_found`,
   * `pool_moving`, `push_key_mismatch`
   */
  async open(
    { pool, namespace }: Caller,
    name: string,
  ): Promise<{ readonly target: Target; readonly secrets: TargetSecrets; readonly nowMs: number }> {
    const store = this.store(pool);
    const text = (await store.read(namespace)).targets.get(name);
    if (text === undefined) throw notFound('target', name);
    const { target, sealed } = readTarget(text);
    return { target, secrets: this.opened(sealed, namespace, name), nowMs: store.now() };
  }

  private async setPause(caller: Caller, name: string, reason: 'operator' | null): Promise<TargetView> {
    const { pool, namespace } = caller;
    const store = this.store(pool);
    await store.change(namespace, name, (text) => {
      if (text === null) throw notFound('target', name);
      return pauseOf(name, text, reason, store.now());
    });
    this.audit(reason === null ? 'target.resume' : 'target.pause', caller, name);
    return this.find(caller, name);
  }

  private async alter(
    caller: Caller,
    action: string,
    name: string,
    change: (
      known: Target | null,
      secrets: TargetSecrets | null,
      nowMs: number,
    ) => {
      readonly target: Omit<Target, 'headerNames' | 'updatedAtMs'>;
      readonly secrets: TargetSecrets;
      readonly shown: string | null;
    },
  ): Promise<ChangedTarget> {
    const { pool, namespace } = caller;
    const store = this.store(pool);
    let secret: string | null = null;
    await store.change(namespace, name, (text) => {
      const known = text === null ? null : readTarget(text);
      const nowMs = store.now();
      const { target, secrets, shown } = change(
        known && known.target,
        known && this.opened(known.sealed, namespace, name),
        nowMs,
      );
      secret = shown;
      const headerNames = Object.keys(secrets.headers).sort();
      const sealed = this.seal.close(secrets, placeOf(namespace, name));
      const value = storedText({ target: { ...target, headerNames, updatedAtMs: nowMs }, sealed });
      const closes = known === null ? [] : closedOrigins(known.target, target);
      return { value, event: eventOf('target_changed', name), closes: closesOf(name, closes) };
    });
    this.audit(action, caller, name);
    return { view: await this.find(caller, name), secret };
  }

  /** Writes a line as the admin port does for tokens. */
  audit(action: string, { pool, namespace, tokenHint }: Actor, target: string): void {
    this.log.info({ audit: action, pool, namespace, token_hint: tokenHint, target }, 'audit');
  }

  private opened(sealed: string, namespace: string, name: string): TargetSecrets {
    const secrets = this.seal.open(sealed, placeOf(namespace, name));
    if (secrets === null) {
      throw new QueueError(
        /* guard: other-key-file-is-named */ 'push_key_mismatch',
        `the secrets of target ${name} were encrypted with another push.key_file: give all servers the same`,
      );
    }
    return secrets;
  }

  /** @throws {QueueError} `pool_moving` */
  private store(pool: string): TargetCalls {
    return this.engines.of(pool).targets;
  }
}

/** @throws {QueueError} `invalid_argument` */
function checkedBreaker(settings: BreakerSettings | null): BreakerSettings | null {
  if (settings !== null && settings.maxOpenMs < settings.openMs)
    throw new InputError([{ field: 'breaker.max_open_ms', rule: 'must not be less than breaker.open_ms' }]);
  return settings;
}

/** @param change what it leaves out stays, or is the default if there was no breaker; null = none */
function changedBreaker(
  known: BreakerSettings | null,
  change: Partial<BreakerSettings> | null,
): BreakerSettings | null {
  if (change !== null && Object.keys(change).length === 0) return known;
  return checkedBreaker(change && { ...(known ?? BREAKER), ...change });
}

const NO_OLD = { oldSecretUntilMs: null } as const;

function fresh(
  createdAtMs: number,
): Pick<Target, 'oldSecretUntilMs' | 'pausedAtMs' | 'pauseReason' | 'createdAtMs'> {
  return { ...NO_OLD, pausedAtMs: null, pauseReason: null, createdAtMs };
}

/** True if a secret is given that the target does not have: with it, the old one ends. */
function isOther(given: string | undefined, secrets: TargetSecrets | null): boolean {
  return given !== undefined && /* guard: same-secret-is-no-other */ given !== secrets?.secret;
}

function oldOf(given: string | undefined, secrets: TargetSecrets | null): string | null {
  return isOther(given, secrets) ? null : (secrets?.oldSecret ?? null);
}

/**
 * Pauses a stored target for a reason; null ends its pause, and closes its breakers.
 *
 * @returns null if nothing is to change
 */
export function pauseOf(
  name: string,
  text: string,
  reason: Target['pauseReason'],
  nowMs: number,
): TargetChange | null {
  const { target, sealed } = readTarget(text);
  const closes = closesOf(name, reason === null ? originsOf(target) : []);
  if (target.pauseReason === reason) return reason === null ? { value: text, closes } : null;
  const pausedAtMs = reason === null ? null : (target.pausedAtMs ?? nowMs);
  const value = storedText({ target: { ...target, pausedAtMs, pauseReason: reason }, sealed });
  const event =
    reason === null ? eventOf('target_resumed', name) : eventOf('target_paused', name, { reason });
  return { value, event, closes };
}

/** What has a breaker: the target's own URL, '', and the origins of its jobs. */
function originsOf({ origins }: Pick<Target, 'origins'>): string[] {
  return ['', ...origins];
}

/** Whose breakers a change of a target closes: they say nothing of another URL. */
function closedOrigins(before: Target, after: Pick<Target, 'url' | 'origins' | 'breakerSettings'>): string[] {
  // guard: breaker-that-ends-closes
  if (after.breakerSettings === null) return originsOf(before);
  return originsOf(before).filter((origin) =>
    origin === ''
      ? /* guard: url-change-closes-breaker */ after.url !== before.url
      : !after.origins.includes(origin),
  );
}

function closesOf(name: string, origins: readonly string[]): NonNullable<TargetChange['closes']> {
  return new Map(
    origins.map((origin) => [
      breakerName(name, origin),
      { target: name, ...(origin === '' ? {} : { origin }) },
    ]),
  );
}

function eventOf(name: TargetEvent['name'], target: string, more: TargetEvent['facts'] = {}): TargetEvent {
  return { name, facts: { target, ...more } };
}

/** Binds what is sealed to its place. */
export function placeOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** @throws {QueueError} `target_not_found` */
function viewOf(stored: StoredTargets, name: string, readAtMs: number): TargetView {
  const text = stored.targets.get(name);
  if (text === undefined) throw notFound('target', name);
  const { target } = readTarget(text);
  return {
    ...target,
    name,
    queues: queuesOf(stored.queues, name),
    breakers: breakersOf(stored.breakers, name),
    readAtMs,
  };
}
