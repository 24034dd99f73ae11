/**
 * Preloaded into a server (NODE_OPTIONS=--import): on SIGUSR2 it writes to the file named by EXECUTED_FILES which of our files executed a function
 * since the last time, one path per line, from V8's precise coverage.
 */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

const FILE = process.env.EXECUTED_FILES ?? '';
const DIST = /^(?!.*\/node_modules\/).*\/dist\/(.+)\.js$/;

if (FILE !== '') {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  process.on('SIGUSR2', () => {
    void session.post('Profiler.takePreciseCoverage').then(({ result }) => {
      const executed = result
        .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
        .flatMap(({ url }) => DIST.exec(url)?.[1] ?? []);
      writeFileSync(FILE, `${executed.sort().join('\n')}\n`);
    });
  });
}
