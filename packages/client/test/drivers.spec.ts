import { isPumphouseError } from '../src/node.js';
import { MemoryDriver } from '../src/testing/index.js';
import { fetchTransport } from '../src/transport/fetch-transport.js';
import { driverContract } from './driver-contract.js';
import { client, clientOf, useServer } from './fixture.js';

useServer();

const find = (id: string) =>
  client.jobs.get(id).catch((error: unknown) => {
    if (isPumphouseError(error, 'job_not_found')) return null;
    throw error;
  });
const cancel = (id: string) => client.jobs.cancel(id);

driverContract('over HTTP', () => ({ driver: client.driver, find, cancel }));

driverContract('over HTTP by fetch, as in browsers', () => ({
  driver: clientOf({ transport: fetchTransport }).driver,
  find,
  cancel,
}));

const memory = new MemoryDriver();
driverContract('in memory', () => ({
  driver: memory,
  find: (id) => {
    const job = memory.jobs.find((one) => one.id === id);
    return Promise.resolve(job ? { ...job } : null);
  },
  cancel: (id) => {
    memory.cancel(id);
    return Promise.resolve();
  },
}));
