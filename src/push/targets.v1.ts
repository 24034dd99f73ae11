import { isPortIn } from '../config/addresses.js';
import type { PushConfig } from '../config/config.js';
import { pushUrlOf } from '../domain/push-url.js';
import { omit } from '../contract/fields/derived.js';
import { Problems } from '../contract/fields/problems.js';
import { type Inside, toInside } from '../contract/fields/wire.js';
import { BreakerFields, SECRET_RULE, TargetChangeFields } from '../contract/targets.js';
import type { BreakerAnswer, TargetAnswer, TestAnswer } from './dto.v1.js';
import type { TestResult } from './push.service.js';
import { isSecret } from './send/signature.js';
import { type OpenBreaker, openUntilOf, type TargetView } from '../engine/queues/stored-targets.js';
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

/** Fields of a target that are stored as they are, with its URLs. */
const StoredFields = omit(TargetChangeFields, ['breaker', 'headers', 'secret']);

/** Builds a change from a request. @throws {InputError} naming the fields that are wrong */
export function changesOf(
  fields: TargetChangeFields,
  config: PushConfig,
  canAckLater: boolean,
): TargetChanges {
  const problems = new Problems();
  const { url, origins, breaker, headers, secret } = fields;
  if (fields.ack === 'later' && !canAckLater)
    problems.add('ack', 'can be later only with server.public_url and push.key_file');
  const changes: TargetChanges = {
    config: {
      ...toInside(StoredFields, fields),
      ...(url === undefined ? {} : { url: urlOf(url, config, problems) }),
      ...(origins && { origins: originsOf(origins, config, problems) }),
    },
    headers: headers && headersOf(headers, problems),
    secret: checkedSecret(secret, problems),
    breaker: breaker && toInside(BreakerFields, breaker),
  };
  problems.settle();
  return changes;
}

/** @throws {InputError} it is no secret */
export function checkSecret(secret: string | undefined): void {
  const problems = new Problems();
  checkedSecret(secret, problems);
  problems.settle();
}

function checkedSecret(secret: string | undefined, problems: Problems): string | undefined {
  if (secret !== undefined && !isSecret(secret)) problems.add('secret', SECRET_RULE);
  return secret;
}

/** The URL in its normal form: a host in digits of any spelling becomes an address. */
function urlOf(text: string, config: PushConfig, problems: Problems): string {
  const { allow_http } = config;
  const schemes = allow_http ? ['https:', 'http:'] : ['https:'];
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !schemes.includes(url.protocol)) {
    const rule = `must be a URL that begins with ${schemes.map((one) => `${one}//`).join(' or ')}`;
    problems.add('url', allow_http ? rule : `${rule}; http:// needs push.allow_http of the server`);
    return text;
  }
  if (!hasAllowedPort(url, config)) problems.add('url', portRule(config));
  if (url.username !== '' || url.password !== '') problems.add('url', 'must not have a name or a password');
  if (url.hash !== '') problems.add('url', 'must not have a fragment');
  return url.href;
}

/** A server that does not push may have other ports than those that do. */
function hasAllowedPort({ port, protocol }: URL, { enabled, ports }: PushConfig): boolean {
  const usual = protocol === 'https:' ? 443 : 80;
  return !enabled || /* guard: target-port-is-allowed */ isPortIn(ports, port === '' ? usual : Number(port));
}

function portRule({ ports }: PushConfig): string {
  return `must have a port of push.ports of the server: ${ports.join(', ')}`;
}

function originsOf(origins: readonly string[], config: PushConfig, problems: Problems): readonly string[] {
  const { allow_http } = config;
  const isAllowed = (one: string): boolean =>
    one.startsWith(allow_http ? 'http' : 'https:') && pushUrlOf(one)?.origin === one;
  if (!origins.every(isAllowed))
    problems.add('origins', 'must be origins as https://api.example, in lower case, without a path');
  else if (!origins.every((one) => hasAllowedPort(new URL(one), config)))
    problems.add('origins', portRule(config));
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

/** A target as answers have it. */
export function targetFacts(view: TargetView): Inside<TargetAnswer> {
  return {
    ...view,
    breaker: {
      ...stateOf(view.breakers.get('') ?? null, view),
      ...(view.breakerSettings === null ? { state: 'off' } : {}),
      settings: view.breakerSettings,
    },
    originBreakers: [...view.breakers].flatMap(([origin, breaker]) =>
      origin === '' ? [] : [{ origin, ...stateOf(breaker, view) }],
    ),
  };
}

/** The same with the secret, if the call has made or set it. */
export function changedTargetFacts({ view, secret }: ChangedTarget): Inside<TargetAnswer> {
  return { ...targetFacts(view), ...(secret === null ? {} : { secret }) };
}

export function testFacts({ answer, error, verdict, isSigned, tookMs }: TestResult): Inside<TestAnswer> {
  return {
    ...{ status: answer?.status ?? null, problem: error?.problem ?? null, message: error?.message ?? null },
    ...{ tookMs, body: answer?.body.toString() ?? '', action: verdict.action, signed: isSigned },
  };
}

function stateOf(
  breaker: OpenBreaker | null,
  { breakerSettings, readAtMs }: TargetView,
): Inside<BreakerAnswer> {
  if (breaker === null || breakerSettings === null)
    return { state: 'closed', openUntilMs: null, openings: 0 };
  const openUntilMs = openUntilOf(breaker, breakerSettings, readAtMs);
  const state = openUntilMs > readAtMs ? 'open' : 'half_open';
  return { state, openUntilMs, openings: breaker.openings };
}
