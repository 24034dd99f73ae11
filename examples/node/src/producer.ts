import { PumphouseError } from '@pumphouse/client';
import { connect, resize } from './jobs.js';

const pumphouse = connect();

// One job, and its result.
const ended = await pumphouse.publishAndWait(resize, { file: 'cat.png', width: 320 }, { waitMs: 20_000 });
console.log(ended.state === 'done' ? `done: ${ended.result?.file}` : `not done: ${ended.state}`);

// Many jobs. They have no results to wait for.
const published = await pumphouse.publishAll(resize, [{ file: 'dog.png' }, { file: 'owl.png' }]);
console.log(`published: ${published.length}`);

// Input is checked before it is sent.
await pumphouse.publish(resize, { file: '' }).catch((error: unknown) => {
  if (!(error instanceof PumphouseError)) throw error;
  console.log(`refused: ${error.code}`);
});
