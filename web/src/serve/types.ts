// The objects of serving, as far as the screens look at them.

import type { KubeObject } from '../data/types.ts';

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
