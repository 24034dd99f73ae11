import { beforeAll } from '@jest/globals';
import { emptyTestStore } from './redis.js';

// Keys and namespaces of earlier spec files would make every scan and every loop of this one slower.
beforeAll(emptyTestStore);
