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
    file: 'src/push/verdict.ts',
    from: 'status >= 200 && status < 300',
    to: 'status >= 200 && status < 400',
    spec: HTTP,
    test: 'of 302 costs a try',
  },
  {
    name: 'push: every address of a name is checked',
    file: 'src/push/connector.ts',
    from: 'found.some(({ address }) => !addresses.allows(address))',
    to: 'found.every(({ address }) => !addresses.allows(address))',
    spec: SENDER,
    test: 'refuses a name with one address that is not allowed',
  },
  {
    name: 'push: literal addresses are checked',
    file: 'src/push/connector.ts',
    from: 'isIP(hostname) !== 0 && !rules.addresses.allows(hostname)',
    to: 'isIP(hostname) === 0 && !rules.addresses.allows(hostname)',
    spec: SENDER,
    test: 'of this machine, without a connection',
  },
];
