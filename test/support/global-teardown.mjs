import { rmSync } from 'node:fs';

export default async function globalTeardown() {
  rmSync(process.env.PUMPHOUSE_TEST_TARBALLS, { recursive: true, force: true });
  await globalThis.pumphouseTestTopology?.stop();
}
