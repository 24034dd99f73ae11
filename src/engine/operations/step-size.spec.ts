import { StepSize } from './step-size.js';

describe('the size of a step', () => {
  it('begins with what the action may do on a usual machine', () => {
    expect(new StepSize('cancel')).toMatchObject({ jobs: 32, entries: 128 });
    expect(new StepSize('patch')).toMatchObject({ jobs: 16, entries: 128 });
  });

  it('halves after a long step, down to a smallest one, and grows again after short ones', () => {
    const size = new StepSize('cancel');
    size.took(6);
    expect(size).toMatchObject({ jobs: 16, entries: 64 });
    for (let i = 0; i < 20; i++) size.took(1_000);
    expect(size).toMatchObject({ jobs: 8, entries: 32 });
    size.took(3);
    expect(size).toMatchObject({ jobs: 8, entries: 32 });
    for (let i = 0; i < 20; i++) size.took(1);
    expect(size).toMatchObject({ jobs: 32, entries: 128 });
  });
});
