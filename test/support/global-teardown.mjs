export default async function globalTeardown() {
  await globalThis.pumphouseTestRedis?.stop();
}
