// The objects of serving, as far as the screens look at them.

import type { Condition, KubeObject } from '../data/types.ts';

export type Verdict = 'fits' | 'tight' | 'no' | 'unknown';

export interface Fit {
  gpu: string;
  slice?: string;
  memoryGiB?: number;
  verdict: Verdict;
  reason?: string;
  tokens?: number;
  atOnce?: number;
  longest?: number;
  speed?: number;
  flag?: string;
}

export interface Measurement {
  config?: string;
  hardware?: string;
  hardwareCount?: number;
  useCase?: string;
  requestsPerSecond?: number;
  ttftP90?: number;
  itlP90?: number;
  tokensPerSecond?: number;
  beaten?: boolean;
}

export interface CatalogModel extends KubeObject {
  spec: {
    source?: string;
    name: string;
    provider?: string;
    description?: string;
    license?: string;
    licenseLink?: string;
    tasks?: string[];
    languages?: string[];
    memoryGiB?: number;
    context?: number;
    parameters?: number;
    uri?: string;
  };
  fits?: Fit[];
  records?: Measurement[];
}

export interface ModelKey extends KubeObject {
  spec: {
    sha256: string;
    prefix?: string;
    user?: string;
    purpose?: string;
    models?: string[];
    limits?: { requestsPerMinute?: number; tokensPerMinute?: number; streams?: number };
    priority?: number;
    expiresAt?: string;
    revoked?: boolean;
  };
  status?: { lastUsed?: string };
}

export interface InferenceService extends KubeObject {
  spec: {
    predictor: {
      minReplicas?: number;
      maxReplicas?: number;
      canaryTrafficPercent?: number;
      model?: {
        modelFormat: { name: string; version?: string };
        runtime?: string;
        storageUri?: string;
        args?: string[];
        resources?: { limits?: Record<string, string | number>; requests?: Record<string, string | number> };
      };
    };
  };
  status?: {
    url?: string;
    conditions?: Condition[];
    modelStatus?: {
      transitionStatus?: string;
      states?: { activeModelState?: string; targetModelState?: string };
      copies?: { totalCopies?: number; failedCopies?: number };
      lastFailureInfo?: { reason?: string; message?: string };
    };
    components?: { predictor?: { traffic?: { revisionName?: string; latestRevision?: boolean; percent?: number }[] } };
  };
}

export interface ServingRuntime extends KubeObject {
  spec?: { disabled?: boolean; supportedModelFormats?: { name: string; autoSelect?: boolean }[] };
}
