const SURROUNDINGS = 'test/api/health.spec.ts';

/**
 * How a server starts.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const START = [
  {
    id: 'default-port-is-the-same-redis',
    name: 'start: two pools in one Redis are seen, however their ports are written',
    off: { replace: 'const host = `${hostname}:${port}`;' },
    spec: 'src/config/load.spec.ts',
    test: 'configuration warnings › report two pools in one Redis, also if one URL leaves the port out',
  },
  {
    id: 'setup-keeps-policy',
    name: 'set-up: the service policy of the machine stays',
    off: 'false',
    spec: 'scripts/setup/redis.spec.mjs',
    test: 'the installer › reverts only its own changes on a machine that has %s',
  },
  {
    id: 'setup-keeps-service',
    name: 'set-up: an installed service stays',
    off: 'false',
    spec: 'scripts/setup/redis.spec.mjs',
    test: 'the installer › reverts only its own changes on a machine that has %s',
  },
  {
    id: 'unpacked-owner-checked',
    name: 'set-up: an unpacked program of another user is not run',
    off: 'false',
    spec: 'scripts/setup/unpacked.spec.mjs',
    test: 'an unpacked Redis that others could change › is not run if it belongs to another user, and the message has the remedy',
  },
  {
    id: 'unpacked-mode-checked',
    name: 'set-up: an unpacked program that others can write to is not run',
    off: 'false',
    spec: 'scripts/setup/unpacked.spec.mjs',
    test: 'an unpacked Redis that others could change › is not run if %s, and the message has the remedy',
  },
  {
    id: 'unpacked-links-checked',
    name: 'set-up: an unpacked link that leads elsewhere is not followed',
    off: 'false',
    spec: 'scripts/setup/unpacked.spec.mjs',
    test: 'an unpacked Redis that others could change › is not run if %s, and the message has the remedy',
  },
  {
    id: 'unpacked-is-verified',
    name: 'set-up: only signed packages are unpacked',
    off: 'remove',
    spec: 'scripts/setup/unpacked.spec.mjs',
    test: 'a Redis without root › is not taken if %s: one line has the reason and the remedy, and nothing is left',
  },
  {
    id: 'every-redis-is-checked',
    name: 'start: every Redis is checked before workers begin',
    off: { with: 'name === Object.keys(pools)[0] ? $& : Promise.resolve()' },
    spec: SURROUNDINGS,
    test: 'the start of a server › the checks before workers start › fail if the Redis of a pool or of the tokens refuses the password',
  },
  {
    id: 'token-redis-is-checked',
    name: 'start: the Redis of the tokens is checked before workers begin',
    off: 'false',
    spec: SURROUNDINGS,
    test: 'the start of a server › the checks before workers start › fail if the Redis of a pool or of the tokens refuses the password',
  },
  {
    id: 'admin-port-is-tried',
    name: 'start: the admin port is tried before workers begin',
    off: { with: 'port: 0' },
    spec: SURROUNDINGS,
    test: 'the start of a server › the checks before workers start › fail if the admin port is in use by another process',
  },
  {
    id: 'compilers-are-on-again',
    name: 'start: code is optimised again when the server serves',
    off: { with: "$&.replace('--', '--no-')" },
    spec: 'src/app/start-flags.spec.ts',
    test: 'the start of a process › runs without optimising compilers until it ends',
  },
  {
    id: 'not-ready-while-starting',
    name: 'start: /readyz fails until the admin port is open',
    off: 'remove',
    spec: 'src/health/indicators.spec.ts',
    test: 'the drain indicator of /readyz › is %s for %j',
  },
  {
    id: 'failed-start-closes-all-pools',
    name: 'start: a pool that cannot be opened closes the others',
    off: 'remove',
    spec: 'test/api/failed-start.spec.ts',
    test: 'a server that cannot open all of its pools leaves no connection to the others',
  },
];
