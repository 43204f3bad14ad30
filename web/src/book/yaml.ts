/*
 * Plain values as YAML that kubectl reads. Strings that could be taken for something else are written in double
 * quotes, as JSON would: every JSON string is a YAML string.
 */
const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./@-]*( [A-Za-z0-9_./@-]+)*$/;
const WORDS = /^(true|false|yes|no|on|off|null|y|n|~)$/i;

function scalar(v: unknown): string {
  if (typeof v === 'string') return PLAIN.test(v) && !WORDS.test(v) ? v : JSON.stringify(v);
  if (v === null || v === undefined) return 'null';
  return String(v);
}

const isMap = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);
const isEmpty = (v: unknown): boolean => (Array.isArray(v) ? v.length === 0 : isMap(v) && Object.keys(v).length === 0);

function lines(v: unknown, indent: string): string[] {
  const out: string[] = [];
  if (Array.isArray(v)) {
    for (const item of v) {
      if ((isMap(item) || Array.isArray(item)) && !isEmpty(item)) {
        const inner = lines(item, `${indent}  `);
        out.push(`${indent}- ${(inner[0] ?? '').trimStart()}`, ...inner.slice(1));
      } else {
        out.push(`${indent}- ${isEmpty(item) ? (Array.isArray(item) ? '[]' : '{}') : scalar(item)}`);
      }
    }
    return out;
  }
  for (const [key, value] of Object.entries(v as Record<string, unknown>)) {
    if (value === undefined) continue;
    const name = scalar(key);
    if (isEmpty(value)) out.push(`${indent}${name}: ${Array.isArray(value) ? '[]' : '{}'}`);
    else if (Array.isArray(value)) out.push(`${indent}${name}:`, ...lines(value, indent));
    else if (isMap(value)) out.push(`${indent}${name}:`, ...lines(value, `${indent}  `));
    else out.push(`${indent}${name}: ${scalar(value)}`);
  }
  return out;
}

export function toYaml(v: unknown): string {
  if (isMap(v) || Array.isArray(v)) return `${isEmpty(v) ? (Array.isArray(v) ? '[]' : '{}') : lines(v, '').join('\n')}\n`;
  return `${scalar(v)}\n`;
}

export const toYamlStream = (all: unknown[]): string => all.map(toYaml).join('---\n');
