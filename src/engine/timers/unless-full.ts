import { QueueError } from '../../domain/errors.js';

/**
 * Runs what can wait, or be left out, while the store is full. That is no error of a loop: the server shows by itself that the
 * store is full.
 *
 * @returns what `run` returns; 0 if the store was full
 * @throws {QueueError} another error of the store
 */
export async function unlessFull(run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof QueueError && error.code === 'store_full') return 0;
    throw error;
  }
}
