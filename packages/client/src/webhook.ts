/** Headers of a request, by name in any case; of Node.js, of `fetch`, or of a framework. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far `webhook-timestamp` may be from now, in seconds; 300. */
  readonly toleranceS?: number | undefined;
  /** The time now, Unix ms; for tests. */
  readonly nowMs?: number | undefined;
}

/** Why a webhook is not to be trusted. Answer it with 401. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

const TOLERANCE_S = 300;
const SCHEME = 'v1,';
const PREFIX = 'whsec_';
/** Signatures that are compared; a sender has one or two. */
const MOST_SIGNATURES = 10;

/**
 * Verifies a request that Pumphouse pushed, or any other by Standard Webhooks (`v1`).
 *
 * @param secret `whsec_…` of the target; several while it is rotated
 * @param body the bytes as they came: not parsed and written again
 * @returns the id of the job: the same for each attempt, so that a job that came before can be recognized
 * @throws {WebhookError} it was not signed with one of the secrets, or it is too old
 */
export async function verify(
  secret: string | readonly string[],
  headers: WebhookHeaders,
  body: Uint8Array | string,
  { toleranceS = TOLERANCE_S, nowMs = Date.now() }: VerifyOptions = {},
): Promise<string> {
  const [id, timestamp, given] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  );
  if (!id || !timestamp || !given) throw new WebhookError('a webhook header is missing');
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError('webhook-timestamp is no time');
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > toleranceS) {
    throw new WebhookError('webhook-timestamp is too far from now');
  }
  const content = signedContent(`${id}.${timestamp}.`, body);
  const signatures = given
    .split(' ')
    .filter((one) => one.startsWith(SCHEME))
    .slice(0, MOST_SIGNATURES)
    .map((one) => bytesOf(one.slice(SCHEME.length)));
  for (const one of typeof secret === 'string' ? [secret] : secret) {
    const expected = await hmac(one, content);
    // Every signature is compared, whether or not an earlier one was right.
    if (signatures.filter((signature) => isEqual(signature, expected)).length > 0) return id;
  }
  throw new WebhookError('no webhook-signature is right');
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() !== name) continue;
    if (typeof value === 'string') return value;
    if (Array.isArray(value)) return value[0] as string | undefined;
  }
  return undefined;
}

function signedContent(head: string, body: Uint8Array | string): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const [first, rest] = [encoder.encode(head), typeof body === 'string' ? encoder.encode(body) : body];
  const content = new Uint8Array(first.length + rest.length);
  content.set(first);
  content.set(rest, first.length);
  return content;
}

async function hmac(secret: string, content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const bytes = bytesOf(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (bytes.length === 0) throw new WebhookError('the secret is no base64');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, content));
}

/** Base64; empty if it is none. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/** Takes the same time wherever the two differ. */
function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length;
  for (let i = 0; i < other.length; i++) difference |= (one[i] ?? 0) ^ (other[i] ?? 0);
  return difference === 0;
}
