/**
 * `node scripts/checks/history.mjs FILE…`: has the history of a chaos run, as a failed run leaves it, checked again. Prints what the four
 * checkers (lost, unexpected, duplicated, leases) found; exits with 1 if that is anything.
 */
import '../../test/support/typescript-loader.mjs';

await import('../../test/faults/check-history.ts');
