const ROLES = 'test/api/roles.spec.ts';
const SESSIONS = 'test/api/admin-sessions.spec.ts';
const AUDIT = 'test/api/admin-audit.spec.ts';
const ADMIN = 'test/api/admin.spec.ts';
const REDACTION = 'test/api/redaction.spec.ts';
const PLACES = 'places that a queue withholds';
const [OF_ADMIN, OF_NATIVE] = ['accounts of the admin port', 'the native API on the admin port'];
const SESSION = 'a session of the admin port';
const LOG = 'the audit log of the admin port';

/**
 * What accounts of the admin port may do, their sessions, and the audit log.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const ACCOUNTS = [
  {
    id: 'roles-in-order',
    name: 'accounts: a role does not include a higher one',
    off: { with: '0' },
    spec: ROLES,
    test: `${OF_ADMIN} › have roles that include each other: %s includes %s: %j`,
  },
  {
    id: 'account-calls-need-a-role',
    name: 'accounts: a call needs its role',
    off: 'true',
    spec: ROLES,
    test: `${OF_NATIVE} › refuses %s, %s, the calls beyond the role, and no others`,
  },
  {
    id: 'account-calls-in-its-namespaces',
    name: 'accounts: a call in another namespace is not found',
    off: 'false',
    spec: ROLES,
    test: `${OF_NATIVE} › knows no namespace beyond those of the account, whether it exists or not`,
  },
  {
    id: 'admin-call-for-all-namespaces',
    name: 'accounts: one for some namespaces sees no metrics of all',
    off: 'false',
    spec: ROLES,
    test: `${OF_ADMIN} › see only their namespaces in lists, and nothing of the whole server`,
  },
  {
    id: 'limits-shows-own-namespaces',
    name: 'accounts: the list of limits has only their namespaces',
    off: 'false',
    spec: ROLES,
    test: `${OF_ADMIN} › see only their namespaces in lists, and nothing of the whole server`,
  },
  {
    id: 'lists-show-own-namespaces',
    name: 'accounts: the lists of namespaces and of queues have only their own namespaces',
    off: 'true',
    spec: ROLES,
    test: `${OF_ADMIN} › see only their namespaces in lists, and nothing of the whole server`,
  },
  {
    id: 'stream-ends-with-its-session',
    name: 'accounts: a stream of events ends with the session',
    off: 'false',
    spec: ROLES,
    test: `${OF_NATIVE} › sends events until the session of the account ends`,
  },
  {
    id: 'viewers-see-no-data',
    name: 'accounts: a viewer gets no data of jobs',
    off: 'false',
    spec: ROLES,
    test: `${OF_NATIVE} › the role viewer › withholds data, results, progress, logs, attributes and messages, and names what it has withheld`,
  },
  {
    id: 'viewers-search-no-data',
    name: 'accounts: a viewer does not search in data',
    off: 'false',
    spec: ROLES,
    test: `${OF_NATIVE} › the role viewer › refuses searches in what it withholds: the number of hits would tell it`,
  },
  {
    id: 'only-admins-see-redacted-places',
    name: 'redaction: accounts below the role admin do not see redacted places',
    off: 'false',
    spec: REDACTION,
    test: `${PLACES} › are in no answer to accounts below the role admin, whatever they call`,
  },
  {
    id: 'redacted-data-is-not-searched',
    name: 'redaction: no search in what may repeat the data',
    off: 'true',
    spec: REDACTION,
    test: `${PLACES} › are not found by searches in what may repeat them`,
  },
  {
    id: 'redacted-data-stays-in-its-queue',
    name: 'redaction: an operator moves no job to where its data is shown',
    off: 'true',
    spec: REDACTION,
    test: `${PLACES} › keep operators from moving jobs to where their data would be shown`,
  },
  {
    id: 'unknown-path-hides-all',
    name: 'redaction: a stored path that does not parse hides all data',
    off: 'false',
    spec: REDACTION,
    test: `${PLACES} › hide all of the data if it is no JSON, or a stored path does not parse`,
  },
  {
    id: 'redacted-data-is-not-written',
    name: 'redaction: an answer that is sent back does not become data',
    off: 'true',
    spec: REDACTION,
    test: `${PLACES} › do not become data: an answer that is sent back is refused`,
  },
  {
    id: 'redact-set-by-admins',
    name: 'redaction: an operator does not change the setting',
    off: 'false',
    spec: REDACTION,
    test: `${PLACES} › are set by admins and tokens only, and with paths that parse`,
  },
  {
    id: 'redacting-queue-deleted-by-admins',
    name: 'redaction: an operator does not delete a queue with the setting',
    off: 'false',
    spec: REDACTION,
    test: `${PLACES} › are set by admins and tokens only, and with paths that parse`,
  },
  {
    id: 'explain-hides-messages',
    name: 'redaction: explanations have no message of a failure',
    off: 'true',
    spec: REDACTION,
    test: `${PLACES} › are withheld in results, and messages, progress, logs and attributes as a whole`,
  },
  {
    id: 'viewers-see-no-data-in-events',
    name: 'accounts: a viewer gets no data in events',
    off: 'false',
    spec: REDACTION,
    test: `${PLACES} › are in no event`,
  },
  {
    id: 'redacting-queues-send-no-data',
    name: 'redaction: events have no message, log entry or result',
    off: 'false',
    spec: REDACTION,
    test: `${PLACES} › are in no event`,
  },
  {
    id: 'admin-takes-no-token',
    name: 'accounts: a call with a token that reaches the admin port is not made',
    off: 'false',
    spec: 'test/api/intruders.spec.ts',
    test: 'intruders › intruders on the wrong port › find no API call on the admin port',
  },
  {
    id: 'compared-password-holds-its-turn',
    name: 'admin passwords: hashes of one address are computed one after the other',
    off: 'remove',
    spec: 'src/admin/password-checks.spec.ts',
    test: 'password checks › hashed passwords › are compared one at a time for an address, also before the first of them is known to be wrong',
  },
  {
    id: 'sign-in-ends-the-old-session',
    name: 'sessions: a sign-in ends the session that the browser had',
    off: 'remove',
    spec: SESSIONS,
    test: `${SESSION} › gets a new secret at sign-in, and the cookie that the browser had before is worth nothing (fixation)`,
  },
  {
    id: 'sessions-of-others-need-admin',
    name: 'sessions: those of another account are ended by an admin only',
    off: 'false',
    spec: SESSIONS,
    test: `${SESSION} › is over on every server when all sessions of the account end, and those of others go on`,
  },
  {
    id: 'two-session-cookies-are-none',
    name: 'sessions: of two cookies none counts',
    off: { with: "secret === ''" },
    spec: SESSIONS,
    test: `${SESSION} › is none if the browser sends two: a sibling domain may have set one of them`,
  },
  {
    id: 'session-needs-the-console-header',
    name: 'sessions: a request that changes something needs the header of the console',
    off: 'false',
    spec: SESSIONS,
    test: `${SESSION} › changes nothing for a request of %s`,
  },
  {
    id: 'sessions-of-an-account-bounded',
    name: 'sessions: an account has 20',
    off: 'remove',
    spec: SESSIONS,
    test: `${SESSION} › is one of 20 of its account: a further one ends the oldest`,
  },
  {
    id: 'session-ends-in-time',
    name: 'sessions: one ends by the clock of Redis',
    off: 'false',
    spec: SESSIONS,
    test: `${SESSION} › ends by the clock of Redis`,
  },
  {
    id: 'audit-shows-own-namespaces',
    name: 'audit: an admin of some namespaces sees no others',
    off: 'true',
    spec: AUDIT,
    test: `${LOG} › shows an admin of some namespaces only what was done in them`,
  },
  {
    id: 'audit-has-no-secrets',
    name: 'audit: only listed fields of a request are recorded',
    off: { with: 'value !== undefined' },
    spec: AUDIT,
    test: `${LOG} › has no secret and no data of a job`,
  },
  {
    id: 'audit-hides-tokens',
    name: 'audit: of a token in a path the first characters are recorded',
    off: 'false',
    spec: AUDIT,
    test: `${LOG} › has no secret and no data of a job`,
  },
  {
    id: 'audit-bounded-in-time',
    name: 'audit: old entries are removed',
    off: 'remove',
    spec: AUDIT,
    test: `${LOG} › keeps as many entries as it may, and none that is too old`,
  },
  {
    id: 'audit-bounded-in-count',
    name: 'audit: entries beyond the number are removed',
    off: 'remove',
    spec: AUDIT,
    test: `${LOG} › keeps as many entries as it may, and none that is too old`,
  },
  {
    id: 'audit-names-pool-of-token',
    name: 'audit: the pool is the one that the prefix of a token names',
    off: 'false',
    spec: AUDIT,
    test: 'the audit log of the admin port › has the pool that the prefix of a token names',
  },
  {
    id: 'audit-has-what-is-read',
    name: 'audit: it has no field that the call does not read',
    off: 'false',
    spec: AUDIT,
    test: 'the audit log of the admin port › has no field that the call does not read',
  },
  {
    id: 'audit-has-settings',
    name: 'audit: it has the settings of a namespace',
    off: 'remove',
    spec: AUDIT,
    test: `${LOG} › has the quotas of a namespace, the settings of a queue and how an operation is done`,
  },
  {
    id: 'audit-depth-is-bounded',
    name: 'audit: what is nested deeply in a body is not recorded',
    off: 'remove',
    spec: ADMIN,
    test: 'admin calls about namespaces › whole namespaces › refuse bodies of any depth',
  },
  {
    id: 'admin-parameters-are-known',
    name: 'admin port: calls that lmstfy does not have refuse unknown parameters',
    off: 'false',
    spec: ADMIN,
    test: 'admin calls about namespaces › whole namespaces › are not purged with %s',
  },
  {
    id: 'listed-token-is-usable',
    name: 'admin port: a token is listed as it must be sent',
    off: { with: 'record.token' },
    spec: ADMIN,
    test: 'admin calls about tokens › tokens and limits on the admin port › tokens › are listed in clear, with a prefix if the call names the pool',
  },
  {
    id: 'oldest-queues-are-paged-by-time',
    name: 'overview: pages of the oldest queues go by the time of the jobs, not by their age',
    off: {
      replace:
        "if (sort === 'oldest') return now.oldestAtMs === 0 ? 0 : this.viewOf(row).nowMs - now.oldestAtMs;",
    },
    spec: 'test/api/overview.spec.ts',
    test: 'GET /overview › pages the oldest queues, each once, while all become older',
  },
];
