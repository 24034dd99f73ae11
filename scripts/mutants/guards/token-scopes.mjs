const FULL = 'test/faults/full-store.spec.ts';
const RECURRING = 'test/engine/recurring.spec.ts';
const NAMES = 'names of the jobs of a recurring job';
const TARGETS = 'permissions by queue › a push target';
const SESSIONS = 'permissions by queue › a token for some queues › a worker session';
const PASSWORDS = 'T51: the admin port against other sites and guessed passwords';
const CLOCK = "recurring jobs after Redis's clock was ahead";
const LATER = "the later API › the wire format › uses the time of Redis, not the server's clock";
const CALLS = 'T57: a full Redis with %s › gives the status %s for %s (%s)';

/**
 * What a full Redis refuses, and what a token, a password or a clock may not do.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const TOKEN_SCOPES = [
  {
    id: 'script-runs-when-full',
    name: 'full store: a script that frees memory or stops load runs in a full Redis',
    off: 'false',
    spec: FULL,
    test: CALLS,
  },
  {
    id: 'recurring-store-full',
    name: 'full store: a recurring job makes no job in a full Redis',
    off: 'false',
    spec: FULL,
    test: 'T57: a full Redis with %s › skips the slots of recurring jobs, fails no loop, and makes jobs again when there is room',
  },
  ...[
    ['recurring-run-store-full', 'a recurring job is not run now'],
    ['recurring-set-store-full', 'a recurring job is neither new nor longer'],
    ['queue-made-store-full', 'a setting makes no queue'],
    ['target-made-store-full', 'a target is not new'],
    ['variable-store-full', 'a variable is neither new nor longer'],
    ['job-change-store-full', 'a change adds nothing to a job'],
    ['tags-store-full', 'a job gets no more tags'],
    ['tracking-store-full', 'a job is not tracked'],
    ['settle-data-store-full', 'a lease holder does not make data longer'],
    ['next-dependencies-store-full', 'a next step gets no dependencies'],
  ].map(([id, what]) => ({
    ...{ id, name: `full store: ${what} in a full Redis`, off: 'false', spec: FULL, test: CALLS },
  })),
  ...[
    ['longer-field-store-full', 'progress and results are left out'],
    ['message-store-full', 'the message of a failure is cut'],
  ].map(([id, what]) => ({
    ...{ id, name: `full store: ${what} in a full Redis`, off: /** @type {const} */ ('false'), spec: FULL },
    test: 'T57: a full Redis with %s › leaves longer progress and results out, and cuts the message of a failure',
  })),
  {
    id: 'target-named-for-all-queues',
    name: 'push targets: a token for some queues names none',
    off: 'remove',
    spec: 'test/api/permissions.spec.ts',
    test: `${TARGETS} › is not shown to a token for some queues, nor set on a queue by it`,
  },
  ...['respawned', 'debounced', 'settled'].map((what) => ({
    id: `job-push-url-${what}`,
    name: `push targets: no job with a URL is ${what} with other data or in another queue by a token without push`,
    off: /** @type {const} */ ('false'),
    spec: 'test/api/permissions.spec.ts',
    test: `${TARGETS} › gets nothing from a token without push at the URL of a job`,
  })),
  {
    id: 'job-push-url-changed',
    name: 'push targets: a token without push changes no data and no queue of a job with a URL',
    off: 'false',
    spec: 'test/api/permissions.spec.ts',
    test: `${TARGETS} › gets no job with a URL that a token without the permission push publishes, changes or runs`,
  },
  ...['recurring-push-url-changed', 'recurring-push-url-run'].map((id) => ({
    id,
    name: `push targets: a token without push does nothing with a URL of another caller (${id})`,
    off: /** @type {const} */ ('remove'),
    spec: 'test/api/permissions.spec.ts',
    test: `${TARGETS} › gets no job with a URL that a token without the permission push publishes, changes or runs`,
  })),
  {
    id: 'session-heartbeat-scope',
    name: 'sessions of tokens: a heartbeat of a token for other queues finds none',
    off: 'false',
    spec: 'test/api/permissions.spec.ts',
    test: `${SESSIONS} › is not changed, lost or ended by a token for other queues, and keeps the stop of an operator`,
  },
  {
    id: 'session-end-scope',
    name: 'sessions of tokens: a token for other queues ends none',
    off: 'false',
    spec: 'test/api/permissions.spec.ts',
    test: `${SESSIONS} › is not changed, lost or ended by a token for other queues, and keeps the stop of an operator`,
  },
  {
    id: 'session-ends-waits-of-its-queues',
    name: 'sessions of tokens: the end of one ends no wait for queues that its token is not for',
    off: 'false',
    spec: 'test/api/permissions.spec.ts',
    test: `${SESSIONS} › ends by %s only waits that its token could have begun, under the name of a worker that leased from other queues`,
  },
  {
    id: 'session-end-keeps-leases',
    name: 'sessions of tokens: the end of one leaves the leases of another worker of its name',
    off: 'true',
    spec: 'test/api/permissions.spec.ts',
    test: `${SESSIONS} › leaves the leases of a worker of its name, which leased from other queues`,
  },
  {
    id: 'session-taken-over',
    name: 'sessions of tokens: one for all queues that introduces itself takes over a session of its name',
    off: 'false',
    spec: 'test/api/permissions.spec.ts',
    test: `${SESSIONS} › is taken over by a token for all queues that introduces its worker`,
  },
  {
    id: 'known-account-passes',
    name: 'admin passwords: an account that was right from its address is let through',
    off: { with: 'null' },
    spec: 'test/api/admin-accounts.spec.ts',
    test: `${PASSWORDS} › accepts the right password while the same address sends wrong passwords`,
  },
  {
    id: 'known-header-is-compared',
    name: 'admin passwords: no wrong password of a known account is let through',
    off: 'true',
    spec: 'src/admin/password-checks.spec.ts',
    test: 'password checks › compare a flood of passwords with no account, and accept only the right header of a known one',
  },
  {
    id: 'password-waits-its-turn',
    name: 'admin passwords: after a wrong one, one is checked a second',
    off: 'remove',
    spec: 'test/api/admin-accounts.spec.ts',
    test: `${PASSWORDS} › checks one wrong password of an address a second, lets at least four wait, and logs each`,
  },
  {
    id: 'passwords-wait-bounded',
    name: 'admin passwords: four of an address wait',
    off: 'false',
    spec: 'test/api/admin-accounts.spec.ts',
    test: `${PASSWORDS} › checks one wrong password of an address a second, lets at least four wait, and logs each`,
  },
  {
    id: 'refusals-are-held-back',
    name: 'admin passwords: a refusal is held back',
    off: 'remove',
    spec: 'src/admin/password-checks.spec.ts',
    test: 'password checks › delay refusals for the address, and report a flood beyond 1,000 delayed refusals',
  },
  {
    id: 'addresses-bounded',
    name: 'admin passwords: the addresses that are remembered are bounded',
    off: { with: 'map.size > 0' },
    spec: 'src/admin/password-checks.spec.ts',
    test: 'password checks › remember 1,000 addresses, and treat a /64 network of IPv6 as one address',
  },
  {
    id: 'slots-after-clock-set-back',
    name: 'clock set back: slots that a wrong clock served do not count',
    off: 'false',
    spec: RECURRING,
    test: `${CLOCK} › go on within a period: a recurring job %s`,
  },
  {
    id: 'cron-after-clock-set-back',
    name: 'clock set back: slots of cron are computed again',
    off: 'false',
    spec: RECURRING,
    test: `${CLOCK} › go on within a period: a recurring job %s`,
  },
  {
    id: 'janitor-after-clock-set-back',
    name: 'clock set back: the janitor runs',
    off: 'remove',
    spec: RECURRING,
    test: `${CLOCK} › do not stop the janitor`,
  },
  {
    id: 'window-after-clock-set-back',
    name: 'clock set back: a token is not held to a window of the wrong time',
    off: 'true',
    spec: 'test/api/tokens.spec.ts',
    test: 'tokens in Redis › the token store › windows of limits › are over if the clock of Redis is set back behind their start',
  },
  {
    id: 'clock-set-back-is-seen',
    name: 'clock set back: each server sees it',
    off: 'false',
    spec: 'test/engine/clock.spec.ts',
    test: 'a Redis whose clock is stepped › keeps recurring jobs running when it is set back after it was ahead',
  },
  {
    id: 'later-by-redis-clock',
    name: 'clock set back: jobs of later have the time of Redis',
    off: { with: 'undefined' },
    spec: 'test/api/later.spec.ts',
    test: LATER,
  },
  {
    id: 'recurring-own-key',
    name: 'recurring keys: what an earlier server stored gets the key that no caller can take',
    off: 'remove',
    spec: RECURRING,
    test: `${NAMES} › change with the first slot if an earlier server stored them`,
  },
  {
    id: 'callers-key-stays',
    name: 'recurring keys: the key of a caller’s job is not taken over',
    off: 'true',
    spec: RECURRING,
    test: `${NAMES} › do not affect a job with the key that an earlier server used`,
  },
  {
    id: 'callers-have-no-server-key',
    name: 'recurring keys: a caller cannot take a key of the server',
    off: 'remove',
    spec: RECURRING,
    test: `${NAMES} › are refused to callers, and not shown`,
  },
  {
    id: 'own-key-respawned',
    name: 'recurring keys: a dead job of an earlier server takes the new key when it is put back',
    off: 'false',
    spec: RECURRING,
    test: `${NAMES} › change when a dead job of an earlier server is respawned`,
  },
  {
    id: 'child-ids-by-chance',
    name: 'recurring keys: a caller cannot take all numbers of the jobs to come',
    off: 'false',
    spec: RECURRING,
    test: `${NAMES} › are free numbers although a caller used many of the next numbers`,
  },
];
