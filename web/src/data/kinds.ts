// The kinds of the API that the dashboard knows, and where they are served.

import type * as V from '../serve/types.ts';
import type * as T from './types.ts';

export interface Kind<O> {
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespaced: boolean;
  // Drops from each object of a list what no screen shows, where that is most of it. What was trimmed must not be
  // written back whole: patch it, or read it anew.
  trim?(o: O): void;
  // Computed when asked for: no revisions, and a watch tells at first what there is.
  computed?: boolean;
  // Never there; it carries the type of the objects.
  readonly of?: O;
}

function kind<O>(group: string, version: string, plural: string, name: string, namespaced: boolean): Kind<O> {
  return { group, version, plural, kind: name, namespaced };
}

interface Template {
  spec?: { containers?: object[] } & Record<string, unknown>;
}

// Of a pod template: names, images and resources of containers.
function trimTemplate(t: Template | undefined): void {
  const cs = t?.spec?.containers as Record<string, unknown>[] | undefined;
  if (t?.spec) {
    t.spec = { containers: (cs ?? []).map((c) => ({ name: c['name'], image: c['image'], resources: c['resources'] })) };
  }
}

const KUEUE = 'kueue.x-k8s.io';
const BERTH = 'berth.dev';

function computed<O>(plural: string, name: string, namespaced: boolean): Kind<O> {
  return { ...kind<O>(BERTH, 'v1alpha1', plural, name, namespaced), computed: true };
}

export const namespaces = kind<T.Namespace>('', 'v1', 'namespaces', 'Namespace', false);
export const pods = kind<T.Pod>('', 'v1', 'pods', 'Pod', true);
export const events = kind<T.CoreEvent>('', 'v1', 'events', 'Event', true);
export const nodes = kind<T.KubeObject>('', 'v1', 'nodes', 'Node', false);
export const jobs = kind<T.Job>('batch', 'v1', 'jobs', 'Job', true);

export const clusterQueues = kind<T.ClusterQueue>(KUEUE, 'v1beta2', 'clusterqueues', 'ClusterQueue', false);
export const cohorts = kind<T.Cohort>(KUEUE, 'v1beta2', 'cohorts', 'Cohort', false);
export const localQueues = kind<T.LocalQueue>(KUEUE, 'v1beta2', 'localqueues', 'LocalQueue', true);
export const resourceFlavors = kind<T.ResourceFlavor>(KUEUE, 'v1beta2', 'resourceflavors', 'ResourceFlavor', false);
export const workloads: Kind<T.Workload> = {
  ...kind<T.Workload>(KUEUE, 'v1beta2', 'workloads', 'Workload', true),
  trim: (w) => {
    for (const p of w.spec.podSets ?? []) {
      trimTemplate(p.template as Template | undefined);
    }
  },
};
export const workloadPriorityClasses = kind<T.WorkloadPriorityClass>(
  KUEUE,
  'v1beta2',
  'workloadpriorityclasses',
  'WorkloadPriorityClass',
  false,
);

export const explanations = computed<T.WorkloadExplanation>('workloadexplanations', 'WorkloadExplanation', true);
export const reservations = kind<T.Reservation>(BERTH, 'v1alpha1', 'reservations', 'Reservation', true);
export const reservationPolicies = kind<T.ReservationPolicy>(
  BERTH,
  'v1alpha1',
  'reservationpolicies',
  'ReservationPolicy',
  false,
);
export const reservationSeries = kind<T.ReservationSeries>(
  BERTH,
  'v1alpha1',
  'reservationseries',
  'ReservationSeries',
  true,
);
export const capacityWindows = kind<T.CapacityWindow>(BERTH, 'v1alpha1', 'capacitywindows', 'CapacityWindow', false);
export const calendarFeeds = kind<T.CalendarFeed>(BERTH, 'v1alpha1', 'calendarfeeds', 'CalendarFeed', true);
export const reservationChecks = kind<T.ReservationCheck>(
  BERTH,
  'v1alpha1',
  'reservationchecks',
  'ReservationCheck',
  true,
);
export const availabilities = computed<T.Availability>('availabilities', 'Availability', false);
export const catalogModels = computed<V.CatalogModel>('catalogmodels', 'CatalogModel', false);
export const modelKeys = kind<V.ModelKey>(BERTH, 'v1alpha1', 'modelkeys', 'ModelKey', true);
const KSERVE = 'serving.kserve.io';
export const inferenceServices = kind<V.InferenceService>(KSERVE, 'v1beta1', 'inferenceservices', 'InferenceService', true);
export const servingRuntimes = kind<V.ServingRuntime>(KSERVE, 'v1alpha1', 'servingruntimes', 'ServingRuntime', true);
export const clusterServingRuntimes = kind<V.ServingRuntime>(
  KSERVE,
  'v1alpha1',
  'clusterservingruntimes',
  'ClusterServingRuntime',
  false,
);
export const fleets = computed<T.Fleet>('fleets', 'Fleet', false);
export const fleetHistories = computed<T.FleetHistory>('fleethistories', 'FleetHistory', false);

export function apiVersion(k: Kind<unknown>): string {
  return k.group ? `${k.group}/${k.version}` : k.version;
}

// The address of a collection, or of one object of it. ns empty: all namespaces, for a namespaced kind.
export function pathOf(k: Kind<unknown>, ns?: string, name?: string, subresource?: string): string {
  let p = k.group ? `/apis/${k.group}/${k.version}` : `/api/${k.version}`;
  if (k.namespaced && ns) {
    p += `/namespaces/${encodeURIComponent(ns)}`;
  }
  p += `/${k.plural}`;
  if (name) {
    p += `/${encodeURIComponent(name)}`;
  }
  if (subresource) {
    p += `/${subresource}`;
  }
  return p;
}
