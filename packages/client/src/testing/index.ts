/** For tests of programs that use this library. Node.js only. */
export { MemoryDriver, type MemoryJob, type MemoryState } from './memory-driver.js';
export { testWorker, TestWorker } from './test-worker.js';
export { startTestServer, type TestServer, type TestServerOptions } from './test-server.js';
