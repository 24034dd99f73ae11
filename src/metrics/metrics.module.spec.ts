import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { MetricsModule } from './metrics.module.js';
import { MetricsService } from './metrics.service.js';

async function start(): Promise<NestFastifyApplication> {
  const metrics = MetricsModule.forRoot({ maxQueues: 10, readsPools: true, pumpBatch: 64 });
  const app = (
    await Test.createTestingModule({ imports: [metrics] }).compile()
  ).createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
  return app.init();
}

describe('MetricsModule', () => {
  it('provides the process metrics, and opens no route', async () => {
    const [app, second] = [await start(), await start()];
    expect(await app.get(MetricsService).text()).toMatch(/^process_resident_memory_bytes \d+/m);
    expect((await app.inject('/metrics')).statusCode).toBe(404);
    await Promise.all([app.close(), second.close()]);
  });
});
