// Runs jobs one at a time over HTTP: no library. PUMPHOUSE_TOKEN=… node work.mjs
import { setTimeout as sleep } from 'node:timers/promises';

const {
  PUMPHOUSE_URL = 'http://127.0.0.1:7777',
  PUMPHOUSE_NAMESPACE = 'demo',
  PUMPHOUSE_TOKEN = '',
} = process.env;
const TTR_MS = 30_000;

async function post(path, body) {
  const headers = { 'X-Token': PUMPHOUSE_TOKEN };
  const url = `${PUMPHOUSE_URL}/v1/${PUMPHOUSE_NAMESPACE}/${path}`;
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${answer.code}`);
  return answer;
}

async function send({ to }) {
  if (typeof to !== 'string') throw new TypeError('`to` must be a text');
  console.log(`mail to ${to}`);
}

let isStopping = false;
process.on('SIGTERM', () => (isStopping = true));
while (!isStopping) {
  try {
    // Waits up to a second for a job.
    const { jobs } = await post('leases', { queues: ['mail'], wait_ms: 1_000, ttr_ms: TTR_MS });
    for (const { id, lease, data } of jobs) {
      // Work that may take longer than the lease extends it.
      const timer = setInterval(
        () => post(`jobs/${id}/heartbeat`, { lease, ttr_ms: TTR_MS }).catch(console.error),
        TTR_MS / 3,
      );
      const failure = await send(data).then(
        () => undefined,
        (error) => ({ group: error.name, message: error.message }),
      );
      clearInterval(timer);
      // `retry` gives the job back for its next try; without one it is dead.
      if (failure) await post(`jobs/${id}/retry`, { lease, ...failure });
      else await post(`jobs/${id}/ack`, { lease });
    }
  } catch (error) {
    console.error(error.message); // the server is away, or the lease is lost: the job comes back
    await sleep(1_000);
  }
}
