import { client, useServer } from './fixture.js';
import { producerContract } from './producer-contract.js';

useServer();

producerContract('over HTTP', () => client);
