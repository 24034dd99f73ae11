import { setFlagsFromString } from 'node:v8';

/**
 * How V8 is to run while a process loads its code: without optimising. What is hot then is the loader of modules, which nobody needs
 * again, and a fifth of the CPU until a server serves went into optimising it. Call it before that code is loaded.
 */
export function beginStart(): void {
  setFlagsFromString('--no-opt');
}

/** What is hot from here on is worth it. */
export function endStart(): void {
  setFlagsFromString('--opt');
}
