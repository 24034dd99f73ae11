/** A program with a `testWorker` that it does not stop. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineJob } from '../src/node.js';
import { testWorker } from '../src/testing/index.js';

const mail = defineJob<string, string>({ queue: 'mail' });
const test = testWorker((worker) =>
  worker.handle(mail, async ({ data }) => {
    await sleep(50);
    return data === 'ada' ? 'sent to ada' : 'waited';
  }),
);
const { id } = await test.publish(mail, 'ada');
await test.drain();
console.log(test.job(id)?.state, test.job(id)?.result);
const { state, result } = await test.publishAndWait(mail, 'bob');
console.log(state, result);
