import { SingleBar } from 'cli-progress';
import type { Output } from './print.js';

const BAR_CHARACTERS = 30;
/** Time between two lines about work that goes on, in milliseconds. */
const LINE_MS = 10_000;

/** Sets how much of the work is done. */
export type Progress = (done: number) => void;

/**
 * Does a piece of work under a progress bar on the standard error, if that is a terminal.
 *
 * @param total how much there is to do; a function is called only if a bar is drawn
 */
export async function withProgress<T>(
  { progressTo: stream }: Pick<Output, 'progressTo'>,
  total: number | (() => Promise<number>),
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  if (stream === undefined) return work(() => undefined);
  const all = typeof total === 'number' ? total : await total();
  if (all === 0) return work(() => undefined);
  const bar = new SingleBar({
    ...{ stream, barsize: BAR_CHARACTERS, format: '[{bar}] {value}/{total}' },
    // Else Ctrl-C would leave the terminal without line breaks.
    linewrap: true,
  });
  let done = 0;
  bar.start(all, 0);
  try {
    const result = await work((value) => {
      done = value;
      // Jobs may have been added since the total was counted.
      bar.setTotal(Math.max(all, done));
      bar.update(done);
    });
    // Or deleted.
    bar.setTotal(done);
    return result;
  } finally {
    // Its timer keeps the process alive.
    bar.stop();
  }
}

/** Does a piece of work under a progress bar, or without a terminal with a line every ten seconds. */
export async function withReports<T>(
  output: Pick<Output, 'progressTo' | 'err'>,
  total: number,
  work: (progress: Progress) => Promise<T>,
  everyMs = LINE_MS,
): Promise<T> {
  if (output.progressTo !== undefined) return withProgress(output, total, work);
  let done = 0;
  const stop = reportLines(output, () => `${String(done)} of ${String(Math.max(total, done))} jobs`, everyMs);
  try {
    return await work((value) => (done = value));
  } finally {
    stop();
  }
}

/** Writes a line at intervals. @returns a function that ends it */
export function reportLines({ err }: Pick<Output, 'err'>, line: () => string, everyMs = LINE_MS): () => void {
  const timer = setInterval(() => err(`pumphouse: ${line()}\n`), everyMs);
  return () => clearInterval(timer);
}
