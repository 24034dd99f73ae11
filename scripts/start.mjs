/**
 * `npm start`: makes a machine with nothing but Node.js and npm run the server. Installs packages and a Redis where
 * they are missing, builds where sources are newer, then runs the server in the foreground with the arguments given.
 */
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`pumphouse: Node.js 20.19 or later is needed; this is ${process.versions.node}\n`);
  process.exit(1);
}

const { prepare } = await import('./setup/prepare.mjs');
const { ROOT, serve } = await import('./setup/run.mjs');
const { join } = await import('node:path');

const args = process.argv.slice(2);
if (!prepare(args)) process.exit(1);
// A switch of ours; the server knows no such setting.
const { PUMPHOUSE__NO_INSTALL: _, ...env } = process.env;
process.exitCode = await serve([process.execPath, join(ROOT, 'dist', 'main.js'), ...args], { env });
// The signal handlers must not keep us.
process.exit();
