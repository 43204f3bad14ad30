// An OpenID Connect provider (npm's oidc-provider) for tests, on HTTPS: provider.mjs CERT KEY. Prints its issuer URL.
//
// Anybody signs in by a name; names are in the groups of GROUPS. POST /test/...: mint (a token of any claims, signed well
// or badly), rotate (other keys; {keep: true}: the old ones stay published), broken ({status}: what documents are
// answered with from now on, 0: as they are), count (how often keys were fetched).
import { createHmac, createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { SignJWT, exportJWK, exportSPKI, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

const GROUPS = { ann: ['dev', 'ops'], bob: ['dev'], eve: ['system:masters'] };
const [cert, key] = process.argv.slice(2, 4).map((f) => readFileSync(f));
const pairs = []; // newest first; {rsa, ec, kid}
let published = [], issuer, callback, broken = 0, fetched = 0, made = 0;

async function pair(alg, kid) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, publicKey, kid, jwk: { ...(await exportJWK(privateKey)), kid, use: 'sig' } };
}

async function newKeys() {
  made += 1;
  pairs.unshift({ RSA: await pair('RS256', `rsa-${made}`), EC: await pair('ES256', `ec-${made}`) });
  return [pairs[0].RSA.jwk, pairs[0].EC.jwk];
}

function provide() {
  const provider = new Provider(issuer, {
    clients: [
      { client_id: 'berth', application_type: 'native', token_endpoint_auth_method: 'none',
        redirect_uris: ['http://127.0.0.1/callback', 'http://127.0.0.1/dashboard/session/callback'],
        grant_types: ['authorization_code'], response_types: ['code'] },
    ],
    jwks: { keys: published },
    cookies: { keys: ['a key of tests'] },
    claims: { openid: ['sub'], profile: ['name'], groups: ['groups'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: true } },
    pkce: { required: () => true, methods: ['S256'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({
      sub: id, name: `Name of ${id}`, email: `${id}@example.com`, email_verified: true, groups: GROUPS[id] ?? [] }) }),
  });
  provider.on('server_error', (_, err) => console.error(err));
  callback = provider.callback();
}

const b64 = (x) => Buffer.from(typeof x === 'string' ? x : JSON.stringify(x)).toString('base64url');

// how: "" (well, with alg), "none", "hmac" (the public key as a secret), "stranger" (another's key, our kid), "unknown"
async function mint({ claims, alg = 'RS256', how = '', header = {}, generation = 0 }) {
  const k = pairs[generation][alg.startsWith('E') ? 'EC' : 'RSA'];
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: issuer, aud: 'berth', sub: 'ann', iat: now, exp: now + 600, ...claims };
  if (how === 'none' || how === 'hmac') {
    const text = `${b64({ alg: how === 'none' ? 'none' : 'HS256', kid: k.kid, ...header })}.${b64(all)}`;
    const secret = await exportSPKI(k.publicKey);
    return `${text}.${how === 'none' ? '' : createHmac('sha256', secret).update(text).digest('base64url')}`;
  }
  const ours = createPrivateKey({ key: k.jwk, format: 'jwk' });
  const signer = how ? (await generateKeyPair(alg)).privateKey : ours;
  const kid = how === 'unknown' ? `unknown-${Math.random()}` : k.kid;
  return new SignJWT(all).setProtectedHeader({ alg, kid, ...header }).sign(signer, { crit: { x: true } });
}

async function test(what, body) {
  switch (what) {
  case 'mint':
    return { token: await mint(body) };
  case 'rotate':
    published = [...(await newKeys()), ...(body.keep ? published : [])];
    provide();
    return { keys: published.map((k) => k.kid) };
  case 'broken':
    broken = body.status;
    return {};
  case 'count':
    return { fetched };
  default:
    throw new Error(`no such thing: ${what}`);
  }
}

async function bodyOf(req) {
  const parts = [];
  for await (const part of req) parts.push(part);
  return parts.length ? JSON.parse(Buffer.concat(parts)) : {};
}

async function answer(req, res) {
  if (req.url.startsWith('/test/')) {
    const said = await test(req.url.slice(6), await bodyOf(req)).catch((e) => ({ error: String(e.stack) }));
    res.end(JSON.stringify(said));
    return;
  }
  fetched += req.url === '/jwks';
  if (broken && (req.url === '/jwks' || req.url.startsWith('/.well-known'))) {
    res.writeHead(broken).end('{}');
    return;
  }
  callback(req, res);
}

published = await newKeys();
const server = createServer({ cert, key }, answer);
server.listen(0, '127.0.0.1', () => {
  issuer = `https://127.0.0.1:${server.address().port}`;
  provide();
  console.log(issuer);
});
process.stdin.on('end', () => process.exit(0)).resume(); // whoever started it is gone
