#!/usr/bin/env node
import { createInterface } from 'node:readline';
import { fileProblem } from '#src/config/text-files';
import { Unreachable } from './admin-client.js';
import { EXIT } from './failures.js';
import { run } from './program.js';

const { stdin, stdout, stderr } = process;

for (const stream of [stdout, stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that ends early, as `head` does, is no error. Without one for messages, the work goes on.
    if (error.code === 'EPIPE' && stream === stderr) return;
    if (error.code === 'EPIPE') process.exit();
    if (stream === stdout) stderr.write(`pumphouse: cannot write the output: ${fileProblem(error)}\n`);
    process.exit(EXIT.failed);
  });
}

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => stdout.write(text),
  err: (text) => stderr.write(text),
  isTerminal: stdout.isTTY,
  ...(stderr.isTTY ? { progressTo: stderr } : {}),
  // Knows NO_COLOR, NODE_DISABLE_COLORS, FORCE_COLOR and TERM=dumb.
  hasColor: stdout.isTTY && stdout.hasColors(),
  ...(stdin.isTTY ? {} : { input: readInput }),
  ...(stdin.isTTY && stderr.isTTY ? { confirm } : {}),
  onInterrupt: (listener) => {
    process.once('SIGINT', listener);
    return () => process.off('SIGINT', listener);
  },
});

async function readInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stdin) chunks.push(chunk as Buffer);
  } catch (error) {
    throw new Unreachable(`cannot read the standard input: ${fileProblem(error)}`);
  }
  return Buffer.concat(chunks);
}

/** The end of the input, or Ctrl-C, is a no. */
function confirm(prompt: string): Promise<boolean> {
  const reader = createInterface({ input: stdin, output: stderr });
  return new Promise((resolve) => {
    reader.once('close', () => resolve(false));
    reader.question(prompt, (text) => {
      resolve(/^y(es)?$/i.test(text.trim()));
      reader.close();
    });
  });
}
