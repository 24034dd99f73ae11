import { Test } from '@nestjs/testing';
import { MetricsModule } from './metrics.module.js';
import { MetricsService } from './metrics.service.js';

async function start() {
  const metrics = MetricsModule.forRoot({
    maxQueues: 10,
    lmstfyNames: true,
    readsPools: true,
    pumpBatch: 64,
  });
  return Test.createTestingModule({ imports: [metrics] }).compile();
}

describe('MetricsModule', () => {
  it('provides the metrics of the process to two applications in one process', async () => {
    const apps = [await start(), await start()];
    for (const app of apps) {
      expect(await app.get(MetricsService).text()).toMatch(/^process_resident_memory_bytes \d+/m);
      await app.close();
    }
  });
});
