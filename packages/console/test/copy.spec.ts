import { copiedOptions } from '../src/lib/copy.js';
import { rawMembers } from '../src/lib/raw-json.js';

describe('the options of a copy', () => {
  const copied = (job: string): Record<string, string> => Object.fromEntries(copiedOptions(rawMembers(job)));

  it('are those of the job as they are written, without its id and what is not set', () => {
    const job = '{"id":"a","queue":"q","type":null,"tags":[],"tries":3,"retry":{"delay_ms":1.50},"data":1}';
    expect(copied(job)).toEqual({ tries: '3', retry: '{"delay_ms":1.50}' });
  });

  it('have the URL of a push as push, and the other attributes as they are', () => {
    const url = '"https://hooks.example/a"';
    expect(copied(`{"attributes":{"push/url":${url}}}`)).toEqual({ push: `{"url":${url}}` });
    expect(copied(`{"attributes":{"trace":"a","push/url":${url}}}`)).toEqual({
      attributes: '{"trace":"a"}',
      push: `{"url":${url}}`,
    });
  });

  it('have the content type of bytes, and that of JSON which is not the usual one', () => {
    expect(copied('{"data":1,"content_type":"application/json"}')).toEqual({});
    const special = '"application/cloudevents+json"';
    expect(copied(`{"data":1,"content_type":${special}}`)).toEqual({ content_type: special });
    const plain = '"application/json"';
    expect(copied(`{"data_base64":"W10=","content_type":${plain}}`)).toEqual({ content_type: plain });
  });
});
