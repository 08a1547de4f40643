/**
 * Who may import whom, as drawn in ARCHITECTURE.md. A package that is not listed here is an error: a new one is
 * a decision, and this is where it is written down.
 */
export const ARROWS: ReadonlyMap<string, readonly string[]> = new Map([
  ['@tidemark/contracts', []],
  ['@tidemark/store', ['@tidemark/contracts']],
  ['@tidemark/engine-sqlite', ['@tidemark/contracts', '@tidemark/store']],
  ['@tidemark/engine-postgres', ['@tidemark/contracts', '@tidemark/store']],
  ['@tidemark/processor', ['@tidemark/contracts']],
  ['@tidemark/lease-redis', ['@tidemark/contracts']],
  [
    '@tidemark/jobs',
    ['@tidemark/contracts', '@tidemark/store', '@tidemark/processor', '@tidemark/messaging'],
  ],
  ['@tidemark/messaging', ['@tidemark/contracts', '@tidemark/store']],
  ['@tidemark/messaging-amqp', ['@tidemark/contracts', '@tidemark/messaging']],
  ['@tidemark/messaging-admin', ['@tidemark/contracts', '@tidemark/messaging']],
  ['@tidemark/gateway', ['@tidemark/contracts', '@tidemark/store']],
  [
    '@tidemark/otel',
    ['@tidemark/contracts', '@tidemark/store', '@tidemark/processor', '@tidemark/messaging'],
  ],
  ['@tidemark/cosmos', ['@tidemark/contracts', '@tidemark/processor']],
  ['@tidemark/nestjs', ['@tidemark/contracts', '@tidemark/processor']],
  ['create-tidemark', []],
  // The engine: tests of a package that has none of its own get a store in memory from here.
  [
    '@tidemark/testing',
    [
      '@tidemark/contracts',
      '@tidemark/store',
      '@tidemark/engine-sqlite',
      '@tidemark/messaging',
      '@tidemark/processor',
    ],
  ],
  [
    'tidemark',
    [
      '@tidemark/contracts',
      '@tidemark/store',
      '@tidemark/engine-sqlite',
      '@tidemark/engine-postgres',
      '@tidemark/processor',
      '@tidemark/lease-redis',
      '@tidemark/cosmos',
      '@tidemark/jobs',
      '@tidemark/messaging',
      '@tidemark/messaging-amqp',
      '@tidemark/messaging-admin',
      '@tidemark/gateway',
      '@tidemark/otel',
    ],
  ],
])

/** What tests inside a package may import beyond the package's own arrows. */
export const TEST_PACKAGE = '@tidemark/testing'

/** Packages whose code takes time, chance and I/O as arguments. Outside `platform/` they import none of `IO_MODULES`. */
export const PROTOCOL_PACKAGES: readonly string[] = [
  '@tidemark/contracts',
  '@tidemark/store',
  '@tidemark/processor',
  '@tidemark/jobs',
  '@tidemark/messaging',
]

/**
 * Imports that may close a circle between files: `from -> to`. An expression of the query language may hold a whole
 * query, and a query is made of expressions.
 */
export const RECURSIVE_IMPORTS: ReadonlySet<string> = new Set([
  'packages/gateway/src/query/syntax/expression.ts -> packages/gateway/src/query/syntax/query.ts',
])

export const IO_MODULES: ReadonlySet<string> = new Set([
  'child_process',
  'cluster',
  'crypto',
  'dgram',
  'dns',
  'fs',
  'fs/promises',
  'http',
  'http2',
  'https',
  'net',
  'os',
  'perf_hooks',
  'process',
  'sqlite',
  'timers',
  'timers/promises',
  'tls',
  'worker_threads',
])

export function isWorkspacePackage(name: string): boolean {
  return name === 'tidemark' || name === 'create-tidemark' || name.startsWith('@tidemark/')
}
