export default async function globalTeardown() {
  await globalThis.pumphouseTestTopology?.stop();
}
