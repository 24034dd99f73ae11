import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../../test/support/redis.js';
import { TestTerminal } from '../../../test/support/terminal.js';
import { withProgress, withReports } from './progress.js';

const bar = (done: number, total: number): string => {
  const filled = Math.round((30 * done) / total);
  return `[${'='.repeat(filled)}${'-'.repeat(30 - filled)}] ${String(done)}/${String(total)}`;
};

describe('withProgress', () => {
  it('draws a bar from 0 to 100 % on a terminal, and ends its line', async () => {
    const terminal = new TestTerminal();
    const result = await withProgress({ progressTo: terminal }, 4, (progress) => {
      progress(1);
      progress(4);
      return Promise.resolve('done');
    });
    expect(result).toBe('done');
    expect(terminal.bars).toEqual([bar(0, 4), bar(4, 4)]);
    expect(terminal.text.endsWith('\n')).toBe(true);
  });

  it('draws the final number as total if it differs from the number counted before', async () => {
    const terminal = new TestTerminal();
    for (const done of [12, 7]) {
      await withProgress(
        { progressTo: terminal },
        () => Promise.resolve(10),
        (progress) => {
          progress(done);
          return Promise.resolve();
        },
      );
    }
    expect(terminal.bars).toEqual([bar(0, 10), bar(12, 12), bar(0, 10), bar(7, 7)]);
  });

  it('ends the line of the bar when the work fails', async () => {
    const terminal = new TestTerminal();
    const failing = withProgress({ progressTo: terminal }, 4, (progress) => {
      progress(1);
      return Promise.reject(new Error('no answer'));
    });
    await expect(failing).rejects.toThrow('no answer');
    expect(terminal.bars).toEqual([bar(0, 4), bar(1, 4)]);
    expect(terminal.text.endsWith('\n')).toBe(true);
  });

  it('draws no bar without a terminal, or if the count of the work is 0', async () => {
    const terminal = new TestTerminal();
    let counts = 0;
    const count = (): Promise<number> => {
      counts++;
      return Promise.resolve(0);
    };
    expect(await withProgress({}, count, () => Promise.resolve(1))).toBe(1);
    expect(counts).toBe(0);
    expect(await withProgress({ progressTo: terminal }, count, () => Promise.resolve(2))).toBe(2);
    expect([counts, terminal.text]).toEqual([1, '']);
  });
});

describe('withReports', () => {
  it('draws a bar and writes no lines on a terminal', async () => {
    const terminal = new TestTerminal();
    const lines: string[] = [];
    const output = { progressTo: terminal, err: (text: string) => void lines.push(text) };
    await withReports(output, 4, (progress) => {
      progress(4);
      return Promise.resolve();
    });

    expect(terminal.bars.at(-1)).toBe(bar(4, 4));
    expect(lines).toEqual([]);
  });

  it('writes lines without a terminal, and no lines after the end of the work', async () => {
    const lines: string[] = [];
    const write = (text: string): void => void lines.push(text);
    await withReports(
      { err: write },
      4,
      async (progress) => {
        await waitFor(() => lines.length > 0);
        progress(3);
        await waitFor(() => lines.length > 2);
        progress(5);
        await waitFor(() => lines.some((line) => line.includes('5 of 5')));
      },
      5,
    );
    const count = lines.length;
    await sleep(30);

    expect(lines[0]).toBe('pumphouse: 0 of 4 jobs\n');
    expect(lines).toContain('pumphouse: 3 of 4 jobs\n');
    expect(lines).toHaveLength(count);
  });
});
