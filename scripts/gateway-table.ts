import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Feature } from './gateway-table/read-cases.ts'
import { countCases, featuresAsMarkdown, readSuite } from './gateway-table/read-suite.ts'
import { ROOT } from './repository.ts'

const OF_THE_WIRE = join(ROOT, 'tests/interop')
const SUITE = join(ROOT, 'packages/testing/src/conformance/collection')
/** What the official client has of it. */
const BY_CLIENT = join(ROOT, 'tests/azure-client/by-client.json')
const DOCUMENT = join(ROOT, 'docs/gateway.md')
const BEGIN = '<!-- cases: written by scripts/gateway-table.ts -->'
const END = '<!-- end of cases -->'

/** Files in the order in which their features are listed; those that are not named here come last. */
const ORDER = [
  'account',
  'containers',
  'offers-and-ranges',
  'rids',
  'documents',
  'keys',
  'patch',
  'batch',
  'bulk',
  'read-feed',
  'queries',
  'queries-across-ranges',
  'query-plans',
  'query-clients',
  'computed-properties',
  'change-feed',
  'change-feed-versions',
  'keda-scaler',
  'waiting-reads',
  'ttl',
  'session',
  'authorization',
  'answers',
  'on-sqlite',
]

interface ByClient {
  readonly features: readonly string[]
  readonly except: Readonly<Record<string, readonly string[]>>
}

/** All features in the order of the document: what is of the wire, and the suite by the official client. */
export function readFeatures(): readonly Feature[] {
  const { features, except } = JSON.parse(readFileSync(BY_CLIENT, 'utf8')) as ByClient
  const not = Object.values(except).flat()
  const ofSuite = readSuite(SUITE, ['documents', 'writes'], '.ts')
    .filter(({ name }) => features.includes(name))
    .map(({ name, cases }) => ({
      name: `Every collection: ${name}`,
      cases: cases.filter((one) => !not.includes(one.name)),
    }))
  return [...readSuite(OF_THE_WIRE, ORDER), ...ofSuite]
}

/** The document with the features in its marked region. */
export function withFeatures(document: string, features: readonly Feature[]): string {
  const begin = document.indexOf(BEGIN)
  const end = document.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`the document has no region ${BEGIN} … ${END}`)
  const before = document.slice(0, begin + BEGIN.length)
  return `${before}\n\n${featuresAsMarkdown(features)}\n\n${document.slice(end)}`
}

if (import.meta.main) {
  const present = readFileSync(DOCUMENT, 'utf8')
  const features = readFeatures()
  const wanted = withFeatures(present, features)
  if (!process.argv.includes('--check')) {
    writeFileSync(DOCUMENT, wanted)
    console.log(`${countCases(features)} cases of ${features.length} features`)
  } else if (present !== wanted) {
    console.error('docs/gateway.md is not what the suite says: node scripts/gateway-table.ts')
    process.exitCode = 1
  }
}
