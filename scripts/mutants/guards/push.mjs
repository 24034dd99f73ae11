const FAULTS = 'test/faults/push.spec.ts';
const HTTP = 'test/api/push.spec.ts';
const SENDER = 'test/push/sender.spec.ts';

/**
 * HTTP push: what a server sends, where to, and what becomes of the job.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PUSH_GUARDS = [
  {
    name: 'push: a namespace that was purged and made anew is read again',
    file: 'lua/commands/maintenance/change_targets.lua',
    from: 'math.max(tonumber(version) + 1, now_floor)',
    to: 'tonumber(version) + 1',
    spec: FAULTS,
    test: 'a purge in the middle leaves nothing',
  },
  {
    name: 'push: a probe that was cut off does not close the breaker',
    file: 'src/push/target-worker.ts',
    from: 'verdict.isHealthy === null && (!isProbe || answer === null)',
    to: 'verdict.isHealthy === null && !isProbe',
    spec: FAULTS,
    test: 'tried by one of them with one job',
  },
  {
    name: 'push: one server has the right to probe',
    file: 'src/push/breaker.ts',
    from: 'known.openUntilMs <= nowMs && known.probeUntilMs <= nowMs',
    to: 'known.openUntilMs <= nowMs',
    spec: FAULTS,
    test: 'tried by one of them with one job',
  },
  {
    name: 'push: a redirect is a failure',
    file: 'src/push/send/verdict.ts',
    from: 'status >= 200 && status < 300',
    to: 'status >= 200 && status < 400',
    spec: HTTP,
    test: 'of 302 costs a try',
  },
  {
    name: 'push: every address of a name is checked',
    file: 'src/push/send/connector.ts',
    from: 'found.some(({ address }) => !addresses.allows(address))',
    to: 'found.every(({ address }) => !addresses.allows(address))',
    spec: SENDER,
    test: 'refuses a name with one address that is not allowed',
  },
  {
    name: 'push: literal addresses are checked',
    file: 'src/push/send/connector.ts',
    from: 'isIP(hostname) !== 0 && !rules.addresses.allows(hostname)',
    to: 'isIP(hostname) === 0 && !rules.addresses.allows(hostname)',
    spec: SENDER,
    test: 'of this machine, without a connection',
  },
  {
    name: 'push: a URL of a job has an origin of the target',
    file: 'src/push/target-worker.ts',
    from: 'url !== null && target.origins.includes(url.origin)',
    to: 'url !== null',
    spec: HTTP,
    test: 'of another port fails at once',
  },
  {
    name: 'push: a job with a URL needs the permission',
    file: 'src/domain/unique-rights.ts',
    from: "if (job.attributes !== undefined && Object.hasOwn(job.attributes, PUSH_URL)) checkVerb(rights, 'push');",
    to: '',
    spec: HTTP,
    test: 'needs the permission push, however it is made',
  },
  {
    name: 'push: a job of an origin whose breaker is open is held back',
    file: 'src/push/target-worker.ts',
    from: 'const openMs = breaker.openUntilMs - Date.now();',
    to: 'const openMs = 0; if (openMs === 0) return { ms: 0, isProbe: false };',
    spec: HTTP,
    test: 'waits while the breaker of its origin is open',
  },
  {
    name: 'push: origins have breakers of their own',
    file: 'src/push/target.ts',
    from: "return origin === '' ? target : `${target} ${origin}`;",
    to: 'return target;',
    spec: HTTP,
    test: 'counts against the breaker of its origin alone',
  },
  {
    name: 'push: jobs of one origin share a key',
    file: 'src/domain/push-url.ts',
    from: '...(key === undefined ? {} : { concurrencyKey: key }),',
    to: '',
    spec: HTTP,
    test: 'is bounded with those of its origin by max_running_per_key',
  },
  {
    name: 'push: a URL that acknowledges is signed',
    file: 'src/push/ack-links.ts',
    from: 'given.length !== expected.length || !timingSafeEqual(given, expected)',
    to: 'given.length !== expected.length',
    spec: HTTP,
    test: 'cannot change the URL',
  },
  {
    name: 'push: a URL that acknowledges is for one lease',
    file: 'src/push/ack.controller.ts',
    from: "if (status !== 'done') throw new LeaseLostError(await stateOf(native, namespace, job));",
    to: 'void status;',
    spec: HTTP,
    test: 'keeps the job until it calls the URL',
  },
  {
    name: 'push: after a 202 the lease goes on, where the target acknowledges later',
    file: 'src/push/send/verdict.ts',
    from: "status === ACCEPTED && chosen === undefined && target.ack === 'later'",
    to: 'false',
    spec: HTTP,
    test: 'keeps the job until it calls the URL',
  },
];
