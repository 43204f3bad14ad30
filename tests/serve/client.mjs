// OpenAI's client against the gateway.   node client.mjs URL KEY CASE [MODEL]
// Each case ends with "ok" on standard output, or with what was wrong.
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const [url, apiKey, name, model = 'tiny'] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
const say = (content, more = {}) => client.chat.completions.create({ model, messages: [{ role: 'user', content }], ...more });

async function failsWith(type, promise, also = {}) {
  const error = await promise.then(() => assert.fail(`no ${type.name}`), (e) => e);
  assert.equal(error.constructor.name, type.name, error.message);
  for (const [k, v] of Object.entries(also)) assert.equal(error[k], v, `${k}: ${error.message}`);
  return error;
}

const cases = {
  async models() {
    const ids = [];
    for await (const m of client.models.list()) ids.push(m.id);
    assert.deepEqual(ids, [model]);
    assert.equal((await client.models.retrieve(model)).object, 'model');
    await failsWith(OpenAI.NotFoundError, client.models.retrieve('none'), { code: 'model_not_found' });
  },
  async chat() {
    const answer = await say('hello there');
    assert.equal(answer.choices[0].message.content, 'hello there');
    assert.equal(answer.usage.total_tokens, 12);
  },
  async stream() {
    let text = '';
    let usage = 0;
    for await (const part of await say('one two three', { stream: true })) {
      text += part.choices[0]?.delta?.content ?? '';
      usage += part.usage ? 1 : 0;
    }
    assert.equal(text, 'one two three ');
    assert.equal(usage, 0, 'usage was not asked for');
    for await (const part of await say('one', { stream: true, stream_options: { include_usage: true } })) {
      usage += part.usage ? 1 : 0;
    }
    assert.equal(usage, 1, 'usage was asked for');
  },
  async tools() {
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }];
    const answer = await say('tools', { tools });
    assert.equal(answer.choices[0].message.tool_calls[0].function.name, 'weather');
  },
  async abort() {
    const stream = await say('slow words', { stream: true });
    let n = 0;
    for await (const part of stream) {
      if (part && ++n === 3) stream.controller.abort();
    }
    assert.ok(n >= 3);
  },
  async embeddings() {
    const answer = await client.embeddings.create({ model, input: ['a', 'bcd'], encoding_format: 'float' });
    assert.deepEqual(answer.data.map((d) => d.embedding[0]), [1, 3]);
  },
  async errors() {
    await failsWith(OpenAI.InternalServerError, say('fail 500'), { status: 500 });
    await failsWith(OpenAI.BadRequestError, say('fail 400'), { status: 400 });
    const error = await failsWith(OpenAI.NotFoundError, say('x', { model: 'none' }), { code: 'model_not_found' });
    assert.match(error.message, /none/);
    await failsWith(OpenAI.BadRequestError, client.chat.completions.create({ messages: [] }));
  },
  async limited() {
    await say('first');
    const error = await failsWith(OpenAI.RateLimitError, say('second'), { code: 'rate_limit_exceeded' });
    assert.ok(Number(error.headers.get('retry-after')) > 0);
  },
  // The client's own retry waits as Retry-After says.
  async retried() {
    let refused = 0;
    const counting = async (...args) => {
      const answer = await fetch(...args);
      refused += answer.status === 429 ? 1 : 0;
      return answer;
    };
    const patient = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 5, fetch: counting });
    for (let i = 0; i < 100 && refused === 0; i++) {
      const answer = await patient.chat.completions.create({ model, messages: [{ role: 'user', content: `n${i}` }] });
      assert.equal(answer.choices[0].message.content, `n${i}`);
    }
    assert.ok(refused > 0, 'nothing was refused');
  },
  async refused() {
    await failsWith(OpenAI.AuthenticationError, say('x'), { status: 401 });
  },
  async zero() {
    let text = '';
    for await (const part of await say('after a while', { stream: true })) text += part.choices[0]?.delta?.content ?? '';
    assert.equal(text, 'after a while ');
  },
};

await cases[name]();
console.log('ok');
