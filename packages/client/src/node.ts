/** The same for Node.js, over `node:http`. */
import { setUsualTransport } from './pumphouse.js';
import { nodeTransport } from './transport/node-transport.js';

setUsualTransport(nodeTransport);

export * from './index.js';
