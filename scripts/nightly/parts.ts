/** A command that tests by repeating or by real faults, and takes too long for `npm test`. */
export interface Part {
  readonly name: string
  /** What follows `npm run`. */
  readonly command: string
  /** What the nightly workflow runs instead. @default command */
  readonly long?: string
  /** Whether it takes `--seed`. */
  readonly seeded?: true
  /** Folders whose own packages it needs. */
  readonly beside?: readonly string[]
}

/** In the order in which they run: what fails soonest comes first. */
export const PARTS: readonly Part[] = [
  { name: 'packages', command: 'pack:check' },
  { name: 'workflows', command: 'workflows' },
  {
    name: 'types-beside',
    command: 'types:beside',
    beside: ['bench/peers', 'examples/page', 'tests/ui', 'tests/azure-client/lowest', 'tests/otel'],
  },
  { name: 'docs', command: 'docs' },
  { name: 'tests', command: 'test -- --project nightly' },
  { name: 'mutants', command: 'mutants' },
  { name: 'message-mutants', command: 'message-mutants' },
  { name: 'lease-script-mutants', command: 'lease-scripts -- --mutants --seed 4' },
  { name: 'commit-function-mutants', command: 'commit-function -- --mutants' },
  {
    name: 'simulate',
    command: 'simulate -- --schedules 5000',
    long: 'simulate -- --schedules 10000000',
    seeded: true,
  },
  {
    name: 'properties',
    command: 'properties -- --rounds 1',
    long: 'properties -- --rounds 50',
    seeded: true,
  },
  {
    name: 'model',
    command: 'model -- --sequences 2000',
    long: 'model -- --sequences 100000',
    seeded: true,
  },
  {
    name: 'model-sqlite',
    command: 'model -- --engine sqlite --sequences 100',
    long: 'model -- --engine sqlite --sequences 5000',
    seeded: true,
  },
  {
    name: 'model-postgres',
    command: 'model -- --engine postgres --sequences 50',
    long: 'model -- --engine postgres --sequences 3000',
    seeded: true,
  },
  {
    name: 'model-messaging',
    command: 'model -- --messaging --sequences 500',
    long: 'model -- --messaging --sequences 20000',
    seeded: true,
  },
  {
    name: 'lease-scripts',
    command: 'lease-scripts -- --calls 20000',
    long: 'lease-scripts -- --calls 1000000',
    seeded: true,
  },
  {
    name: 'commit-function',
    command: 'commit-function -- --calls 10000',
    long: 'commit-function -- --calls 1000000',
    seeded: true,
  },
  {
    name: 'fuzz',
    command: 'fuzz -- --requests 8000 --costly 40 --hostile 11',
    long: 'fuzz -- --requests 1000000',
    seeded: true,
  },
  { name: 'fuzz-growth', command: 'fuzz -- --growth --p99 1000' },
  {
    name: 'fuzz-amqp',
    command: 'fuzz -- --amqp --requests 1000',
    long: 'fuzz -- --amqp --requests 100000',
    seeded: true,
  },
  {
    name: 'faults',
    command: 'faults -- --minutes 3',
    long: 'faults -- --minutes 60',
    seeded: true,
  },
  {
    name: 'crash',
    command: 'crash -- --rounds 4',
    long: 'crash -- --rounds 200',
    seeded: true,
  },
  {
    name: 'crash-features',
    command: 'crash -- --rounds 6 --features all',
    long: 'crash -- --rounds 500 --features all',
    seeded: true,
  },
  {
    name: 'crash-postgres',
    command: 'crash -- --engine postgres --rounds 4 --features all',
    long: 'crash -- --engine postgres --rounds 100 --features all',
    seeded: true,
  },
  {
    name: 'crash-gateway',
    command: 'crash -- --gateway --rounds 3',
    long: 'crash -- --gateway --rounds 100',
    seeded: true,
  },
  {
    name: 'crash-messaging',
    command: 'crash -- --messaging --rounds 4',
    long: 'crash -- --messaging --rounds 200',
    seeded: true,
  },
  {
    name: 'crash-amqp',
    command: 'crash -- --amqp --rounds 3',
    long: 'crash -- --amqp --rounds 50',
    seeded: true,
  },
  {
    name: 'crash-power',
    command: 'crash -- --power --rounds 6',
    long: 'crash -- --power --rounds 100',
    seeded: true,
  },
  {
    name: 'lsn-order',
    command: 'lsn-order -- --seconds 5 --rounds 3',
    long: 'lsn-order -- --seconds 120 --rounds 60',
    seeded: true,
  },
  {
    name: 'competing',
    command: 'competing -- --messages 5000',
    long: 'competing -- --messages 200000',
    seeded: true,
  },
  {
    name: 'competing-postgres',
    command: 'competing -- --messages 2000 --engine postgres',
    long: 'competing -- --messages 200000 --engine postgres',
    seeded: true,
  },
  { name: 'soak', command: 'soak -- --minutes 4', long: 'soak -- --hours 4' },
  {
    name: 'soak-amqp',
    command: 'soak -- --amqp --minutes 3',
    long: 'soak -- --amqp --hours 2',
  },
  { name: 'balance', command: 'balance -- --hosts 4 --leases 64 --store redis', long: 'balance' },
  {
    name: 'bench',
    command: 'bench -- --seconds 0.1 --runs 1 --documents 1000',
    long: 'bench',
  },
  {
    name: 'peers',
    command: 'bench -- --peers --seconds 0.1 --runs 1 --documents 1000 --only drain.',
    long: 'bench -- --peers',
  },
]
