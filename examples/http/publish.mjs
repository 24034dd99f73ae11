// Publishes one job over HTTP: no library. PUMPHOUSE_TOKEN=… node publish.mjs ada
const {
  PUMPHOUSE_URL = 'http://127.0.0.1:7777',
  PUMPHOUSE_NAMESPACE = 'demo',
  PUMPHOUSE_TOKEN = '',
} = process.env;
const [, , to = 'ada'] = process.argv;

const response = await fetch(`${PUMPHOUSE_URL}/v1/${PUMPHOUSE_NAMESPACE}/jobs`, {
  method: 'POST',
  // With the same key, the same request may be sent again: the job is stored once.
  headers: { 'X-Token': PUMPHOUSE_TOKEN, 'Idempotency-Key': `mail-${to}` },
  body: JSON.stringify({ queue: 'mail', data: { to }, tries: 3 }),
});
console.log(response.status, await response.text());
process.exitCode = response.ok ? 0 : 1;
