// The objects the dashboard reads and writes, as far as it looks at them. What the server may leave out is optional.

export interface Meta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }[];
  finalizers?: string[];
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: Meta;
}

export interface KubeList<T> {
  apiVersion?: string;
  kind?: string;
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  items: T[];
}

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface Status {
  kind: 'Status';
  status?: string;
  message?: string;
  reason?: string;
  code?: number;
  details?: { name?: string; group?: string; kind?: string; retryAfterSeconds?: number; causes?: StatusCause[] };
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  observedGeneration?: number;
}

export interface Namespace extends KubeObject {
  status?: { phase?: string };
}

// ---- core, batch ----

export interface Container {
  name: string;
  image?: string;
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: { exitCode?: number; reason?: string; message?: string; startedAt?: string; finishedAt?: string };
}

export interface Pod extends KubeObject {
  spec?: { nodeName?: string; containers?: Container[]; initContainers?: Container[] };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    startTime?: string;
    conditions?: Condition[];
    containerStatuses?: { name: string; ready?: boolean; restartCount?: number; state?: ContainerState }[];
  };
}

export interface Job extends KubeObject {
  spec?: { suspend?: boolean; parallelism?: number; completions?: number };
  status?: { active?: number; succeeded?: number; failed?: number; startTime?: string; completionTime?: string };
}

export interface CoreEvent extends KubeObject {
  type?: string;
  reason?: string;
  message?: string;
  note?: string;
  count?: number;
  firstTimestamp?: string;
  lastTimestamp?: string;
  eventTime?: string;
  series?: { count?: number; lastObservedTime?: string };
  involvedObject?: { kind?: string; namespace?: string; name?: string; uid?: string };
}

// ---- Kueue ----

export interface ResourceQuota {
  name: string;
  nominalQuota: string | number;
  borrowingLimit?: string | number;
  lendingLimit?: string | number;
}

export interface ResourceGroup {
  coveredResources: string[];
  flavors: { name: string; resources: ResourceQuota[] }[];
}

export interface FlavorUsage {
  name: string;
  resources: { name: string; total?: string | number; borrowed?: string | number }[];
}

export interface FairSharingStatus {
  weightedShare?: number;
}

export interface ClusterQueue extends KubeObject {
  spec: {
    cohortName?: string;
    resourceGroups?: ResourceGroup[];
    preemption?: { withinClusterQueue?: string; reclaimWithinCohort?: string; borrowWithinCohort?: { policy?: string } };
    fairSharing?: { weight?: string | number };
    namespaceSelector?: unknown;
    queueingStrategy?: string;
    stopPolicy?: string;
  };
  status?: {
    conditions?: Condition[];
    flavorsReservation?: FlavorUsage[];
    flavorsUsage?: FlavorUsage[];
    pendingWorkloads?: number;
    reservingWorkloads?: number;
    admittedWorkloads?: number;
    fairSharing?: FairSharingStatus;
  };
}

export interface Cohort extends KubeObject {
  spec?: { parentName?: string; resourceGroups?: ResourceGroup[]; fairSharing?: { weight?: string | number } };
  status?: { fairSharing?: FairSharingStatus };
}

export interface LocalQueue extends KubeObject {
  spec: { clusterQueue: string; stopPolicy?: string };
  status?: {
    conditions?: Condition[];
    pendingWorkloads?: number;
    reservingWorkloads?: number;
    admittedWorkloads?: number;
  };
}

export interface Taint {
  key: string;
  value?: string;
  effect: string;
}

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
}

export interface ResourceFlavor extends KubeObject {
  spec?: { nodeLabels?: Record<string, string>; nodeTaints?: Taint[]; tolerations?: Toleration[]; topologyName?: string };
}

export interface WorkloadPriorityClass extends KubeObject {
  value: number;
  description?: string;
}

export interface PodSet {
  name: string;
  count: number;
  minCount?: number;
  template?: { spec?: { containers?: Container[] } };
}

export interface Workload extends KubeObject {
  spec: {
    queueName?: string;
    active?: boolean;
    priority?: number;
    priorityClassName?: string;
    priorityClassSource?: string;
    priorityClassRef?: { group?: string; kind?: string; name?: string };
    podSets?: PodSet[];
    maximumExecutionTimeSeconds?: number;
  };
  status?: {
    conditions?: Condition[];
    admission?: {
      clusterQueue: string;
      podSetAssignments?: {
        name: string;
        count?: number;
        flavors?: Record<string, string>;
        resourceUsage?: Record<string, string>;
      }[];
    };
    requeueState?: { count?: number; requeueAt?: string };
    schedulingStats?: { evictions?: { reason?: string; underlyingCause?: string; count?: number }[] };
  };
}

export interface PendingWorkload {
  metadata: Meta;
  localQueueName?: string;
  positionInClusterQueue: number;
  positionInLocalQueue: number;
  priority: number;
}

export interface PendingWorkloadsSummary {
  items: PendingWorkload[];
}

// ---- berth.dev ----

export interface ExplainedWorkload {
  namespace?: string;
  name?: string;
  clusterQueue?: string;
  priority?: number;
  amount?: string;
  ends?: string;
  basis?: string;
  overdue?: boolean;
  keeps?: string;
  reason?: string;
}

export interface WorkloadExplanation extends KubeObject {
  status?: {
    state?: string;
    job?: string;
    localQueue?: string;
    clusterQueue?: string;
    priority?: number;
    reason?: string;
    summary?: string;
    text?: string;
    position?: { clusterQueue?: number; localQueue?: number; ahead?: number; next?: ExplainedWorkload[] };
    lacks?: {
      flavor?: string;
      resource?: string;
      needed?: string;
      available?: string;
      missing?: string;
      limitedBy?: string;
      reason?: string;
      holders?: ExplainedWorkload[];
      holderCount?: number;
      heldByOthers?: string;
    }[];
    preemption?: { rule?: string; message?: string; workloads?: number; until?: string }[];
    borrowing?: { resource?: string; flavor?: string; requested?: string; nominalQuota?: string; used?: string; missing?: string; remedy?: string }[];
    estimate?: { start?: string; earliest?: string; latest?: string; notBefore?: string; basis?: string; text?: string; note?: string };
    computed?: string;
  };
}

export type ReservationClass = 'standard' | 'production' | 'teaching' | 'maintenance';
export type EndPolicy = 'demote' | 'drain' | 'hard';
export type ReservationPhase =
  | 'PendingApproval'
  | 'Waitlisted'
  | 'Offered'
  | 'Confirmed'
  | 'Preparing'
  | 'Active'
  | 'Degraded'
  | 'Ending'
  | 'Ended'
  | 'Rejected'
  | 'Cancelled'
  | 'Released'
  | 'Expired';

export interface ReservationLine {
  resource: string;
  count: number;
  flavor?: string;
  anyOf?: string[];
  sameNode?: boolean;
}

export interface ReservationSpec {
  start: string;
  end: string;
  timeZone?: string;
  lines: ReservationLine[];
  beneficiary?: { kind: 'User' | 'Group'; name: string };
  purpose?: string;
  class?: ReservationClass;
  exclusive?: boolean;
  endPolicy?: EndPolicy;
  noShow?: { after?: string; action?: 'warn' | 'release' };
  autoExtend?: { max?: string };
  flexible?: { earliest?: string; latest?: string; minDuration?: string };
  waitlist?: boolean;
  confirmOffer?: boolean;
  approval?: { decision?: 'approve' | 'reject'; reason?: string };
  claim?: boolean;
  cancel?: { reason?: string };
  seriesName?: string;
  recurrenceId?: string;
}

export interface PlannedSlice {
  line?: number;
  flavor?: string;
  node?: string;
  gpu?: string;
  gpuIndex?: number;
  profile?: string;
  start?: number;
  size?: number;
}

export interface Alternative {
  kind: 'Earlier' | 'Later' | 'OtherFlavor' | 'Larger' | 'Smaller' | 'Fewer' | 'Shorter' | 'Longer' | 'Split' | 'AskLater' | 'Queue';
  start?: string;
  end?: string;
  lines?: ReservationLine[];
  text?: string;
}

export interface Refusal {
  limit?: string;
  scope?: 'user' | 'project' | 'tenant';
  allowed?: string | number;
  asked?: string | number;
  text?: string;
}

export interface Conflict {
  start?: string;
  end?: string;
  text?: string;
}

export interface ReservationStatus {
  phase?: ReservationPhase;
  reason?: string;
  message?: string;
  start?: string;
  end?: string;
  plan?: PlannedSlice[];
  alternatives?: Alternative[];
  refusals?: Refusal[];
  conflicts?: Conflict[];
  cost?: { gpuHours?: { quoted?: string; committed?: string; charged?: string } };
  waitlist?: { position?: number };
  nextEvent?: { type?: string; at?: string };
  sequence?: number;
  observedGeneration?: number;
  conditions?: Condition[];
  objects?: {
    clusterQueue?: string;
    localQueue?: string;
    hardwareProfiles?: string[];
    ready?: boolean;
    drained?: boolean;
    message?: string;
  };
}

export interface Reservation extends KubeObject {
  spec: ReservationSpec;
  status?: ReservationStatus;
}

export interface ReservationCheck extends KubeObject {
  spec: ReservationSpec & { name?: string };
  status?: {
    fits?: boolean;
    phase?: ReservationPhase;
    reason?: string;
    message?: string;
    refusals?: Refusal[];
    alternatives?: Alternative[];
    conflicts?: Conflict[];
    cost?: { gpuHours?: { quoted?: string; committed?: string; charged?: string } };
    plan?: PlannedSlice[];
    objects?: KubeObject[];
  };
}

export interface Limits {
  concurrentUnits?: number;
  futureBookings?: number;
  maxDuration?: string;
  gpuHoursPerWeek?: number | string;
  gpuHoursPerMonth?: number | string;
}

export interface ReservationPolicy extends KubeObject {
  spec?: {
    pool?: { cohort?: string; flavors?: string[] };
    timeZone?: string;
    granularity?: string;
    minDuration?: string;
    maxDuration?: string;
    daysAhead?: number;
    prepLead?: string;
    geometry?: 'dynamic' | 'static';
    reconfigTime?: string;
    overstay?: string;
    warnings?: string[];
    onDemandFloor?: { resource: string; count: number }[];
    limits?: { user?: Limits; project?: Limits; tenant?: Limits };
    approval?: {
      match?: { class?: string; minUnits?: number; minDuration?: string; project?: string };
      by?: 'auto' | 'manager' | 'admin';
    }[];
    approvalTTL?: string;
    offerWindow?: string;
    noShow?: { after?: string; action?: string };
  };
}

export interface CapacityWindow extends KubeObject {
  spec: {
    start: string;
    end: string;
    type: 'Maintenance' | 'Added' | 'Blackout';
    nodes?: string[];
    flavor?: string;
    resource?: string;
    count?: number;
    reason?: string;
    force?: boolean;
  };
  status?: { conflicts?: unknown[]; applied?: boolean };
}

export interface ReservationSeries extends KubeObject {
  spec: {
    timeZone?: string;
    start: string;
    duration: string;
    rrule: string;
    exdates?: string[];
    conflictPolicy?: 'Reject' | 'Skip' | 'Waitlist';
    maxConflicts?: number;
    template: Omit<ReservationSpec, 'start' | 'end'>;
  };
  status?: {
    occurrences?: { start?: string; end?: string; name?: string; phase?: string }[];
    skipped?: { start?: string; reason?: string }[];
    horizon?: string;
    tzdata?: string;
    conditions?: Condition[];
  };
}

export interface CalendarFeed extends KubeObject {
  spec: { scope: 'own' | 'project' | 'resource' | 'freebusy'; resource?: string; revision?: number };
  status?: { path?: string; user?: string };
}

export interface AvailabilitySlot {
  start: string;
  end: string;
  free: number;
  total: number;
}

export interface AvailabilityBusy {
  start: string;
  end: string;
  count: number;
  phase?: ReservationPhase;
  namespace?: string;
  name?: string;
  owner?: string;
  purpose?: string;
  reason?: string;
}

export interface Availability extends KubeObject {
  flavor: string;
  resource: string;
  displayName?: string;
  memoryGiB?: number;
  gpuShare?: number | string;
  total: number;
  slots?: AvailabilitySlot[];
  busy?: AvailabilityBusy[];
}

export interface FleetResource {
  resource: string;
  total: number;
  used: number;
  reserved: number;
  free: number;
  waiting: number;
  broken: number;
}

export interface FleetType {
  flavor: string;
  product?: string;
  resources: FleetResource[];
}

export interface FleetInstance {
  profile?: string; // absent: the whole GPU
  start: number;
  size?: number;
  used?: boolean;
  utilization?: number;
  namespace?: string;
  pod?: string;
  workload?: string;
}

export interface FleetCard {
  node: string;
  index: number;
  uuid: string;
  model: string;
  flavor?: string;
  memoryGiB?: number;
  slices?: number;
  migEnabled?: boolean;
  health?: string;
  trouble?: string;
  temperature?: number;
  power?: number;
  utilization?: number;
  memoryUsed?: number;
  instances?: FleetInstance[];
}

export interface Attention {
  severity?: string;
  text: string;
  kind?: string;
  namespace?: string;
  name?: string;
}

export interface Fleet extends KubeObject {
  types?: FleetType[];
  cards?: FleetCard[];
  attention?: Attention[];
  computed?: string;
}

export interface FleetSample {
  at: string;
  total: number;
  used: number;
  reserved?: number;
  busyPct?: number;
}

export interface FleetHistory extends KubeObject {
  flavor?: string;
  product?: string;
  samples?: FleetSample[];
}

export interface SelfSubjectAccessReview {
  apiVersion?: string;
  kind?: string;
  spec: {
    resourceAttributes?: {
      verb: string;
      group?: string;
      resource: string;
      subresource?: string;
      namespace?: string;
      name?: string;
    };
  };
  status?: { allowed: boolean; reason?: string };
}

export interface Session {
  user: string;
  groups?: string[];
  expires?: string;
  world?: 'up' | 'operate' | string;
  gateway?: string; // where models answer: "http://127.0.0.1:8100"
}
