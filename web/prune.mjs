// Drops from a style sheet what the scripts beside it can never use: rules whose every selector needs a class of
// PatternFly that no script names, custom properties that nothing reads, and faces of fonts that are not asked for (italics, icons,
// display: headings have the text's font).

// A sheet as a tree: {head, body: [rules]} for blocks of rules, {head, text} for blocks of declarations.
function parse(css) {
  let i = 0;
  function skipString(q) {
    for (i++; i < css.length && css[i] !== q; i++) {
      if (css[i] === '\\') {
        i++;
      }
    }
  }
  function block() {
    const nodes = [];
    let start = i;
    for (; i < css.length; i++) {
      const c = css[i];
      if (c === '"' || c === "'") {
        skipString(c);
      } else if (c === '/' && css[i + 1] === '*') {
        i = css.indexOf('*/', i) + 1;
      } else if (c === ';') {
        nodes.push({ decl: css.slice(start, i).replace(/\/\*[^]*?\*\//g, '').trim() });
        start = i + 1;
      } else if (c === '{') {
        const head = css.slice(start, i).replace(/\/\*[^]*?\*\//g, '').trim();
        i++;
        nodes.push({ head, body: block() });
        start = i + 1;
      } else if (c === '}') {
        const rest = css.slice(start, i).replace(/\/\*[^]*?\*\//g, '').trim();
        if (rest) {
          nodes.push({ decl: rest });
        }
        return nodes;
      }
    }
    return nodes;
  }
  return block();
}

function print(nodes) {
  return nodes.map((n) => (n.decl !== undefined ? `${n.decl};` : `${n.head} {${print(n.body)}}\n`)).join('');
}

function splitSelectors(head) {
  const parts = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < head.length; i++) {
    const c = head[i];
    if (c === '(' || c === '[') {
      depth++;
    } else if (c === ')' || c === ']') {
      depth--;
    } else if (c === ',' && depth === 0) {
      parts.push(head.slice(start, i).trim());
      start = i + 1;
    }
  }
  parts.push(head.slice(start).trim());
  return parts;
}

// Themes the pages do not offer, though some script names them.
const NEVER = /^pf-v6-theme-(glass|felt|redhat|high-contrast)$/;

// Takes name(...) out of a selector, with its argument; balanced.
function takeOut(selector, name) {
  const args = [];
  let rest = '';
  for (let i = 0; i < selector.length; ) {
    if (!selector.startsWith(name, i)) {
      rest += selector[i++];
      continue;
    }
    let depth = 1;
    let j = i + name.length;
    for (; j < selector.length && depth > 0; j++) {
      depth += selector[j] === '(' ? 1 : selector[j] === ')' ? -1 : 0;
    }
    args.push(selector.slice(i + name.length, j - 1));
    i = j;
  }
  return { rest, args };
}

function usable(selector, words) {
  let plain = takeOut(selector, ':not(').rest;
  for (const name of [':is(', ':where(', ':has(']) {
    const t = takeOut(plain, name);
    if (t.args.some((a) => !splitSelectors(a).some((s) => usable(s, words)))) {
      return false;
    }
    plain = t.rest;
  }
  for (const m of plain.matchAll(/\.((?:[\w-]|\\.)+)/g)) {
    const name = m[1].replace(/\\/g, '');
    if (name.startsWith('pf-') && (!words.has(name) || NEVER.test(name))) {
      return false;
    }
  }
  return true;
}

function dropRules(nodes, words) {
  return nodes.filter((n) => {
    if (n.decl !== undefined) {
      return true;
    }
    if (n.head.startsWith('@font-face')) {
      const text = print(n.body);
      return !/italic|pficon|Red Hat Display/.test(text);
    }
    if (n.head.startsWith('@keyframes')) {
      return true;
    }
    if (n.head.startsWith('@')) {
      n.body = dropRules(n.body, words);
      return n.body.length > 0;
    }
    const keep = splitSelectors(n.head).filter((s) => usable(s, words));
    n.head = keep.join(', ');
    n.body = dropRules(n.body, words);
    return keep.length > 0 && n.body.length > 0;
  });
}

function readNames(nodes, into) {
  for (const n of nodes) {
    if (n.decl !== undefined) {
      const value = n.decl.slice(n.decl.indexOf(':'));
      for (const m of value.matchAll(/--[\w-]+/g)) {
        into.add(m[0]);
      }
    } else {
      readNames(n.body, into);
    }
  }
}

function dropProperties(nodes, used) {
  let dropped = 0;
  const kept = nodes.filter((n) => {
    if (n.decl === undefined) {
      const r = dropProperties(n.body, used);
      n.body = r.kept;
      dropped += r.dropped;
      return n.body.length > 0;
    }
    const name = n.decl.slice(0, n.decl.indexOf(':')).trim();
    if (name.startsWith('--') && !used.has(name)) {
      dropped++;
      return false;
    }
    return true;
  });
  return { kept, dropped };
}

export function prune(css, js) {
  const words = new Set(js.match(/[\w-]+/g));
  const named = new Set(js.match(/--[\w-]+/g));
  let nodes = dropRules(parse(css), words);
  for (;;) {
    const used = new Set(named);
    readNames(nodes, used);
    const r = dropProperties(nodes, used);
    nodes = r.kept;
    if (r.dropped === 0) {
      return print(nodes);
    }
  }
}

// Gives custom properties that no script names short names: the long ones are most of the sheet, also compressed.
export function shorten(css, js) {
  const named = new Set(js.match(/--[\w-]+/g));
  const pattern = /(?<![\w-])--pf-[\w-]+/g;
  const uses = new Map();
  for (const m of css.matchAll(pattern)) {
    uses.set(m[0], (uses.get(m[0]) ?? 0) + 1);
  }
  const short = new Map();
  const often = [...uses.keys()].filter((n) => !named.has(n)).sort((a, b) => uses.get(b) - uses.get(a) || (a < b ? -1 : 1));
  for (const name of often) {
    short.set(name, `--${short.size.toString(36)}`);
  }
  return css.replace(pattern, (n) => short.get(n) ?? n);
}
