#!/usr/bin/env node
import { createInterface } from 'node:readline';
import { run } from './program.js';

// A reader that ends early, as `head` does, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const { stdin, stdout, stderr } = process;

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => stdout.write(text),
  err: (text) => stderr.write(text),
  isTerminal: stdout.isTTY,
  ...(stderr.isTTY ? { progressTo: stderr } : {}),
  // Knows NO_COLOR, NODE_DISABLE_COLORS, FORCE_COLOR and TERM=dumb.
  hasColor: stdout.isTTY && stdout.hasColors(),
  ...(stdin.isTTY ? {} : { input: readInput }),
  ...(stdin.isTTY && stderr.isTTY ? { confirm } : {}),
});

async function readInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(chunk as Buffer);
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
