// Of an InferenceService: its state in a word, why, and what is written to change it.

import type { InferenceService } from './types.ts';

export const STOP = 'serving.kserve.io/stop';
export const QUEUE = 'kueue.x-k8s.io/queue-name';

export type ServiceState = 'ready' | 'zero' | 'starting' | 'queued' | 'failed' | 'stopped';

export function conditionOf(o: InferenceService, type: string): NonNullable<NonNullable<InferenceService['status']>['conditions']>[number] | undefined {
  return o.status?.conditions?.find((c) => c.type === type);
}

export function stateOf(o: InferenceService): ServiceState {
  const ready = conditionOf(o, 'Ready');
  const predictor = conditionOf(o, 'PredictorReady');
  const model = o.status?.modelStatus;
  if (o.metadata.annotations?.[STOP] === 'true') {
    return 'stopped';
  }
  if (model?.transitionStatus === 'BlockedByFailedLoad' || model?.transitionStatus === 'InvalidSpec') {
    return 'failed';
  }
  if ((model?.copies?.totalCopies ?? 0) === 0 && o.spec.predictor.minReplicas === 0 && model?.states?.targetModelState !== 'Loading') {
    return 'zero';
  }
  if (ready?.status === 'True') {
    return 'ready';
  }
  return /quota|queue/i.test(predictor?.reason ?? '') ? 'queued' : 'starting';
}

// Why it is not ready, in the words of its controller.
export function whyOf(o: InferenceService): string {
  const failure = o.status?.modelStatus?.lastFailureInfo;
  if (stateOf(o) === 'failed' && failure?.message) {
    return failure.message;
  }
  const predictor = conditionOf(o, 'PredictorReady');
  const worst = predictor?.status === 'True' ? conditionOf(o, 'IngressReady') : predictor;
  return worst?.status === 'True' ? '' : (worst?.message ?? '');
}

export function modelOf(o: InferenceService): string {
  const m = o.spec.predictor.model;
  return m?.storageUri ?? m?.modelFormat.name ?? '';
}

// The names under which a client asks for it.
export function requestName(o: InferenceService): string {
  return o.metadata.name;
}

export interface Wish {
  name: string;
  namespace: string;
  uri: string;
  format: string;
  runtime: string;
  resource: string; // "nvidia.com/mig-3g.71gb"; empty: no GPU
  queue: string;
  min: number;
  max: number;
  args: string[];
}

// "Qwen/Qwen2.5-7B-Instruct" as "qwen2-5-7b-instruct": the name of an object.
export function nameFor(model: string): string {
  const last = model.split('/').pop() ?? model;
  return last.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^[^a-z]+|-+$/g, '').slice(0, 40);
}

export function manifest(w: Wish): Omit<InferenceService, 'apiVersion' | 'kind'> {
  const model: NonNullable<InferenceService['spec']['predictor']['model']> = { modelFormat: { name: w.format }, storageUri: w.uri };
  if (w.runtime) {
    model.runtime = w.runtime;
  }
  if (w.args.length > 0) {
    model.args = w.args;
  }
  if (w.resource) {
    model.resources = { limits: { [w.resource]: '1' } };
  }
  const metadata: InferenceService['metadata'] = { name: w.name, namespace: w.namespace };
  if (w.queue) {
    metadata.labels = { [QUEUE]: w.queue };
  }
  return { metadata, spec: { predictor: { minReplicas: w.min, maxReplicas: w.max, model } } };
}
