import { setImmediate as turn } from 'node:timers/promises';
import { Batcher } from './scripts.js';

/** A batcher of numbers whose batches the test answers: each item is multiplied by ten. */
function batcherOf(maxItems?: number) {
  const sent: { namespace: string; items: readonly number[]; answer: () => void; fail: () => void }[] = [];
  const batcher = new Batcher<number, number>(
    (namespace, items) =>
      new Promise((resolve, reject) => {
        const answer = (): void => resolve(items.map((item) => item * 10));
        sent.push({ namespace, items, answer, fail: () => reject(new Error('away')) });
      }),
    maxItems,
  );
  const results: (readonly number[] | string)[] = [];
  const add = (namespace: string, ...items: number[]): void => {
    const at = results.push('open') - 1;
    batcher.add(namespace, items, 1, {
      done: (found, first) => (results[at] = found.slice(first, first + items.length)),
      failed: (error) => (results[at] = (error as Error).message),
    });
  };
  const items = (): (readonly number[])[] => sent.map((batch) => batch.items);
  return { add, sent, items, results };
}

describe('a batch of one turn', () => {
  it('contains the calls of one namespace, and returns to each call its own results', async () => {
    const { add, sent, items, results } = batcherOf();
    add('a', 1, 2);
    add('b', 3);
    add('a', 4);
    await turn();
    expect(items()).toEqual([[1, 2, 4], [3]]);

    for (const { answer } of sent) answer();
    await turn();
    expect(results).toEqual([[10, 20], [30], [40]]);
  });

  it('is split at its maximum number of items, and never within a call', async () => {
    const { add, items } = batcherOf(3);
    add('a', 1, 2);
    add('a', 3, 4);
    add('a', 5, 6, 7, 8);
    add('a', 9);
    await turn();

    expect(items()).toEqual([[1, 2], [3, 4], [5, 6, 7, 8], [9]]);
  });
});

describe('batches of several turns', () => {
  it('are each sent without waiting for the answer to an earlier batch', async () => {
    const { add, sent, items, results } = batcherOf();
    add('a', 1);
    await turn();
    add('a', 2);
    await turn();
    expect(items()).toEqual([[1], [2]]);

    sent[1]?.answer();
    await turn();
    expect(results).toEqual(['open', [20]]);
  });

  it('fail separately: a failed batch fails its own calls only', async () => {
    const { add, sent, results } = batcherOf();
    add('a', 1);
    add('a', 2);
    await turn();
    add('a', 3);
    await turn();
    sent[0]?.fail();
    sent[1]?.answer();
    await turn();

    expect(results).toEqual(['away', 'away', [30]]);
  });
});
