import type { PushConfig } from '../config/config.js';
import { pushUrlOf } from '../domain/push-url.js';
import { isoTime, isoTimeOrNull } from '../domain/iso-time.js';
import type { Plain } from '../http/fields/field.js';
import { given } from '../http/fields/given.js';
import { Problems } from '../http/fields/read.js';
import type { BreakerAnswer, BreakerFields, TargetAnswer, TargetChangeFields, TestAnswer } from './dto.v1.js';
import type { TestResult } from './push.service.js';
import { isSecret, SECRET_RULE } from './send/signature.js';
import {
  type BreakerSettings,
  type OpenBreaker,
  openUntilOf,
  type Target,
  type TargetView,
} from './target.js';
import type { ChangedTarget, TargetChanges } from './targets.service.js';

/** Headers that the server sets itself, or that change how a request is read. */
const OWN_HEADERS = new Set([
  ...['host', 'content-length', 'connection', 'transfer-encoding', 'keep-alive', 'upgrade', 'te', 'trailer'],
  ...['expect', 'proxy-authorization', 'proxy-connection', 'content-type', 'content-encoding', 'user-agent'],
  ...['idempotency-key', 'traceparent'],
]);
const OWN_PREFIX = /^(?:webhook-|pumphouse-)/;
/** Visible ASCII and spaces, as HTTP has it; no line breaks. */
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

/** Builds a change from a request. @throws {InputError} naming the fields that are wrong */
export function changesOf(
  fields: TargetChangeFields,
  config: PushConfig,
  canAckLater: boolean,
): TargetChanges {
  const problems = new Problems();
  const {
    url,
    origins,
    method,
    timeout_ms,
    body,
    ack,
    sign,
    on_status,
    max_retry_after_ms,
    breaker,
    headers,
    secret,
  } = fields;
  if (ack === 'later' && !canAckLater)
    problems.add('ack', 'can be later only with server.public_url and push.key_file');
  const changes: TargetChanges = {
    config: given<Partial<Target>>({
      url: url === undefined ? undefined : urlOf(url, config, problems),
      origins: origins && originsOf(origins, config, problems),
      method,
      timeoutMs: timeout_ms,
      body,
      ack,
      sign,
      onStatus: on_status,
      maxRetryAfterMs: max_retry_after_ms,
    }),
    headers: headers && headersOf(headers, problems),
    secret: checkedSecret(secret, problems),
    breaker: breaker && breakerOf(breaker),
  };
  problems.settle();
  return changes;
}

/** @throws {InputError} it is no secret */
export function secretOf(secret: string | undefined): string | undefined {
  const problems = new Problems();
  checkedSecret(secret, problems);
  problems.settle();
  return secret;
}

function checkedSecret(secret: string | undefined, problems: Problems): string | undefined {
  if (secret !== undefined && !isSecret(secret)) problems.add('secret', SECRET_RULE);
  return secret;
}

/** The URL in its normal form: a host in digits of any spelling becomes an address. */
function urlOf(text: string, { allow_http }: PushConfig, problems: Problems): string {
  const schemes = allow_http ? ['https:', 'http:'] : ['https:'];
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !schemes.includes(url.protocol)) {
    problems.add('url', `must be a URL that begins with ${schemes.map((one) => `${one}//`).join(' or ')}`);
    return text;
  }
  if (url.username !== '' || url.password !== '') problems.add('url', 'must not have a name or a password');
  if (url.hash !== '') problems.add('url', 'must not have a fragment');
  return url.href;
}

function originsOf(
  origins: readonly string[],
  { allow_http }: PushConfig,
  problems: Problems,
): readonly string[] {
  const isAllowed = (one: string): boolean =>
    one.startsWith(allow_http ? 'http' : 'https:') && pushUrlOf(one)?.origin === one;
  if (!origins.every(isAllowed))
    problems.add('origins', 'must be origins as https://api.example, in lower case, without a path');
  return origins;
}

function headersOf(headers: Readonly<Record<string, string>>, problems: Problems): Record<string, string> {
  const byName: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (OWN_HEADERS.has(lower) || OWN_PREFIX.test(lower)) problems.add('headers', `must not have ${lower}`);
    else if (Object.hasOwn(byName, lower)) problems.add('headers', `must not have ${lower} twice`);
    else if (!HEADER_VALUE.test(value)) problems.add('headers', `must have visible ASCII in ${lower}`);
    else byName[lower] = value;
  }
  return byName;
}

/** A target in the format of the API. */
export function targetAnswer(view: TargetView): Plain<TargetAnswer> {
  return {
    name: view.name,
    url: view.url,
    origins: view.origins,
    method: view.method,
    header_names: view.headerNames,
    timeout_ms: view.timeoutMs,
    body: view.body,
    ack: view.ack,
    sign: view.sign,
    on_status: view.onStatus,
    max_retry_after_ms: view.maxRetryAfterMs,
    queues: view.queues,
    breaker: targetBreakerAnswer(view),
    origin_breakers: [...view.breakers].flatMap(([origin, breaker]) =>
      origin === '' ? [] : [{ origin, ...breakerAnswer(breaker, view) }],
    ),
    paused_at: isoTimeOrNull(view.pausedAtMs),
    pause_reason: view.pauseReason,
    old_secret_until: isoTimeOrNull(view.oldSecretUntilMs),
    created_at: isoTime(view.createdAtMs),
    updated_at: isoTime(view.updatedAtMs),
  };
}

/** The same with the secret, if the call has made or set it. */
export function changedTargetAnswer({ view, secret }: ChangedTarget): Plain<TargetAnswer> {
  return { ...targetAnswer(view), ...(secret === null ? {} : { secret }) };
}

export function testAnswer({ answer, error, verdict, isSigned, tookMs }: TestResult): Plain<TestAnswer> {
  return {
    status: answer?.status ?? null,
    problem: error?.problem ?? null,
    message: error?.message ?? null,
    took_ms: tookMs,
    body: answer?.body.toString() ?? '',
    action: verdict.action,
    signed: isSigned,
  };
}

function breakerOf(fields: BreakerFields): Partial<BreakerSettings> {
  return given<Partial<BreakerSettings>>({
    failures: fields.failures,
    failurePercent: fields.failure_percent,
    minRequests: fields.min_requests,
    openMs: fields.open_ms,
    maxOpenMs: fields.max_open_ms,
  });
}

function targetBreakerAnswer(view: TargetView): Plain<TargetAnswer['breaker']> {
  const { breakers, breakerSettings } = view;
  if (breakerSettings === null) return { state: 'off', open_until: null, openings: 0, settings: null };
  const { failures, failurePercent, minRequests, openMs, maxOpenMs } = breakerSettings;
  const settings = {
    ...{ failures, failure_percent: failurePercent, min_requests: minRequests },
    ...{ open_ms: openMs, max_open_ms: maxOpenMs },
  };
  return { ...breakerAnswer(breakers.get('') ?? null, view), settings };
}

function breakerAnswer(
  breaker: OpenBreaker | null,
  { breakerSettings, readAtMs }: TargetView,
): Plain<BreakerAnswer> {
  if (breaker === null || breakerSettings === null) return { state: 'closed', open_until: null, openings: 0 };
  const openUntilMs = openUntilOf(breaker, breakerSettings, readAtMs);
  const state = openUntilMs > readAtMs ? 'open' : 'half_open';
  return { state, open_until: isoTime(openUntilMs), openings: breaker.openings };
}
