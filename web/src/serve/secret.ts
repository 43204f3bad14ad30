// The secret of a key: drawn in the browser, so that the server never has it. 256 random bits, in base64url.

const BEGINS = 'sk-berth-';
const PREFIX = 16; // characters that are kept to recognise it

export interface Secret {
  text: string;
  sha256: string;
  prefix: string;
}

export async function secretNew(): Promise<Secret> {
  const bits = crypto.getRandomValues(new Uint8Array(32));
  const text = BEGINS + btoa(String.fromCharCode(...bits)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return { text, sha256: [...digest].map((b) => b.toString(16).padStart(2, '0')).join(''), prefix: text.slice(0, PREFIX) };
}
