import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { onPath, shown } from './run.mjs';

let dir;
let wrapper;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'pumphouse-run-'))));
afterEach(() => {
  if (wrapper.exitCode === null) wrapper.kill('SIGKILL');
  rmSync(dir, { recursive: true });
});

/** A server that counts its signals and ends with code 7 at `goal` of them, run by our wrapper in a group of its own. */
async function served(goal) {
  const server = join(dir, 'server.mjs');
  writeFileSync(
    server,
    `let heard = 0;
     const stay = setInterval(() => undefined, 1_000);
     for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => {
       console.log(name);
       if (++heard === ${goal}) setTimeout(() => process.exit(7), 400);
     });
     console.log('up');`,
  );
  const code = `
    const { serve } = await import('${pathToFileURL(join(import.meta.dirname, 'run.mjs')).href}');
    process.exit(await serve([process.execPath, '${server}']));`;
  wrapper = spawn(process.execPath, ['--input-type=module', '-e', code], { detached: true });
  let output = '';
  wrapper.stdout.on('data', (text) => (output += text));
  await once(wrapper.stdout, 'data');
  return {
    output: () => output.trim().split('\n'),
    exit: once(wrapper, 'close').then(([exitCode]) => exitCode),
  };
}

describe('the server in the foreground', () => {
  it('receives one SIGINT if the terminal and npm each send one, and its exit code is passed on', async () => {
    const { output, exit } = await served(1);
    process.kill(-wrapper.pid, 'SIGINT'); // the terminal: the whole group
    wrapper.kill('SIGINT'); // npm
    expect(await exit).toBe(7);
    expect(output()).toEqual(['up', 'SIGINT']);
  });

  it('receives a second SIGTERM, and its exit code is passed on', async () => {
    const { output, exit } = await served(2);
    wrapper.kill('SIGTERM');
    await sleep(300);
    wrapper.kill('SIGTERM');
    expect(await exit).toBe(7);
    expect(output()).toEqual(['up', 'SIGTERM', 'SIGTERM']);
  });

  it('receives SIGTERM when the terminal closes (SIGHUP)', async () => {
    const { output, exit } = await served(1);
    wrapper.kill('SIGHUP');
    expect(await exit).toBe(7);
    expect(output()).toEqual(['up', 'SIGTERM']);
  });
});

describe('a command', () => {
  it('is printed with the quotes that a shell needs', () => {
    wrapper = { exitCode: 0 };
    expect(shown(['sh', '-c', "echo 'a b'", 'x=1'])).toBe(`sh -c 'echo '\\''a b'\\''' x=1`);
  });

  it('is found in a folder of the PATH, or not at all', () => {
    wrapper = { exitCode: 0 };
    writeFileSync(join(dir, 'tool'), '', { mode: 0o755 });
    expect([onPath('tool', `/nowhere:${dir}`), onPath('tool', '/nowhere')]).toEqual([
      join(dir, 'tool'),
      null,
    ]);
  });
});
