import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageSources } from '../repository.ts'

/** A variable that shipped code reads. */
export interface Variable {
  readonly name: string
  readonly effect: string
}

export const COMMAND_VARIABLES: readonly Variable[] = [
  { name: 'TIDEMARK_STORE', effect: 'The store, for every command that takes one and gets none.' },
  {
    name: 'TIDEMARK_LEASES',
    effect: 'The place of leases, for every command with `--leases`.',
  },
  {
    name: 'TIDEMARK_GATEWAY_KEY',
    effect: 'Keys of the gateway, with spaces or lines between them, if there is no `--key-file`.',
  },
  {
    name: 'TIDEMARK_GATEWAY_READ_ONLY_KEY',
    effect: 'Keys that only read, if there is no `--read-only-key-file`.',
  },
  { name: 'TIDEMARK_ACCOUNT_KEY', effect: 'The key of an account, if there is no `--key-file`.' },
  {
    name: 'NODE_COMPILE_CACHE',
    effect: 'Where Node.js keeps compiled code. If you set it, the command keeps none of its own.',
  },
  {
    name: 'XDG_CACHE_HOME',
    effect: 'The folder of caches, in which the command keeps its compiled code.',
  },
  {
    name: 'npm_lifecycle_event',
    effect: 'Set by npm. `dev` looks how it was called, to print a command that works.',
  },
  { name: 'npm_command', effect: 'The same.' },
]

export const TESTING_VARIABLES: readonly Variable[] = [
  { name: 'REDIS_SERVER_BIN', effect: 'The `redis-server` to use.' },
  { name: 'POSTGRES_BIN', effect: 'The folder of the programs of PostgreSQL to use.' },
  {
    name: 'TIDEMARK_TEST_POSTGRES_URL',
    effect: 'A running PostgreSQL, as a superuser: databases of tests are made there.',
  },
  { name: 'PGBOUNCER_BIN', effect: 'The `pgbouncer` to use.' },
  { name: 'NATS_SERVER_BIN', effect: 'The `nats-server` to use.' },
  { name: 'CHROMIUM_BIN', effect: 'The Chromium to use.' },
  { name: 'PROMTOOL_BIN', effect: 'The `promtool` to use.' },
  { name: 'PROTON_PYTHON', effect: 'The Python that has Qpid Proton.' },
  { name: 'PATH', effect: 'Where programs are looked for that are named by none of these.' },
]

/** `process.env['NAME']`, the same of an object that is passed on, and names of our own wherever they stand. */
const READS = [
  /\b(?:process\.env|environment|env)\[['"](?<name>\w+)['"]\]/g,
  /['"](?<name>TIDEMARK_[A-Z_]+)['"]/g,
]

/** Names of variables that the sources of published packages read. */
export function variablesRead(root: string): ReadonlySet<string> {
  const names = new Set<string>()
  for (const path of packageSources(root)) {
    const text = readFileSync(join(root, path), 'utf8')
    for (const pattern of READS) {
      for (const { groups } of text.matchAll(pattern)) names.add(groups?.['name'] ?? '')
    }
  }
  return names
}
