import type { Schema } from '../contract/fields/field.js';
import { QUOTA_NAMES } from '../domain/job/quotas.js';

/**
 * The calls of the admin port whose form is lmstfy's, or is text: they have no `Describe`, as their handlers write their
 * answers themselves. A test compares this list with the routes of the server, and each answer with its schema.
 */

/** A call in the document of the admin port. */
export interface AdminCall {
  /** Its name, in camelCase, unique. */
  readonly id: string;
  readonly about: string;
  readonly group: string;
  /** Parameters of the query by name; a trailing `*` marks those that are required. */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Schema;
  /** Answers by status: what it is, its schema, and its type if it is not JSON. No schema: no body. */
  readonly answers: Readonly<Record<number, AdminAnswer>>;
  /** True if it needs no account. */
  readonly isOpen?: true;
}

export interface AdminAnswer {
  readonly about: string;
  readonly schema?: Schema;
  readonly type?: string;
}

const TEXT: Schema = { type: 'string' };
const TEXTS: Schema = { type: 'array', items: TEXT };
const NUMBER: Schema = { type: 'number' };
const FLAG: Schema = { type: 'boolean' };
const WHOLE: Schema = { type: 'integer', minimum: 0 };
const TIME: Schema = { type: 'string', format: 'date-time' };

const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });
const mapOf = (schema: Schema): Schema => ({ type: 'object', additionalProperties: schema });
const listOf = (items: Schema): Schema => ({ type: 'array', items });
/** An object with these fields, all of them required but those that are named as optional. */
const object = (properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
});

const POOL = { pool: 'The pool; `default` if it is left out.' };
const LIMIT = object({ interval: WHOLE, read: WHOLE, write: WHOLE });
const LIMITER = object({ limiter: LIMIT });
const NEW_TOKEN = object({ token: TEXT });
const TOKEN_FACTS = {
  description: TEXT,
  verbs: TEXTS,
  queues: TEXTS,
  made_at: TIME,
  expires_at: nullable(TIME),
  last_used_at: nullable(TIME),
  replaced: FLAG,
  limit: nullable(LIMIT),
};
const QUOTAS = object({
  pool: TEXT,
  namespace: TEXT,
  quotas: object(
    Object.fromEntries(QUOTA_NAMES.map((name) => [name, object({ value: WHOLE, default: WHOLE })])),
  ),
});
const PURGED = object(
  {
    ...{ namespace: TEXT, pool: TEXT, dry_run: FLAG, done: FLAG, in_use: FLAG },
    removed: object({ jobs: WHOLE, queues: WHOLE, keys: WHOLE }),
    ...{ queues: WHOLE, jobs: mapOf(WHOLE) },
  },
  ['done', 'in_use', 'removed', 'queues', 'jobs'],
);
const LOOP = object({
  ...{ pid: WHOLE, pool: TEXT, name: TEXT, last_run_at: nullable(TIME), duration_ms: nullable(NUMBER) },
  ...{ moved: nullable(WHOLE), lag_ms: nullable(NUMBER), next_run_at: nullable(TIME) },
  ...{ last_error: nullable(TEXT), last_error_at: nullable(TIME) },
});
const FORMAT = object({ pool: TEXT, format: WHOLE });
const REDIS = object(
  {
    ...{ pool: TEXT, up: FLAG, degraded: TEXTS, error: nullable(TEXT), refusal: TEXT },
    facts: nullable(
      object({
        ...{ version: nullable(TEXT), mode: nullable(TEXT), role: nullable(TEXT) },
        ...{ used_memory: nullable(WHOLE), maxmemory: nullable(WHOLE), maxmemory_policy: nullable(TEXT) },
        ...{ aof_enabled: FLAG, aof_last_write_status: nullable(TEXT) },
        ...{ aof_last_bgrewrite_status: nullable(TEXT), connected_clients: nullable(WHOLE) },
        ...{ maxclients: nullable(WHOLE), connected_slaves: nullable(WHOLE), appendfsync: nullable(TEXT) },
        ...{ latency_ms: NUMBER, max_latency_ms: NUMBER, clock_offset_ms: NUMBER },
      }),
    ),
  },
  ['refusal'],
);
const IDENTITY = object({
  ...{ account: nullable(TEXT), role: TEXT, namespaces: nullable(TEXTS) },
  ...{ session: FLAG, expires_at: nullable(TIME), api_url: nullable(TEXT) },
});
const ENTRY = object({
  ...{ id: TEXT, at: TIME, account: nullable(TEXT), action: TEXT, pool: nullable(TEXT) },
  ...{ namespace: nullable(TEXT), target: mapOf(TEXT), params: { type: 'object' } },
  ...{ counts: mapOf(NUMBER), status: nullable(WHOLE), remote: TEXT },
});
const READINESS = object({ degraded: TEXTS, status: TEXT });
const TOKEN_FIELDS = {
  verbs: 'Permissions with commas: `publish`, `consume`, `admin`, `push`; default all.',
  queues: 'Queue patterns with commas; default all.',
  expires: 'A duration from now (`90s`, `12h`, `30d`) or a date; default never.',
};

/** By method and path. */
export const ADMIN_CALLS: Readonly<Record<string, AdminCall>> = {
  'GET /openapi.json': {
    ...{ id: 'getAdminDocument', about: 'Returns this document.', group: 'Server' },
    answers: { 200: { about: 'The document.', schema: { type: 'object' } } },
  },
  'GET /token/{namespace}': {
    ...{ id: 'listTokens', about: 'Lists the tokens of a namespace, in clear.', group: 'Tokens' },
    query: { ...POOL, details: '`true`: with their permissions, expiry and last use.' },
    answers: {
      200: {
        about: 'Descriptions by token.',
        schema: object({ tokens: mapOf(TEXT), details: mapOf(object(TOKEN_FACTS)) }, ['details']),
      },
    },
  },
  'POST /token/{namespace}': {
    ...{ id: 'createToken', about: 'Creates a token. Parameters may be a form, too.', group: 'Tokens' },
    query: {
      'description*': 'What it is for.',
      token: 'Your own, at least 20 visible ASCII characters; may be `pool:token`.',
      ...POOL,
      ...TOKEN_FIELDS,
    },
    answers: { 201: { about: 'The token.', schema: NEW_TOKEN } },
  },
  'GET /token/{namespace}/{token}': {
    ...{
      id: 'getToken',
      about: 'Returns a token with its permissions, expiry and last use.',
      group: 'Tokens',
    },
    answers: {
      200: {
        about: 'The token.',
        schema: object({ namespace: TEXT, pool: TEXT, token: TEXT, ...TOKEN_FACTS }),
      },
    },
  },
  'DELETE /token/{namespace}/{token}': {
    ...{ id: 'deleteToken', about: 'Deletes a token and its limit.', group: 'Tokens' },
    answers: { 204: { about: 'There is no such token now.' } },
  },
  'POST /token/{namespace}/{token}/rotate': {
    ...{
      id: 'rotateToken',
      about: 'Replaces a token by a new one with the same permissions.',
      group: 'Tokens',
    },
    query: {
      grace: 'How long the old one works, such as `1h`; default 0.',
      token: 'The new one; default a random one.',
      expires: TOKEN_FIELDS.expires,
    },
    answers: { 201: { about: 'The new token.', schema: NEW_TOKEN } },
  },
  'GET /limits': {
    ...{ id: 'listLimits', about: 'Lists the rate limits of all tokens.', group: 'Limits' },
    answers: {
      200: { about: 'All limits.', schema: listOf(object({ limiter: LIMIT, namespace: TEXT, token: TEXT })) },
    },
  },
  'GET /token/{namespace}/{token}/limit': {
    ...{ id: 'getLimit', about: 'Returns the rate limit of a token.', group: 'Limits' },
    answers: {
      200: { about: 'The limit.', schema: LIMIT },
      404: { about: 'It has none.', schema: { anyOf: [{ type: 'null' }, object({ error: TEXT })] } },
    },
  },
  'POST /token/{namespace}/{token}/limit': {
    ...{ id: 'addLimit', about: 'Adds a rate limit to a token that has none.', group: 'Limits' },
    body: LIMIT,
    answers: { 201: { about: 'The limit.', schema: LIMITER } },
  },
  'PUT /token/{namespace}/{token}/limit': {
    ...{ id: 'setLimit', about: 'Sets the rate limit of a token.', group: 'Limits' },
    body: LIMIT,
    answers: { 200: { about: 'The limit.', schema: LIMITER } },
  },
  'DELETE /token/{namespace}/{token}/limit': {
    ...{ id: 'deleteLimit', about: 'Removes the rate limit of a token.', group: 'Limits' },
    answers: { 200: { about: 'It has none now.', schema: object({ msg: TEXT }) } },
  },
  'DELETE /namespaces/{namespace}': {
    ...{
      id: 'purgeNamespace',
      about: 'Deletes all that a namespace stores, for about five seconds.',
      group: 'Namespaces',
    },
    query: { ...POOL, dry_run: '`true`: only counts.' },
    answers: { 200: { about: 'What was deleted; call it again until it is `done`.', schema: PURGED } },
  },
  'GET /namespaces/{namespace}/quotas': {
    ...{ id: 'getQuotas', about: 'Returns how much a namespace may store.', group: 'Namespaces' },
    query: POOL,
    answers: { 200: { about: 'Each with its default.', schema: QUOTAS } },
  },
  'PUT /namespaces/{namespace}/quotas': {
    ...{
      id: 'setQuotas',
      about: 'Sets how much a namespace may store: what the body names; null is the default.',
      group: 'Namespaces',
    },
    query: POOL,
    body: {
      type: 'object',
      properties: Object.fromEntries(QUOTA_NAMES.map((name) => [name, nullable(WHOLE)])),
      additionalProperties: false,
    },
    answers: { 200: { about: 'Each with its default.', schema: QUOTAS } },
  },
  'POST /session': {
    ...{
      id: 'beginSession',
      about: 'Signs in with a password: the answer sets a cookie.',
      group: 'Accounts',
      isOpen: true,
    },
    body: object({ account: TEXT, password: TEXT }),
    answers: { 200: { about: 'The account.', schema: IDENTITY } },
  },
  'GET /session': {
    ...{ id: 'getSession', about: 'Returns which account the client is.', group: 'Accounts' },
    answers: { 200: { about: 'The account.', schema: IDENTITY } },
  },
  'DELETE /session': {
    ...{ id: 'endSession', about: 'Signs out.', group: 'Accounts', isOpen: true },
    answers: { 204: { about: 'There is no session now.' } },
  },
  'GET /sign-in': {
    ...{
      id: 'getSignIn',
      about: 'Returns whether there is a sign-in by OpenID Connect, and how the provider is called.',
      group: 'Accounts',
      isOpen: true,
    },
    answers: {
      200: { about: 'Null: there is none.', schema: object({ oidc: nullable(object({ name: TEXT })) }) },
    },
  },
  'GET /sign-in/oidc': {
    ...{
      id: 'beginOidc',
      about: 'Sends a browser to the provider of OpenID Connect. 404 without one.',
      group: 'Accounts',
      isOpen: true,
    },
    query: { route: 'Page of the console to show afterwards: what stands behind its `#`.' },
    answers: {
      303: { about: 'To the provider.' },
      503: { about: 'The provider does not answer: a page.', schema: TEXT, type: 'text/html' },
    },
  },
  'GET /sign-in/oidc/callback': {
    ...{
      id: 'finishOidc',
      about: 'Signs a user in whom the provider has sent back: the answer sets a cookie.',
      group: 'Accounts',
      isOpen: true,
    },
    query: {
      ...{ code: 'From the provider.', state: 'From the provider.', iss: 'From the provider.' },
      error: 'From the provider.',
    },
    answers: {
      303: { about: 'To the console.' },
      400: { about: 'The sign-in failed a check: a page.', schema: TEXT, type: 'text/html' },
      403: { about: 'The user has no access: a page.', schema: TEXT, type: 'text/html' },
      503: { about: 'The provider does not answer: a page.', schema: TEXT, type: 'text/html' },
    },
  },
  'GET /accounts': {
    ...{
      id: 'listAccounts',
      about: 'Lists the accounts with their sessions: all for the role admin, else the own one.',
      group: 'Accounts',
    },
    answers: {
      200: {
        about: 'The accounts.',
        schema: object({
          accounts: listOf(object({ name: TEXT, role: TEXT, namespaces: nullable(TEXTS), sessions: WHOLE })),
        }),
      },
    },
  },
  'DELETE /accounts/{name}/sessions': {
    ...{ id: 'endSessions', about: 'Ends all sessions of an account.', group: 'Accounts' },
    answers: { 200: { about: 'How many.', schema: object({ ended: WHOLE }) } },
  },
  'GET /audit': {
    ...{ id: 'listAudit', about: 'Lists the entries of the audit log, the newest first.', group: 'Accounts' },
    query: {
      ...{ account: 'Only of this account.', action: 'Only calls whose name contains this text.' },
      ...{ pool: 'Only of this pool.', namespace: 'Only of this namespace.' },
      ...{ from: 'Only since this time, RFC 3339.', limit: 'Most entries, 1 to 500; default 50.' },
      cursor: 'The `next` of the page before.',
    },
    answers: {
      200: { about: 'A page of entries.', schema: object({ entries: listOf(ENTRY), next: nullable(TEXT) }) },
    },
  },
  'GET /namespaces': {
    ...{ id: 'listNamespaces', about: 'Lists the namespaces of a pool by name.', group: 'Server' },
    query: POOL,
    answers: {
      200: {
        about: 'Their names.',
        schema: object({ namespaces: listOf(object({ namespace: TEXT })) }),
      },
    },
  },
  'GET /info': {
    ...{ id: 'getInfo', about: 'Lists the namespaces of a pool with their queues.', group: 'Server' },
    query: POOL,
    answers: { 200: { about: 'Queues by namespace, as indented JSON.', schema: TEXT, type: 'text/plain' } },
  },
  'GET /version': {
    ...{ id: 'getVersion', about: 'Returns what is running.', group: 'Server' },
    answers: {
      200: {
        about: 'Version and data format.',
        schema: object({ build_commit: TEXT, build_date: TEXT, version: TEXT, data_format: WHOLE }),
      },
    },
  },
  'GET /pools': {
    ...{ id: 'listPools', about: 'Lists the names of the pools.', group: 'Server' },
    answers: { 200: { about: 'Their names.', schema: TEXTS } },
  },
  'GET /accesslog': {
    ...{ id: 'getAccessLog', about: 'Returns whether the access log is on.', group: 'Server' },
    answers: { 200: { about: '`enabled` or `disabled`.', schema: object({ status: TEXT }) } },
  },
  'POST /accesslog': {
    ...{ id: 'setAccessLog', about: 'Switches the access log in all processes.', group: 'Server' },
    query: { 'status*': '`enable` or `disable`.' },
    answers: { 200: { about: '`enabled` or `disabled`.', schema: object({ status: TEXT }) } },
  },
  'GET /redis': {
    ...{ id: 'getRedis', about: 'Returns the state of the Redis of each pool.', group: 'Server' },
    answers: { 200: { about: 'By pool.', schema: object({ now: TIME, pools: listOf(REDIS) }) } },
  },
  'GET /formats': {
    ...{ id: 'listFormats', about: 'Returns the data format of the Redis of each pool.', group: 'Server' },
    answers: {
      200: {
        about: 'By pool; `newest` is that of new stores.',
        schema: object({ newest: WHOLE, pools: listOf(FORMAT) }),
      },
    },
  },
  'POST /formats/{pool}': {
    ...{
      id: 'raiseFormat',
      about:
        'Raises the data format of a pool to the newest one, for good: older servers do not start on it any more.',
      group: 'Server',
    },
    answers: {
      200: { about: 'The format now.', schema: FORMAT },
    },
  },
  'GET /loops': {
    ...{ id: 'listLoops', about: 'Lists the background loops of all processes.', group: 'Server' },
    answers: { 200: { about: 'The loops.', schema: object({ loops: listOf(LOOP) }) } },
  },
  'GET /metrics': {
    ...{
      id: 'getMetrics',
      about: 'Returns the metrics of all processes. No account with `metrics.public`.',
      group: 'Server',
    },
    answers: { 200: { about: "Prometheus's text format.", schema: TEXT, type: 'text/plain' } },
  },
  'GET /healthz': {
    ...{ id: 'getHealth', about: 'Returns 200 while the process runs.', group: 'Server', isOpen: true },
    answers: { 200: { about: 'It runs.', schema: object({ status: TEXT }) } },
  },
  'GET /readyz': {
    ...{
      id: 'getReadiness',
      about: 'Returns whether the server should get requests.',
      group: 'Server',
      isOpen: true,
    },
    query: { pool: 'Only this pool.' },
    answers: {
      200: { about: 'It should.', schema: READINESS },
      503: { about: 'It should not.', schema: READINESS },
    },
  },
};

/** Other spellings and methods of these calls, which the document does not have. */
export const ADMIN_ALIASES: ReadonlySet<string> = new Set([
  ...['GET /', 'GET /pools/*', 'HEAD /healthz', 'HEAD /readyz', 'OPTIONS /'],
]);
