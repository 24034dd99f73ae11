import { setFlagsFromString } from 'node:v8';

/**
 * V8's mid-tier compiler Maglev is on by default since Node.js 24 (V8 13). Code that it compiles while Turbofan is off
 * often is never optimised further (Node.js 24.21, 4 of 6 runs), so both are off during the start.
 */
const COMPILERS = Number.parseInt(process.versions.v8, 10) >= 13 ? ['opt', 'maglev'] : ['opt'];

/**
 * Turns off V8's optimising compilers while a process loads its code. The hot code of that phase is the module loader,
 * which is not needed later; optimising it took a fifth of the CPU time of the start. Call it before that code is
 * loaded.
 */
export function beginStart(): void {
  for (const compiler of COMPILERS) setFlagsFromString(`--no-${compiler}`);
}

/** Turns the optimising compilers on again. */
export function endStart(): void {
  for (const compiler of COMPILERS) setFlagsFromString(/* guard: compilers-are-on-again */ `--${compiler}`);
}
