// Every English word of the dashboard is in strings.ts: what a person reads or hears elsewhere in the sources is a
// fault. Looked at are the text of elements, attributes that are read out or shown, what is told by notes, and anything
// that reads like a sentence.   node words.mjs WEB

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const web = resolve(process.argv[2]);
const ts = createRequire(join(web, 'package.json'))('typescript');

// Shown or read out, in HTML and in the parts of PatternFly that are used.
const SHOWN = /^(title|titleText|text|toggleText|label|alt|placeholder|description|content|caption|summary|heading|lead|what|action|search|none|more|how)$|^aria-(label|description|roledescription|valuetext)$|AriaLabel$/;
const TOLD = /^(toast|toastError|announce|ApiError)$/;
const LETTERS = /[A-Za-z]{2}/;
const SENTENCE = /^[A-Z][a-z]+ [a-z]+|[a-z]{2,} [a-z]{2,}[.!?]$/;
// Names that are the same in every language.
const SAME = /^(UTC|GPU|YAML|GB|GiB|Berth)$/;

const LOOKS = /^(success|danger|warning|info)$/; // of a note

const speaks = (text) => LETTERS.test(text) && !SAME.test(text.trim());

// The literals a value may come to, through choices, joins and templates; not those inside calls.
function literals(e, out) {
  if (!e) {
    return out;
  }
  if (ts.isStringLiteralLike(e)) {
    out.push([e, e.text]);
  } else if (ts.isTemplateExpression(e)) {
    for (const part of [e.head, ...e.templateSpans.map((s) => s.literal)]) {
      out.push([e, part.text]);
    }
    e.templateSpans.forEach((s) => literals(s.expression, out));
  } else if (ts.isConditionalExpression(e)) {
    literals(e.whenTrue, out);
    literals(e.whenFalse, out);
  } else if (ts.isBinaryExpression(e)) {
    if (!/[=<>]/.test(e.operatorToken.getText())) {
      literals(e.left, out);
      literals(e.right, out);
    }
  } else if (ts.isParenthesizedExpression(e) || ts.isAsExpression(e) || ts.isJsxExpression(e)) {
    literals(e.expression, out);
  } else if (ts.isArrayLiteralExpression(e)) {
    e.elements.forEach((x) => literals(x, out));
  }
  return out;
}

export function faults(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
  const found = new Map();
  const fault = (node, words) => {
    const at = source.getLineAndCharacterOfPosition(node.getStart());
    found.set(node.getStart(), `${file}:${at.line + 1}: ${words.trim()}`);
  };
  const each = (e) => literals(e, []).forEach(([node, words]) => speaks(words) && fault(node, words));
  const visit = (n) => {
    if (ts.isImportDeclaration(n) || ts.isTypeNode(n)) {
      return;
    }
    const name = ts.isCallExpression(n) || ts.isNewExpression(n) ? n.expression.getText() : '';
    if (ts.isThrowStatement(n) && n.expression && ts.isNewExpression(n.expression) && n.expression.expression.getText() === 'Error') {
      return; // for who reads the console
    }
    if (ts.isJsxText(n) && speaks(n.text)) {
      fault(n, n.text);
    } else if (ts.isJsxExpression(n) && !ts.isJsxAttribute(n.parent)) {
      each(n);
    } else if (ts.isJsxAttribute(n) && SHOWN.test(n.name.getText()) && n.initializer) {
      each(n.initializer);
    } else if (TOLD.test(name)) {
      n.arguments?.forEach((a) => !(ts.isStringLiteral(a) && LOOKS.test(a.text)) && each(a));
    } else if (ts.isStringLiteralLike(n) && SENTENCE.test(n.text)) {
      fault(n, n.text);
    }
    ts.forEachChild(n, visit);
  };
  visit(source);
  return [...found.values()];
}

// What must be found, and what must not: a check that finds nothing at all would pass as well.
const BAD = ['<p>Hello</p>', '<p>{a ? "Hello" : b}</p>', '<p>{a && `Hello ${b}`}</p>', '<b title="Hello" />', '<b aria-label={`of ${a}`} />',
  'toast("Saved")', 'announce(a || "No more")', 'const x = "It was not done.";', 'new ApiError(0, "No answer")', '<p>{a + " more"}</p>'];
const GOOD = ['<p>{s.hello} ({b})</p>', '<b className="b-a b-b" id="x" />', '<b title={s.of(a)} />', 'toast(s.saved, "danger")', 'type A = "Some text here";',
  '<p>{f("name", a)}</p>', 'throw new Error("no session here.");', '<p>{a === "left" ? s.left : s.right}</p>', '<p>{`${a} × ${b}`}</p>', '<b data-state="error" />'];
for (const t of BAD) {
  if (faults('bad.tsx', t).length === 0) {
    console.error(`words: not found: ${t}`);
    process.exit(1);
  }
}
for (const t of GOOD) {
  const f = faults('good.tsx', t);
  if (f.length > 0) {
    console.error(`words: no fault: ${f}`);
    process.exit(1);
  }
}
const src = join(web, 'src');
const all = readdirSync(src, { recursive: true }).filter((f) => /\.tsx?$/.test(f) && f !== 'strings.ts').sort();
const found = all.flatMap((f) => faults(f, readFileSync(join(src, f), 'utf8')));
if (found.length > 0) {
  console.error(`words outside strings.ts:\n${found.join('\n')}`);
  process.exit(1);
}
console.log(`words: those of ${all.length} files are in strings.ts`);
