// Every English word the dashboard says. Screens take theirs from here, so that another language is another file.

const plural = new Intl.PluralRules('en');

// "1 job", "3 jobs"
export function count(n: number, one: string, many: string): string {
  return `${new Intl.NumberFormat('en').format(n)} ${plural.select(n) === 'one' ? one : many}`;
}

export const strings = {
  product: 'Berth',
  nav: {
    label: 'Screens',
    overview: 'Overview',
    calendar: 'Calendar',
    bookings: 'My bookings',
    queues: 'Queues',
    gpus: 'GPUs',
    workloads: 'Workloads',
    admin: 'Admin',
    see: 'See',
    booking: 'Booking',
  },
  shell: {
    skip: 'Skip to content',
    menu: 'Navigation',
    project: 'Project',
    allProjects: 'All projects',
    findProject: 'Find a project',
    noProject: 'No such project',
    typeProject: 'You may not list projects. Type the name of yours.',
    open: 'Open',
    zone: 'Time zone',
    zoneHere: (z: string) => `This browser (${z})`,
    findZone: 'Find a time zone',
    theme: 'Theme',
    light: 'Light',
    dark: 'Dark',
    system: 'As the system',
    user: 'Account',
    signOut: 'Sign out',
    book: 'Book GPUs',
    live: 'Live',
    liveWhy: 'Changes are shown as they happen.',
    loading: 'Loading',
    stale: (t: string) => `Stale since ${t}`,
    staleWhy: 'The server cannot be reached; this is what was last read. Trying again.',
    expires: (t: string) => `Your session ends at ${t}. Save what you are doing and sign in again.`,
    world: { up: 'one machine', operate: 'cluster' } as Record<string, string>,
  },
  signIn: {
    title: 'Sign in',
    lead: 'GPUs by the slice: see what is free, book it, and watch the queue.',
    token: 'Token',
    tokenHelp: 'The bearer token of your account. Where Berth runs, "berth dashboard" prints a link that signs you in.',
    go: 'Sign in',
    busy: 'Signing in',
    byLink: 'Signing in with your link',
    linkUsed: 'This link was used or is too old. Ask for a new one, or sign in with a token.',
    wrong: 'The server does not know this token.',
    again: 'You were signed out. Sign in again to go on.',
    show: 'Show the token',
    hide: 'Hide the token',
  },
  errors: {
    unreachable: 'The server cannot be reached.',
    cutShort: 'The answer of the server was cut short.',
    byCode: (c: number) =>
      c === 401
        ? 'You are not signed in.'
        : c === 403
          ? 'You may not do this.'
          : c === 404
            ? 'It is not there.'
            : c === 409
              ? 'It was changed meanwhile.'
              : c === 429
                ? 'The server is busy.'
                : `The server answered ${c}.`,
    screen: 'This screen cannot be shown',
    screenWhy: 'Something in it went wrong; the other screens still work.',
    newer: 'There is a newer version of this page.',
    reload: 'Load the page anew',
    retry: 'Try again',
    title: (what: string) => `Cannot read ${what}`,
    forbidden: (what: string) => `You may not see ${what}`,
    forbiddenAll: 'Your account may not see this in all projects. Pick a project of yours above.',
    forbiddenHere: (project: string) => `Your account has no right to see this in project ${project}.`,
    forbiddenCluster: 'Your account has no right to see this. An administrator can grant it.',
    notServed: (what: string) => `This server has no ${what}`,
    notServedWhy: 'It may be older than this page, or a controller is switched off.',
    details: 'What the server said',
    notFoundTitle: 'There is no such page',
    toOverview: 'Go to the overview',
  },
  states: {
    loading: (what: string) => `Loading ${what}`,
    none: 'None',
    unknown: 'unknown',
    notSeen: 'not visible to you',
  },
  common: {
    close: 'Close',
    cancel: 'Cancel',
    save: 'Save',
    clear: 'Clear',
    name: 'Name',
    project: 'Project',
    more: 'More',
    table: 'Show as table',
    chart: 'Show as chart',
    ago: (d: string) => `${d} ago`,
    in: (d: string) => `in ${d}`,
    now: 'now',
  },
};
