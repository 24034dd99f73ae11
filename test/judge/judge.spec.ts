import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { jest } from '@jest/globals';
import { IS_LONG, SEED, SLOWNESS } from '../support/scale.js';

/* The judge is a program of its own, in Python: it shares no code with the server. Here it is only started. */

jest.setTimeout((IS_LONG ? 7_200_000 : 900_000) * SLOWNESS);

/** Where no namespaces may be made, as in most containers, nothing can be played. */
const OWN_NETWORK = ['--map-root-user', '--net', '--mount', '--pid', '--fork', '--kill-child'];
const canPlay = spawnSync('unshare', [...OWN_NETWORK, 'nft', '--version']).status === 0;

async function python(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, output: output + errors };
}

describe('the judge from outside', () => {
  it('finds each kind of broken promise in a history', async () => {
    const { code, output } = await python([
      '-m',
      'unittest',
      'discover',
      '-s',
      'test/judge',
      '-p',
      '*_test.py',
    ]);
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Ran \d\d tests/m) as string,
    });
  });

  const stores: [store: string, jobs: number, faults: number][] = IS_LONG
    ? [
        ['redis', 1_000_000, 300],
        ['losses', 100_000, 40],
        ['sentinel', 100_000, 36],
        ['cluster', 100_000, 36],
        ['lagging', 20_000, 6],
      ]
    : [
        ['redis', 20_000, 13],
        ['losses', 4_000, 4],
      ];

  (canPlay ? it : it.skip).each(stores)(
    'finds nothing wrong with three servers on %s',
    async (store, jobs, faults) => {
      const bulk = jobs > 100_000 ? ['--bulk'] : [];
      const size = ['--jobs', String(jobs), ...bulk, '--faults', String(faults), '--seed', String(SEED)];
      const { code, output } = await python(['test/judge', '--store', store, ...size]);
      console.log(output);
      expect({ code, output }).toMatchObject({ code: 0 });
    },
  );
});
