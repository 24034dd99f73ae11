import { register } from 'node:module';

/**
 * Lets a child process of a test run the files of src/ without a build:
 * `node --import ./test/support/typescript-loader.mjs file.ts`.
 */
register('./typescript-hooks.mjs', import.meta.url);
