import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { jest } from '@jest/globals';
import { IS_LONG, SEED, SLOWNESS } from '../support/scale.js';

/* The judge is a program of its own, in Python: it shares no code with the server. Here it is only started. */

jest.setTimeout((IS_LONG ? 7_200_000 : 900_000) * SLOWNESS);

/** Where no namespaces may be made, as in most containers, nothing can be played. */
const OWN_NETWORK = ['--map-root-user', '--net', '--mount', '--pid', '--fork', '--kill-child'];
const canPlay = spawnSync('unshare', [...OWN_NETWORK, 'nft', '--version']).status === 0;
const whereThere = canPlay ? it : it.skip;

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

  whereThere('finds nothing wrong with three servers under each kind of fault', async () => {
    const size = IS_LONG ? ['--jobs', '1000000', '--faults', '300'] : ['--jobs', '20000', '--faults', '12'];
    const { code, output } = await python(['test/judge', ...size, '--seed', String(SEED)]);
    console.log(output);
    expect({ code, output }).toMatchObject({ code: 0 });
  });
});
