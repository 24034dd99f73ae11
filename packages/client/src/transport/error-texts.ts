import { fieldsIn } from '../errors.js';
import type { TransportError } from './transport.js';

/** What errors say of a call. */
export interface CallPlace {
  /** The URL of the client, without its user and password. */
  readonly server: string;
  readonly method: string;
  /** From the slash on, without the query. */
  readonly path: string;
}

/** Fields of a refusal that its message lists; `fields` of the error has all of them. */
const MAX_FIELDS = 5;
/** Causes of causes that are looked at. */
const MAX_CAUSES = 5;
const ADMIN_HINT = 'the API of Pumphouse has port 7777 by default, and 7778 is its admin port';
const UNKNOWN_CA = 'give the CA of its certificate as tls.ca';

/** What an error code of Node.js means, and what to do; `%` stands for the server. */
const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server accepts connections at %: is it running, and is the url right?',
  ENOTFOUND: 'the host name in % is unknown: is the url right?',
  EAI_AGAIN: 'the host name in % cannot be resolved now: is the url right, and does DNS work here?',
  EHOSTUNREACH: '% cannot be reached: is the url right, and the network up?',
  ENETUNREACH: '% cannot be reached: is the url right, and the network up?',
  DEPTH_ZERO_SELF_SIGNED_CERT: `the certificate of % is not trusted: ${UNKNOWN_CA}`,
  SELF_SIGNED_CERT_IN_CHAIN: `the certificate of % is not trusted: ${UNKNOWN_CA}`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `the certificate of % is not trusted: ${UNKNOWN_CA}`,
  UNABLE_TO_GET_ISSUER_CERT: `the certificate of % is not trusted: ${UNKNOWN_CA}`,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: `the certificate of % is not trusted: ${UNKNOWN_CA}`,
  CERT_HAS_EXPIRED: 'the certificate of % has expired: renew it on the server',
  CERT_NOT_YET_VALID: 'the certificate of % is not valid yet: is the clock of this machine right?',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of % is for other host names: use one of them in the url',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    '% requires a client certificate: give it as tls.cert, with tls.key',
};
const NO_TLS = '% does not answer with TLS: is it a port for http://?';
const NO_HTTP = '% does not answer with HTTP: is it the port of another program?';
const WANTS_TLS = 'the connection to % ended without an answer: if it is a port with TLS, use https://';
const ENDED = 'the connection to % ended without an answer';
/** A browser does not say why. */
const FAILED = 'the request to % failed: is the url right, and can it be reached?';

/** One line for a request that got no answer: what happened, where, and what to do. */
export function noAnswerText(error: TransportError, { server, method, path }: CallPlace): string {
  if (error.kind === 'too_large') return error.message;
  const call = `${method} ${path}`;
  if (error.kind === 'timeout') {
    const todo = 'is the server overloaded, or its network? retry.attemptMs allows more time';
    return `${error.message} from ${server} (${call}): ${todo}`;
  }
  const causes = causesOf(error);
  const code = causes
    .map((cause) => (cause as { code?: unknown }).code)
    .find((one) => typeof one === 'string');
  const ended = server.startsWith('https:') ? ENDED : WANTS_TLS;
  const text = code === undefined ? FAILED : (meaningOf(code) ?? ended);
  return `${text.replace('%', () => server)} (${code ?? causes.at(-1)?.message ?? ''}; ${call})`;
}

function meaningOf(code: string): string | undefined {
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return BY_CODE[code] ?? NO_TLS;
  return code.startsWith('HPE_') ? NO_HTTP : BY_CODE[code];
}

/** An error, and what has caused it: `fetch` wraps the error of the connection. */
function causesOf(error: Error): Error[] {
  const causes: Error[] = [];
  for (let cause: unknown = error; causes.length < MAX_CAUSES && cause instanceof Error; { cause } = cause)
    causes.push(cause);
  return causes;
}

/** What the API says of a refusal: `detail` is shown if `errors` names no fields. */
interface ApiRefusal {
  readonly code: string;
  readonly detail: string;
  readonly errors: unknown;
}

/** One line for a refusal of the API: what is wrong, in which call, and what to do where the API cannot know it. */
export function refusalText(
  { code, detail, errors }: ApiRefusal,
  status: number,
  { method, path }: CallPlace,
): string {
  const fields = fieldsIn(errors);
  const shown = fields.slice(0, MAX_FIELDS).map(({ field, rule }) => `${field}: ${rule}`);
  if (fields.length > MAX_FIELDS) shown.push(`and ${String(fields.length - MAX_FIELDS)} more fields`);
  const text = `${shown.length > 0 ? shown.join('; ') : detail} (${method} ${path}: ${String(status)})`;
  const todo = remedyOf(code, path);
  return todo === undefined ? text : `${text}. ${todo}`;
}

function remedyOf(code: string, path: string): string | undefined {
  if (code === 'token_invalid')
    return `Make one: pumphouse token create ${/\/v1\/([^/]+)/.exec(path)?.[1] ?? 'NAMESPACE'} -d 'what it is for'`;
  if (code === 'token_missing') return 'A proxy may have removed the header X-Token';
  return code === 'not_found' && path.startsWith('/v1/v1/')
    ? 'The URL of the client ends before /v1'
    : undefined;
}

/** One line for an answer that no server of Pumphouse gives: a proxy, another program, or the admin port. */
export function strangeAnswerText(status: number, location: string | null, place: CallPlace): string {
  const { server, method, path } = place;
  return `${server} answers ${String(status)} to ${method} ${path}, and not as the API of Pumphouse: ${todoFor(status, location, server)}`;
}

function todoFor(status: number, location: string | null, server: string): string {
  if (status < 300) return `is the url right? ${ADMIN_HINT}`;
  if (status < 400) {
    const to = location === null ? 'elsewhere' : `to ${location.replace(/[?#].*/s, '')}`;
    return `it redirects ${to}, which the client does not follow: use the final url`;
  }
  if (status === 404 || status === 405) return `is the url right? ${ADMIN_HINT}`;
  if (status === 400 && server.startsWith('http:'))
    return 'is the url right, and does the port want https://?';
  if (status === 401 || status === 403 || status === 407) return 'a proxy in between refuses the call';
  if (status === 413) return 'a proxy in between takes no body of this size';
  if (status >= 500) return 'a proxy in between does not reach the server: is it running?';
  return 'is the url right?';
}
