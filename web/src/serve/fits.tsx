// Where a model fits: a line of marks, one for each slice, and the same as a table; and what was measured of it.

import { FormGroup } from '@patternfly/react-core/dist/esm/components/Form';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { useState, type ReactNode } from 'react';
import { B, strings } from '../strings.ts';
import { num } from '../ui/names.ts';
import { bySize, gpusFor, within } from './fit.ts';
import type { CatalogModel, Fit } from './types.ts';

const s = strings.serve.models;

const nameOf = (f: Fit): string => f.slice ?? s.whole;

export function Marks(p: { of: CatalogModel }): ReactNode {
  return (
    <ul className="sv-marks" aria-label={s.fitsOn}>
      {[...(p.of.fits ?? [])].sort(bySize).map((f) => (
        <li key={`${f.gpu}${f.slice ?? ''}`} className={`sv-mark sv-${f.verdict}`} title={f.reason || undefined}>
          {nameOf(f)} <span className="sv-word">{s.verdict[f.verdict]}</span>
        </li>
      ))}
    </ul>
  );
}

function FitTable(p: { of: CatalogModel }): ReactNode {
  const number = (n: number | undefined): string => (n === undefined ? B.dash : num(n));
  return (
    <div className="b-scroll-x" tabIndex={0} role="region" aria-label={s.fitsOn}>
      <table className="b-table">
        <caption className="b-hidden">{s.fitsOn}</caption>
        <thead>
          <tr>
            <th scope="col">{s.slice}</th>
            <th scope="col">{s.answer}</th>
            <th scope="col" className="b-num">
              {s.tokens}
            </th>
            <th scope="col" className="b-num">
              {s.atOnce}
            </th>
            <th scope="col" className="b-num">
              {s.longest}
            </th>
            <th scope="col" className="b-num">
              {s.speed}
            </th>
            <th scope="col">{s.why}</th>
          </tr>
        </thead>
        <tbody>
          {[...(p.of.fits ?? [])].sort(bySize).map((f) => (
            <tr key={`${f.gpu}${f.slice ?? ''}`}>
              <th scope="row">
                {nameOf(f)} <span className="b-quiet">{f.gpu}</span>
              </th>
              <td>
                <span className={`sv-mark sv-${f.verdict}`}>{s.verdict[f.verdict]}</span>
              </td>
              <td className="b-num">{number(f.tokens)}</td>
              <td className="b-num">{number(f.atOnce)}</td>
              <td className="b-num">{number(f.longest)}</td>
              <td className="b-num">{f.speed === undefined ? B.dash : s.perSecond(num(Math.floor(f.speed)))}</td>
              <td>
                {f.reason} {f.flag && s.with(f.flag)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// What was measured, within a limit for the first token and for a rate of requests.
function Measurements(p: { of: CatalogModel }): ReactNode {
  const all = p.of.records ?? [];
  const [most, setMost] = useState('');
  const [rate, setRate] = useState('1');
  const wanted = Number(rate) > 0 ? Number(rate) : 1;
  const shown = within(all, Number(most) || undefined).slice(0, 50);
  const ms = (v: number | undefined): string => (v === undefined ? B.dash : s.ms(num(Math.round(v))));
  if (all.length === 0) {
    return <p className="b-quiet">{s.noRecords}</p>;
  }
  return (
    <>
      <div className="sv-ask">
        <FormGroup label={s.ttftMost} fieldId={`ttft-${p.of.metadata.name}`}>
          <TextInput id={`ttft-${p.of.metadata.name}`} type="number" min={1} value={most} onChange={(_e, v) => setMost(v)} />
        </FormGroup>
        <FormGroup label={s.rate} fieldId={`rate-${p.of.metadata.name}`}>
          <TextInput id={`rate-${p.of.metadata.name}`} type="number" min={0.1} step="any" value={rate} onChange={(_e, v) => setRate(v)} />
        </FormGroup>
      </div>
      {shown.length === 0 ? (
        <p aria-live="polite">{s.noneWithin}</p>
      ) : (
        <div className="b-scroll-x" tabIndex={0} role="region" aria-label={s.records}>
          <table className="b-table">
            <caption className="b-hidden">{s.records}</caption>
            <thead>
              <tr>
                <th scope="col">{s.hardware}</th>
                <th scope="col">{s.useCase}</th>
                <th scope="col" className="b-num">
                  {s.ttft}
                </th>
                <th scope="col" className="b-num">
                  {s.itl}
                </th>
                <th scope="col" className="b-num">
                  {s.requests}
                </th>
                <th scope="col" className="b-num">
                  {s.gpusNeeded}
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((r, i) => (
                <tr key={r.config ?? i}>
                  <th scope="row">{`${r.hardwareCount ?? 1} × ${r.hardware ?? ''}`}</th>
                  <td>{r.useCase ?? B.dash}</td>
                  <td className="b-num">{ms(r.ttftP90)}</td>
                  <td className="b-num">{ms(r.itlP90)}</td>
                  <td className="b-num">{r.requestsPerSecond === undefined ? B.dash : num(r.requestsPerSecond)}</td>
                  <td className="b-num">{gpusFor(r, wanted) ?? B.dash}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

export function Details(p: { of: CatalogModel }): ReactNode {
  return (
    <details className="sv-details">
      <summary>{s.more}</summary>
      <FitTable of={p.of} />
      <h3>{s.records}</h3>
      <Measurements of={p.of} />
    </details>
  );
}
