// Names and amounts of resources, for people.

const SUFFIX: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

// A Kubernetes quantity ("8", "500m", "64Gi", "1e3") as a number; 0 for what is none.
export function quantity(q: string | number | undefined): number {
  if (typeof q === 'number') {
    return q;
  }
  const m = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(q ?? '');
  if (!m) {
    return 0;
  }
  return Number(m[1] + (m[2] ?? '')) * (SUFFIX[m[3] ?? ''] ?? 1);
}

const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

const fine = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 2 });

export function num(n: number): string {
  return numbers.format(n);
}

// An amount of a resource: bytes of memory as GiB, the rest as it is.
export function amount(resource: string, n: number): string {
  if (/^(memory|ephemeral-storage|hugepages-.*)$/.test(resource)) {
    return n >= 2 ** 30 ? `${num(n / 2 ** 30)} GiB` : `${num(n / 2 ** 20)} MiB`;
  }
  return n !== 0 && Math.abs(n) < 1 ? fine.format(n) : num(n);
}

// What is asked for: "2 × 2g.35gb", "0.5 cpu".
export function asked(resource: string, n: number): string {
  return isGpu(resource) ? `${num(n)} × ${resourceName(resource)}` : `${amount(resource, n)} ${resourceName(resource)}`;
}

export function isGpu(resource: string): boolean {
  return /^(nvidia\.com\/|amd\.com\/gpu|gpu\.intel\.com\/)/.test(resource);
}

// The MIG profile of a resource: "2g.35gb" of "nvidia.com/mig-2g.35gb".
export function profileOf(resource: string): string | undefined {
  return /^nvidia\.com\/mig-(.+)$/.exec(resource)?.[1];
}

// "GPU", "2g.35gb", "cpu"
export function resourceName(resource: string): string {
  if (resource === 'nvidia.com/gpu') {
    return 'GPU';
  }
  return profileOf(resource) ?? resource;
}

// Memory of a profile in GB, by its name: 35 of "2g.35gb".
export function profileMemory(profile: string): number | undefined {
  const m = /\.(\d+)gb/.exec(profile);
  return m ? Number(m[1]) : undefined;
}

// Memory in GB as NVIDIA names it: 35 of a 2g.35gb, which has 32.25 GiB, and 141 of a card with 140.4 GiB.
export function namedGb(item: { resource: string; memoryGiB?: number }): number {
  return profileMemory(profileOf(item.resource) ?? '') ?? Math.ceil((item.memoryGiB ?? 0) - 0.05);
}

// Whole GPUs first, then slices from large to small, then the rest by name.
export function compareResources(a: string, b: string): number {
  const rank = (r: string): number => {
    if (!isGpu(r)) {
      return 2e6;
    }
    const p = profileOf(r);
    return p ? 1e6 - Number(/^(\d+)/.exec(p)?.[1] ?? 0) * 1000 - (profileMemory(p) ?? 0) : 0;
  };
  return rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0);
}
